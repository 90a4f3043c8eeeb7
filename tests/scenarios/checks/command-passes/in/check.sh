#!/bin/sh
echo "checks $1"
test "$(cat "$1")" = good
