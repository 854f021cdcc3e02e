#!/bin/bash
# Equal hashes: usage: matrix.sh SEEDS MUSTH [MUSTH...]
#
# Runs the same seeds of all profiles (mix) with every given build, and with the last one also
# backward, each seed in a fresh process, with memory poisoned 00 and FF, and
# with one worker; all must print the same hashes.
set -eu
seeds=$1
shift
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
status=0
first=""
run() {
  local name=$1 binary=$2
  shift 2
  if ! "$binary" campaign --faults mix --seeds "$seeds" --out "$out/findings" \
      --hashes "$out/$name" "$@" >"$out/$name.log" 2>&1; then
    echo "$name: the campaign failed"
    tail -n 30 "$out/$name.log"
    status=1
    return
  fi
  sort -n "$out/$name" >"$out/$name.sorted"
  local count
  count=$(wc -l <"$out/$name.sorted")
  if [ "$count" -ne "$seeds" ]; then
    echo "$name: $count hashes, expected $seeds"
    status=1
  elif [ -z "$first" ]; then
    first=$name
  elif ! cmp -s "$out/$first.sorted" "$out/$name.sorted"; then
    echo "$name differs from $first (seed, hash; < $first, > $name):"
    diff "$out/$first.sorted" "$out/$name.sorted" | head -n 10
    status=1
  fi
}
i=0
for binary in "$@"; do
  i=$((i + 1))
  run "build$i" "$binary"
done
run backward "$binary" --order backward
run fresh "$binary" --order fresh
run poison00 "$binary" --poison 00
run poisonFF "$binary" --poison FF
run one_worker "$binary" --workers 1
[ "$status" -eq 0 ] && echo "equal hashes for $seeds seeds in $((i + 5)) runs"
exit "$status"
