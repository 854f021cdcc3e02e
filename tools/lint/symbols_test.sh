#!/bin/bash
# usage: symbols_test.sh ALLOWED ARCHIVE...
set -e
symbols="$(dirname "$0")/symbols.py"
python3 "$symbols" --self-test "$1"
python3 "$symbols" "$@"
