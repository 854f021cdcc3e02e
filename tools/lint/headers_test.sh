#!/bin/bash
# Every header compiles as a translation unit of its own.
set -u
root=$(dirname "$(readlink -f "$1")")
cd "$root" || exit 2
check() {
  g++ -std=c++20 -Wall -Wextra -Werror -Wno-pragma-once-outside-header \
    -fsyntax-only -I. -x c++ "$1" 2>&1 || echo "FAILED $1"
}
export -f check
# A header that needs what it does not include must be seen.
planted=$(mktemp -d)
echo 'inline std::string Planted() { return {}; }' > "$planted/planted.h"
seen=$(check "$planted/planted.h")
rm -rf "$planted"
case "$seen" in
  *FAILED*) ;;
  *) echo "the gate did not see a planted violation"; exit 1 ;;
esac
out=$(find sim faults engine properties replay -name '*.h' | sort |
  xargs -P 2 -I{} bash -c 'check {}')
if [ -n "$out" ]; then
  echo "$out"
  exit 1
fi
