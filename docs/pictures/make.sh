#!/usr/bin/env bash
# Takes the pictures of this folder anew, from a real terminal. Needs tmux and python3; the argument is a tepa.
#
#   cargo build --release && docs/pictures/make.sh target/release/tepa
set -euo pipefail
tepa=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
socket=$work/tmux
trap 'tmux -S "$socket" kill-server 2>/dev/null || true; rm -rf "$work"' EXIT

# take NAME COLUMNS ROWS WORD: a picture of the example once WORD is on the screen
take() {
    local name=$1 columns=$2 rows=$3 word=$4
    rm -rf "$work/run" && mkdir "$work/run" && cp -r "$root/prompts" "$work/run/"
    tmux -S "$socket" -f /dev/null new-session -d -s "$name" -x "$columns" -y "$rows" \
        "cd '$work/run' && env -i PATH='$PATH' HOME='$work' TERM=tmux-256color LANG=C.UTF-8 '$tepa' run prompts/task.yaml --provider replay 2>&1 >/dev/null; sleep 1000"
    for _ in $(seq 400); do
        tmux -S "$socket" capture-pane -e -p -t "$name" > "$work/screen"
        if grep -q "$word" "$work/screen"; then break; fi
        sleep 0.02
    done
    grep -q "$word" "$work/screen" || { cat "$work/screen"; echo "never seen: $word" >&2; exit 1; }
    tmux -S "$socket" kill-session -t "$name"
    python3 "$here/draw.py" "$columns" < "$work/screen" > "$here/$name.svg"
}

for columns in 60 100 160; do
    take "live-$columns" "$columns" 40 'grades.csv has rows'
done
take run 100 92 '2 cycles, '
