#!/usr/bin/env bash
# Holds the published schemas to a validator that is not ours, Ajv from the npm registry in its strict mode: every prompt, configuration and
# replay file of `prompts/` and `config/`, and the result and the events of a run.
#
#   tests/interop/schemas.sh [path/to/tepa]      (built when no path is given)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

if ! command -v npm >/dev/null 2>&1; then
  echo 'npm is not there, and the validator comes from its registry'
  [ -z "${TEPA_TEST_EVERYTHING:-}" ] || exit 1
  echo 'skipped'
  exit 0
fi

. "$here/binary.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npm install --silent --no-audit --no-fund --prefix "$work" ajv@8.17.1 ajv-formats@3.0.1 yaml@2.8.1

mkdir "$work/home" "$work/run"
cp -R "$root/prompts" "$work/run/"
(
  cd "$work/run"
  env -i PATH="$PATH" HOME="$work/home" "$tepa" run prompts/task.yaml --provider replay --output jsonl --result result.json -q >events.jsonl
)

cp "$here/schemas.cjs" "$work/"
node "$work/schemas.cjs" "$root" "$work/run"
