#!/usr/bin/env bash
# Builds what is released and prints what it costs, each number beside its limit. It needs no network and no key, and leaves nothing behind;
# it fails when a run in it does, and never for a number.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP

cargo build --locked --release --bin tepa
# The server is built as tests are: what runs beside the measured program may be slow, and need not be built twice.
TMPDIR=$work cargo bench --locked --profile dev --bench end_to_end -- "${CARGO_TARGET_DIR:-$PWD/target}/release/tepa"
