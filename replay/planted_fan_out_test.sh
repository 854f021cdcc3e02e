#!/bin/bash
# Crash states beside a run find a planted bug that the run itself does not
# meet, and the recipe of such a state goes straight to it.
#
# usage: planted_fan_out_test.sh MUSTH_WITH_PLANTED_BUGS
set -u
musth=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
fail() {
  echo "$1"
  head -n 40 "$out/log"
  exit 1
}

# Exhaustive: nothing crashes in the run itself.
"$musth" exhaust rollback --plant delete_redo_keeps_xmax --out "$out" \
  >"$out/log" 2>&1
[ $? -eq 1 ] || fail "exhaust with a bug: expected exit 1"
recipe=$(ls "$out"/*-rollback.recipe)
grep -q '^fan-out at ' "$recipe" || fail "expected the state's address"
"$musth" replay "$recipe" --out "$out" >"$out/log" 2>&1
[ $? -eq 1 ] || fail "replay of the state: expected exit 1"
sed -e '/^planted /d' -e '/^expect-/d' "$recipe" >"$out/control.recipe"
"$musth" replay "$out/control.recipe" --any-hash --out "$out" >"$out/log" 2>&1
case $? in
  0 | 125) ;; # promises kept; without the bug the path may lead elsewhere
  *) fail "without the bug: expected exit 0 or 125" ;;
esac

# Sampled: seeds whose own run keeps its promises.
"$musth" campaign --seeds 40 --plant delete_redo_keeps_xmax --fan-out 6 \
  --no-shrink --out "$out/sampled" >"$out/log" 2>&1
[ $? -eq 1 ] || fail "campaign with a bug: expected exit 1"
recipe=$(grep -la '^fan-out at ' "$out"/sampled/*.recipe | head -n 1)
[ -n "$recipe" ] || fail "expected a finding beside a run"
"$musth" replay "$recipe" --out "$out" >"$out/log" 2>&1
[ $? -eq 1 ] || fail "replay of $recipe: expected exit 1"

"$musth" exhaust nowhere >"$out/log" 2>&1
[ $? -eq 2 ] || fail "unknown scope: expected exit 2"
grep -q 'unknown scope "nowhere", expected one of insert' "$out/log" ||
  fail "expected the known scopes"
printf 'musth-recipe 1\nfan-out sometimes\n' >"$out/bad.recipe"
"$musth" replay "$out/bad.recipe" >"$out/log" 2>&1
[ $? -eq 2 ] || fail "bad recipe: expected exit 2"
grep -q 'bad.recipe:2: expected "lazy" or "eager"' "$out/log" ||
  fail "expected file and line"
echo "found beside runs"
