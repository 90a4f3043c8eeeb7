#!/usr/bin/env bash
# Uses two MCP servers that are not ours, @modelcontextprotocol/server-everything and server-filesystem from the npm registry:
# lists and calls their tools over stdio and streamable HTTP, runs a whole task with them, and looks that nothing of them is left.
#
#   tests/interop/mcp.sh [path/to/tepa]      (built when no path is given)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
version=2026.8.31

if ! command -v npx >/dev/null 2>&1; then
  echo 'skipped: npx is not there, and the servers come from the npm registry'
  exit 0
fi

command -v pgrep >/dev/null 2>&1 || { echo 'pgrep is not there, and without it nobody can tell what is left'; exit 1; }

. "$here/binary.sh"

work=$(mktemp -d)
http=
trap '[ -z "$http" ] || kill "$http" 2>/dev/null || true; rm -rf "$work"' EXIT
npm install --silent --no-audit --no-fund --prefix "$work/servers" \
  "@modelcontextprotocol/server-everything@$version" "@modelcontextprotocol/server-filesystem@$version"
bin=$work/servers/node_modules/.bin
mkdir -p "$work/home" "$work/folder"
cd "$work/folder"

# As people write it: npx starts the server, which makes a tree of processes that has to end as a whole.
cat >mcp.yaml <<YAML
mcpServers:
  everything:
    command: npx
    args: [--prefix, "$work/servers", mcp-server-everything, stdio]
  files:
    command: "\${SERVERS}/mcp-server-filesystem"
    args: ["$work/folder"]
YAML
sed "s#mcp-server-filesystem#no-such-server#" mcp.yaml >missing.yaml
cat >broken.yaml <<YAML
mcpServers:
  files: {command: "\${SERVERS}/mcp-server-filesystem", args: ["$work/no-such-folder"]}
YAML

# Nothing of this machine's keys or configuration.
run() {
  env -i PATH="$PATH" HOME="$work/home" SERVERS="$bin" timeout 120 "$tepa" "$@" >stdout 2>stderr
}

failed=0
passed=0
check() { # what, expected exit, what standard output or error has to hold, tepa's arguments
  local what=$1 expected=$2 holds=$3 code=0
  shift 3
  run "$@" || code=$?
  if [ "$code" = "$expected" ] && grep -qF -- "$holds" stdout stderr && ! grep -q '^thread' stderr; then
    passed=$((passed + 1))
    printf 'ok    %-58s exit %s\n' "$what" "$code"
  else
    failed=$((failed + 1))
    printf 'WRONG %-58s exit %s, expected %s and `%s`\n' "$what" "$code" "$expected" "$holds"
    sed 's/^/      /' stdout stderr
  fi
  if left=$(pgrep -af "$work/servers"); then
    failed=$((failed + 1))
    printf 'WRONG %s left processes:\n%s\n' "$what" "$left"
  fi
}

call() { # what, expected exit, what it has to hold, tool, parameters
  check "$1" "$2" "$3" tools call "$4" --params "$5" --config "${6:-mcp.yaml}"
}

check 'the tools of both servers are listed' 0 'everything__echo' tools list --config mcp.yaml
check 'and of the second' 0 'files__write_file' tools list --config mcp.yaml
check 'as JSON with schema and effect' 0 '"source": "mcp:files"' tools list --config mcp.yaml --output json
check 'a tool is shown' 0 'message (string, required)' tools show everything__echo --config mcp.yaml
call 'everything: echo' 0 'größe' everything__echo '{"message": "größe"}'
call 'everything: get-sum' 0 '42' everything__get-sum '{"a": 40, "b": 2}'
call 'everything: structured content' 0 '"temperature"' everything__get-structured-content '{"location": "New York"}'
call 'everything: an image is a note' 0 '"mimeType": "image/png"' everything__get-tiny-image '{}'
call 'everything: arguments that do not fit' 2 'Parameter validation failed: /b: Required' everything__get-sum '{"a": 1}'
call 'everything: a tool that is not there' 2 'did you mean `everything__echo`' everything__ehco '{}'
call 'files: write' 0 'Successfully wrote' files__write_file '{"path": "by-hand.txt", "content": "hello\n"}'
call 'files: read' 0 'hello' files__read_text_file '{"path": "by-hand.txt"}'
call 'files: list' 0 'by-hand.txt' files__list_directory '{"path": "."}'
call 'files: outside of its folder' 1 'Access denied' files__read_text_file '{"path": "/etc/hostname"}'
check 'a server that does not exist' 4 'cannot start `' tools list --config missing.yaml
check 'a server that does not start' 4 'the end of its standard error' tools list --config broken.yaml

cat >prompt.yaml <<YAML
goal: Write a greeting into hello.txt.
context: {}
expectedOutput: [{path: hello.txt, description: the greeting}]
YAML
cat >prompt.replay.yaml <<YAML
format: tepa.replay/1
replies:
  - stage: planner
    json:
      reasoning: two servers
      estimatedTokens: 100
      steps:
        - {id: say, description: say hello, tools: [everything__echo], expectedOutcome: it is said, dependencies: []}
        - {id: write, description: write it, tools: [files__write_file], expectedOutcome: it is there, dependencies: [say]}
  - {stage: step, step: say, tool: everything__echo, toolUse: {message: hello}}
  - {stage: step, step: write, tool: files__write_file, toolUse: {path: hello.txt, content: hello}}
  - {stage: evaluator, expect: {contains: [hello]}, json: {verdict: pass, confidence: 0.9, summary: Done.}}
YAML
check 'a run uses both' 0 'Done.' run prompt.yaml --provider replay --config mcp.yaml
[ "$(cat hello.txt 2>/dev/null)" = hello ] || { failed=$((failed + 1)); echo 'WRONG the run wrote no greeting'; }

port=$((20000 + RANDOM % 20000))
PORT=$port "$bin/mcp-server-everything" streamableHttp >http.log 2>&1 &
http=$!
for _ in $(seq 100); do
  if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || ! kill -0 "$http" 2>/dev/null; then break; fi
  sleep 0.1
done
printf 'mcpServers: {remote: {url: "http://127.0.0.1:%s/mcp", headers: {X-Test: "${HOME}"}}}\n' "$port" >http.yaml
code=0
run tools call remote__echo --params '{"message": "over HTTP"}' --config http.yaml || code=$?
if [ "$code" = 0 ] && grep -qF 'over HTTP' stdout; then
  passed=$((passed + 1))
  printf 'ok    %-58s exit 0\n' 'everything over streamable HTTP: echo'
else
  failed=$((failed + 1))
  echo "WRONG everything over streamable HTTP: exit $code" && sed 's/^/      /' stdout stderr http.log
fi
kill "$http" 2>/dev/null || true
wait "$http" 2>/dev/null || true
http=

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
