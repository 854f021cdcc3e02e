#!/bin/bash
# usage: headers_test.sh WORKSPACE MANIFEST PLANTED
#
# Every header of the tree was compiled alone: MANIFEST names those that Bazel's
# actions compiled. PLANTED is the compiler's complaint about a header that does
# not compile alone.
set -u
root=$(dirname "$(readlink -f "$1")")
if ! grep -q "std" "$3"; then
  echo "the gate did not see a planted violation"
  exit 1
fi
manifest=$(readlink -f "$2")
cd "$root" || exit 2
missing=$(find sim faults engine properties replay bench -name '*.h' |
  LC_ALL=C sort | LC_ALL=C comm -23 - <(LC_ALL=C sort "$manifest"))
if [ -n "$missing" ]; then
  echo "no library or test below //tools/lint:headers has:"
  echo "$missing"
  exit 1
fi
echo "$(wc -l <"$manifest") headers compile alone"
