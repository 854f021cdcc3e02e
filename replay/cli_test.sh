#!/bin/bash
# The command as a person meets it: exit codes and one-line errors.
set -u
musth=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export BUILD_WORKING_DIRECTORY=$dir
failures=0

# expect CODE TEXT ARGS...: the exit code, and TEXT somewhere in the output.
expect() {
  local code=$1 text=$2
  shift 2
  local output
  output=$("$musth" "$@" 2>&1)
  local got=$?
  if [ "$got" != "$code" ] || ! grep -qF -- "$text" <<<"$output"; then
    echo "FAIL: musth $*: exit $got, expected $code and \"$text\"; output:"
    echo "$output"
    failures=$((failures + 1))
  fi
}

expect 2 "subcommand"
expect 2 'unknown subcommand "bogus", expected one of campaign' bogus
expect 0 "campaign" --help
expect 2 "--bogus" campaign --bogus
expect 2 "expected pg-contract, strict, media, beyond or mix" campaign --faults rosy
expect 2 "expected N (from 1) or A..B" campaign --seeds 9..1
expect 2 "no.sql: No such file" campaign --script no.sql
expect 2 "unknown knob" campaign --knob nothing=1
expect 2 "no.recipe: No such file" replay no.recipe

echo "not a recipe" >"$dir/foreign.recipe"
expect 2 'foreign.recipe:1: expected "musth-recipe 1"' replay foreign.recipe
printf 'musth-recipe 9\n' >"$dir/newer.recipe"
expect 2 "newer.recipe:1: recipe of format 9, expected format 1" \
  replay newer.recipe
printf 'musth-recipe 1\nseed 1\noverride knobs w0 no_such_site 0 = 1\n' \
  >"$dir/old.recipe"
expect 125 "knobs w0 no_such_site 0 = 1 matches no draw" replay old.recipe

printf 'SELECT 1;\n\\set x (\n' >"$dir/bad.pgb"
expect 2 "bad.pgb:2" campaign --seeds 1 --script bad.pgb

printf 'SELECT 1;\n' >"$dir/good.pgb"
printf 'CREATE TABLE a(b int);\nSELEC 1;\n' >"$dir/bad.sql"
expect 2 'bad.sql:2: syntax error at or near "SELEC"' \
  campaign --seeds 1 --script good.pgb --setup bad.sql

expect 0 "every promise was kept" replay 1
expect 0 "RecoveryStart" replay 1 --until 20
expect 2 "the run has fewer events" replay 1 --until 99999999
expect 0 "gdb -x " replay 1 --until 20 --gdb --out gdb
expect 2 "expected --until EVENT" replay 1 --gdb
[ -s "$dir/gdb/musth.gdb" ] || failures=$((failures + 1))
expect 0 "as written at event" replay 3 --page t1:0
expect 2 "expected REL:BLOCK" replay 5 --page t1
expect 0 "the runs part at event" replay 7 --knob atomic8k=on \
  --against full_page_writes=off
expect 2 "against: expected NAME=VALUE" replay 5 --against rows
expect 2 "the run has no such table" replay 5 --page nowhere:0
expect 0 "20 seeds of pg-contract" campaign --seeds 20 --hashes a --json b
expect 0 "20 seeds" campaign --seeds 20 --order backward --hashes c
expect 0 "20 seeds" campaign --seeds 20 --order fresh --poison FF --hashes d
cmp "$dir/a" "$dir/c" && cmp "$dir/a" "$dir/d" || failures=$((failures + 1))
grep -q '"findings": 0' "$dir/b" || failures=$((failures + 1))
expect 0 "10 seeds" campaign --seeds 20 --shard 0/2 --json s0 --junit j0
expect 0 "10 seeds" campaign --seeds 20 --shard 1/2 --json s1 --resume state
expect 0 "10 seeds" campaign --seeds 20 --shard 1/2 --json s2 --resume state
expect 2 "expected that of pg-contract 0..19 by" \
  campaign --seeds 20 --resume state
expect 2 "--resume" campaign --seeds 20 --resume state --hashes a
expect 0 "20 seeds of pg-contract" merge s0 s1 --json sum
# But for times, the parts are the whole.
timeless() { grep -vE '"(cpu_s|wall_s)"' "$dir/$1" | sed '/"parts"/,/\]/d'; }
[ "$(timeless sum)" = "$(timeless b)" ] && [ "$(timeless s1)" = "$(timeless s2)" ] ||
  { echo "FAIL: the sum of shards"; failures=$((failures + 1)); }
grep -q 'tests="1" failures="0" errors="0"' "$dir/j0" ||
  failures=$((failures + 1))
expect 2 "seeds of pg-contract 0..19 shard 1/2 are counted already" merge b s1
expect 2 "a: expected a summary that campaign --json wrote" merge s0 a
expect 2 "missing: No such file" merge missing
expect 0 "hash" trace 1 --file t1.trace
expect 0 "" trace 1 --file t2.trace --quiet
expect 0 "" trace 2 --file t3.trace --quiet
expect 0 "equal" trace diff t1.trace t2.trace
expect 3 "first difference at event" trace diff t1.trace t3.trace
expect 0 "data directory" export 1 image
expect 0 "as the last crash left it" export 1 crashed --crashed
[ -f "$dir/image/global/pg_control" ] || failures=$((failures + 1))

expect 0 "0 problems" check image
expect 0 "was not shut down" check crashed
expect 2 "No such file" check nowhere
mkdir "$dir/empty"
expect 2 "global/pg_control, expected a data directory" check empty
echo 'CREATE TABLE t (a int4); INSERT INTO t VALUES (1), (2);' >"$dir/t.sql"
expect 0 "INSERT 0 2" sql t.sql --dir real
expect 0 "0 problems" check real
printf 'x' >>"$dir/image/base/5/1259"
expect 1 "base/5/1259: 8193 bytes are not a whole number of pages" check image

[ "$failures" = 0 ] && echo "ok"
exit $((failures > 0))
