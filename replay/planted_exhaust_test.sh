#!/bin/bash
# One small scope finds these bugs by trying every crash state, without chance.
#
# usage: planted_exhaust_test.sh MUSTH_WITH_PLANTED_BUGS
set -u
musth=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
bugs="abort_redo_as_commit checkpoint_before_fsync clog_lost_at_checkpoint
  clog_not_synced commit_acked_before_flush control_file_not_synced
  delete_redo_keeps_xmax flush_one_page_short fsync_skipped_at_checkpoint
  page_lsn_not_set_in_redo redo_init_needs_existing_page
  update_redo_wrong_suffix visible_before_flush"
failed=0
count=0
for bug in $bugs; do
  "$musth" exhaust rollback --plant "$bug" --out "$out" >"$out/log" 2>&1
  code=$?
  count=$((count + 1))
  if [ "$code" -ne 1 ] || ! grep -q " broken" "$out/log"; then
    echo "$bug: expected exit 1 and a broken promise, found exit $code:"
    head -n 20 "$out/log"
    failed=1
  fi
done
[ "$failed" -eq 0 ] && echo "$count bugs found"
exit "$failed"
