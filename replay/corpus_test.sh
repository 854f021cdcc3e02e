#!/bin/bash
# Every recipe of the corpus breaks the promise that it names, and keeps all
# promises without its planted bug.
#
# usage: corpus_test.sh MUSTH_WITH_PLANTED_BUGS RECIPE...
set -u
musth=$1
shift
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
failed=0
for recipe in "$@"; do
  name=$(basename "$recipe" .recipe)
  promise=$(sed -n 's/^expect-promise //p' "$recipe")
  bug=$(sed -n 's/^planted //p' "$recipe")
  "$musth" replay "$recipe" --out "$out" >"$out/$name.log" 2>&1
  code=$?
  if [ "$code" -ne 1 ] || ! grep -q "$promise broken" "$out/$name.log"; then
    echo "$name: expected exit 1 with \"$promise broken\", found exit $code:"
    head -n 20 "$out/$name.log"
    failed=1
  fi
  sed -e '/^planted /d' -e '/^expect-/d' "$recipe" >"$out/$name.control.recipe"
  "$musth" replay "$out/$name.control.recipe" --out "$out" \
    >"$out/$name.control.log" 2>&1
  code=$?
  if [ "$code" -ne 0 ]; then
    echo "$name without $bug: expected exit 0, found $code:"
    head -n 20 "$out/$name.control.log"
    failed=1
  fi
done
[ "$failed" -eq 0 ] && echo "$# recipes bite, $# controls pass"
exit "$failed"
