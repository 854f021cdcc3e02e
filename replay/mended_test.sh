#!/bin/bash
# Every recipe keeps all promises: alone, or with the known gaps that it expects
# and no others.
#
# usage: mended_test.sh MUSTH RECIPE...
set -u
musth=$1
shift
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
failed=0
for recipe in "$@"; do
  name=$(basename "$recipe" .recipe)
  "$musth" replay "$recipe" --out "$out" >"$out/$name.log" 2>&1
  code=$?
  expected=$(sed -n 's/^expect-gap //p' "$recipe" | sort)
  gaps=$(sed -n 's/^known PostgreSQL gap //p' "$out/$name.log" | sort)
  if [ "$code" -ne 0 ] || [ "$gaps" != "$expected" ]; then
    echo "$name: expected exit 0 and known gaps \"${expected//$'\n'/ }\"," \
      "found exit $code and \"${gaps//$'\n'/ }\":"
    head -n 20 "$out/$name.log"
    failed=1
  fi
done
[ "$failed" -eq 0 ] && echo "$# recipes keep every promise"
exit "$failed"
