#!/bin/sh
grep -q good "$1" || { echo "$1 is not good"; exit 1; }
