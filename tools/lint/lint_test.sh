#!/bin/bash
# Runs the gates on the source tree that this workspace's BUILD file lies in.
set -e
root=$(dirname "$(readlink -f "$1")")
lint="$(dirname "$0")/lint.py"
python3 "$lint" --self-test
python3 "$lint" "$root"
