#!/bin/bash
# A finding of a real planted bug is shrunk to a few lines that still break it,
# the same whatever the number of workers.
#
# usage: planted_shrink_test.sh MUSTH_WITH_PLANTED_BUGS
set -u
musth=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
fail() {
  echo "$1"
  cat "$out/log"
  exit 1
}

for workers in 1 2; do
  "$musth" shrink 6 --plant recheck_skipped_after_wait --workers "$workers" \
    --budget 40 --out "$out/$workers" >"$out/log" 2>&1
  [ $? -eq 1 ] || fail "shrink with $workers workers: expected exit 1"
  grep -q '^1-minimal' "$out/log" || fail "expected a 1-minimal recipe"
  grep -q '^control: without the planted bug it keeps every promise' \
    "$out/log" || fail "expected a control run that keeps every promise"
done
recipe=$(ls "$out"/1/*.shrunk.recipe)
cmp "$recipe" "$out/2/$(basename "$recipe")" ||
  fail "the number of workers changes the result"
statements=$(sed -n '/^setup/,/^END/p;/^session/,/^END/p' "$recipe" |
  grep -c ';$')
[ "$statements" -le 12 ] || fail "$statements statements are left, expected 12"
grep -q 'broken for' "${recipe%.shrunk.recipe}.script" ||
  fail "the script does not end with the broken promise"

"$musth" replay "$recipe" --out "$out" >"$out/log" 2>&1
[ $? -eq 1 ] || fail "replay of the shrunk recipe: expected exit 1"
sed -e '/^planted /d' -e '/^expect-/d' "$recipe" >"$out/control.recipe"
"$musth" replay "$out/control.recipe" --any-hash --out "$out" >"$out/log" 2>&1
case $? in
  0 | 125) ;; # promises kept; a preemption may have nothing to decide
  *) fail "without the bug: expected exit 0 or 125" ;;
esac

"$musth" shrink "$out/control.recipe" --out "$out" >"$out/log" 2>&1
[ $? -eq 125 ] || fail "shrink of a run that keeps its promises: expected 125"
echo 'musth-recipe 1
base sideways' >"$out/bad.recipe"
"$musth" shrink "$out/bad.recipe" --out "$out" >"$out/log" 2>&1
[ $? -eq 2 ] || fail "shrink of a bad recipe: expected exit 2"
grep -q 'bad.recipe:2: expected base' "$out/log" || fail "expected file and line"
echo "shrunk to $statements statements"
