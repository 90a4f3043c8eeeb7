# Sets $tepa to the absolute path of the binary under test: the first argument of the script that reads this, or one that is built now.
tepa=${1:-}
if [ -z "$tepa" ]; then
  (cd "$here/../.." && cargo build --locked --quiet)
  tepa=${CARGO_TARGET_DIR:-$here/../../target}/debug/tepa
fi
tepa=$(cd "$(dirname "$tepa")" && pwd)/$(basename "$tepa")
