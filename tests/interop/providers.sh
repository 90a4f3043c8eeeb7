#!/usr/bin/env bash
# Runs one task through every provider against a mock server that is not ours: @copilotkit/aimock from the npm registry.
# First as it should be, streaming and not; then with each kind of fault at every call: no fault may end as a pass.
#
#   tests/interop/providers.sh [path/to/tepa]      (built when no path is given)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
package='@copilotkit/aimock@1.43.0'

if ! command -v npx >/dev/null 2>&1; then
  echo 'skipped: npx is not there, and the mock server comes from the npm registry'
  exit 0
fi

. "$here/binary.sh"

work=$(mktemp -d)
mock=
trap '[ -z "$mock" ] || kill "$mock" 2>/dev/null || true; rm -rf "$work"' EXIT
npm install --silent --no-audit --no-fund --prefix "$work/mock" "$package"

# Every run gets a folder of its own and nothing of this machine's keys or configuration.
run() { # provider, stream, folder
  local folder=$work/$3
  mkdir -p "$folder/home"
  cp "$here/prompt.yaml" "$folder/"
  printf 'calls: {stream: %s, maxRetries: 1, retryBaseDelay: 1, idleTimeout: 5000}\n' "$2" >"$folder/calls.yaml"
  (cd "$folder" && env -i PATH="$PATH" HOME="$folder/home" \
    ANTHROPIC_API_KEY=mock-key-anthropic OPENAI_API_KEY=mock-key-openai GEMINI_API_KEY=mock-key-gemini \
    timeout 120 "$tepa" run prompt.yaml --config calls.yaml --provider "$1" --base-url "http://127.0.0.1:$port" \
    --model mock-model --max-cycles 1 --result result.json >stdout 2>stderr)
}

start() { # flags
  port=$((20000 + RANDOM % 20000))
  "$work/mock/node_modules/.bin/llmock" -p "$port" -f "$here/fixtures.json" --strict --log-level silent "$@" >"$work/mock.log" 2>&1 &
  mock=$!
  for _ in $(seq 100); do
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then return; fi
    kill -0 "$mock" 2>/dev/null || break
    sleep 0.1
  done
  echo 'the mock server did not start:' && cat "$work/mock.log" && exit 1
}

stop() {
  kill "$mock" 2>/dev/null || true
  wait "$mock" 2>/dev/null || true
  mock=
}

failed=0
passed=0
check() { # what, expected, found, folder
  if [ "$2" = "$3" ]; then
    passed=$((passed + 1))
    printf 'ok    %-46s exit %s\n' "$1" "$3"
  else
    failed=$((failed + 1))
    printf 'WRONG %-46s exit %s, expected %s\n' "$1" "$3" "$2"
    sed 's/^/      /' "$work/$4/stderr"
  fi
}

providers='anthropic openai gemini openai-compatible'

start
for provider in $providers; do
  for stream in true false; do
    folder=good-$provider-$stream
    code=0
    run "$provider" "$stream" "$folder" || code=$?
    check "$provider, stream: $stream" 0 "$code" "$folder"
    [ "$(cat "$work/$folder/hello.txt" 2>/dev/null)" = hello ] || { failed=$((failed + 1)); echo "WRONG $provider wrote no greeting"; }
  done
done
stop

for fault in ratelimit drop malformed disconnect; do
  start "--chaos-$fault" 1
  for provider in $providers; do
    folder=$fault-$provider
    code=0
    run "$provider" true "$folder" || code=$?
    check "$provider, every call: $fault" 4 "$code" "$folder"
    [ -s "$work/$folder/result.json" ] || { failed=$((failed + 1)); echo "WRONG $provider left no result"; }
  done
  stop
done

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
