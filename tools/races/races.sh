#!/bin/bash
# Race checks: usage: races.sh SEEDS MUSTH
#
# MUSTH is built with ThreadSanitizer and planted bugs. A campaign must end
# without a report; with a planted bug that reads a shared word without its
# lock, there must be one, and it must name the place.
set -eu
seeds=$1
musth=$2
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
# A report is no exit code here: the workers go on and all of them are counted.
export TSAN_OPTIONS="exitcode=0 ${TSAN_OPTIONS:-}"
reports() { grep -c '^WARNING: ThreadSanitizer' "$1" || true; }

if ! "$musth" campaign --seeds "$seeds" --out "$out/clean" \
    >"$out/clean.log" 2>&1; then
  echo "the campaign failed"
  tail -n 30 "$out/clean.log"
  exit 1
fi
count=$(reports "$out/clean.log")
if [ "$count" -ne 0 ]; then
  echo "$count races in $seeds seeds; the first:"
  grep -m 1 -A 60 '^WARNING: ThreadSanitizer' "$out/clean.log"
  exit 1
fi

# Its promises may break, too.
"$musth" campaign --seeds 20 --plant snapshot_xmax_without_lock \
  --out "$out/planted" >"$out/planted.log" 2>&1 || true
if ! grep -A 60 '^WARNING: ThreadSanitizer: data race' "$out/planted.log" |
    grep -q GetSnapshotData; then
  echo "snapshot_xmax_without_lock was not reported"
  tail -n 30 "$out/planted.log"
  exit 1
fi
echo "no race in $seeds seeds; the planted one was reported"
