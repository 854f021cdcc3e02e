"""Prints `N passed, N failed` from a Bazel build event file.

usage: count_tests.py EVENTS.json EXIT_CODE

Exits 1 if no test target ran or a target failed.
"""
import json
import sys


def count(lines):
    passed = failed = 0
    for line in lines:
        event = json.loads(line)
        if "testSummary" not in event.get("id", {}):
            continue
        status = event.get("testSummary", {}).get("overallStatus", "NO_STATUS")
        if status in ("PASSED", "FLAKY"):
            passed += 1
        else:
            failed += 1
    return passed, failed


def main(argv):
    with open(argv[1], encoding="utf-8") as events:
        passed, failed = count(events)
    if failed == 0 and argv[2] != "0":
        failed = 1  # the build itself failed
    print(f"{passed} passed, {failed} failed")
    return 0 if passed > 0 and failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
