#!/bin/bash
# Small scopes keep every promise in every crash state, none left out.
#
# usage: exhaust_test.sh MUSTH SCOPE...
set -u
musth=$1
shift
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
failed=0
for scope in "$@"; do
  "$musth" exhaust "$scope" --out "$out" >"$out/log" 2>&1
  code=$?
  # Its line ends with how many instants had too many images.
  row=$(grep "^$scope " "$out/log")
  images=$(awk '{print $3}' <<<"$row")
  cut=$(awk '{print $NF}' <<<"$row")
  if [ "$code" -ne 0 ] || [ "${images:-0}" -lt 1000 ] || [ "$cut" != 0 ]; then
    echo "$scope: expected exit 0, thousands of images and none cut," \
      "found exit $code:"
    head -n 20 "$out/log"
    failed=1
  fi
done
[ "$failed" -eq 0 ] && echo "$# scopes keep every promise"
exit "$failed"
