#!/bin/bash
# A failing suite prints the command that replays its smallest case; the command
# shows that case at once; a recipe that is none is refused.
set -u
suite=$1
unset XML_OUTPUT_FILE  # the report is this test's, not the planted suite's
fail() {
  echo "$1"
  exit 1
}
export TEST_TARGET=//properties:planted_property
said=$("$suite" 2>&1) && fail "the planted property held"
command=$(grep '^bazel test //properties:planted_property --test_arg=' \
  <<<"$said") || fail "no command: $said"
[ "$(wc -l <<<"$command")" -eq 1 ] || fail "more than one command: $command"
again=$("$suite" "${command#*--test_arg=}" 2>&1) &&
  fail "the replayed case held"
grep -q "Falsifiable after 1 tests" <<<"$again" ||
  fail "the replay searched: $again"
grep -q "^(57)$" <<<"$again" || fail "another case: $again"
"$suite" --replay='not a recipe' >/dev/null 2>&1
[ $? -eq 2 ] || fail "took what is no recipe"
echo "replayed: $command"
