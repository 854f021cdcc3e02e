"""Gates that a line-based tool can check; see README.md for each rule's why.

usage: lint.py ROOT     checks a source tree, prints FILE:LINE: RULE: text
       lint.py --self-test   plants one violation per rule and expects each

Exits 1 on any violation.
"""
import os
import re
import sys
import tempfile

ROOMS = ("sim", "faults", "engine", "properties", "replay", "bench", "tools")

# Room or sub-room -> project directories that its sources may include.
INCLUDES = {
    "sim/env": ("sim/env/",),
    "sim/posix": ("sim/",),
    "sim": ("sim/",),
    "faults": ("sim/", "faults/"),
    "engine": ("sim/env/", "engine/"),
    "properties": ("sim/", "faults/", "engine/", "properties/"),
    "replay": ("sim/", "faults/", "engine/", "properties/", "replay/"),
    "bench": ("sim/", "faults/", "engine/", "properties/", "replay/"),
}

# Engine layers, lowest first; a layer includes only itself, its neighbours of
# the same tuple (Bazel refuses cycles among them) and lower ones.
LAYERS = (
    ("common",), ("ipc", "page"), ("smgr",), ("buffer",), ("wal",),
    ("txn", "lock"), ("fsm",), ("heap",), ("nbtree",), ("toast",),
    ("catalog",), ("commands", "sql", "repl"), ("node",),
)

DETERMINISTIC = ("sim", "faults", "engine", "properties")

# name, rooms, pattern, replacement.
BANS = (
    ("exceptions", DETERMINISTIC, r"\b(try\s*\{|catch\s*\(|throw\b)",
     "Status, Panic() or SIM_CHECK"),
    ("float", ("sim", "faults"), r"\b(double|float)\b",
     "integer arithmetic, Drawer::Chance(numerator, denominator)"),
    ("address", DETERMINISTIC, r"%p\b", "an id"),
    ("getenv", DETERMINISTIC, r"\bgetenv\b", "a flag or a knob"),
    ("wall-clock", DETERMINISTIC,
     r"system_clock|steady_clock|high_resolution_clock|gettimeofday|"
     r"clock_gettime|\btime\(nullptr\)", "env::Clock"),
    ("std-random", DETERMINISTIC,
     r"random_device|mt19937|std::shuffle|_distribution<|\brand\(\)",
     "sim::Choices, sim::Drawer"),
    ("hash-order", DETERMINISTIC, r"unordered_(map|set)|flat_hash_",
     "env::LookupMap, std::map, a sorted vector"),
    ("pointer-key", DETERMINISTIC,
     r"std::(map|set)<\s*(const\s+)?\w[\w:]*\s*\*", "a key that is an id"),
    ("marker", ROOMS, r"\b(FIXME|XXX|TODO)\b", "do it, or write a limit"),
    ("line-id", DETERMINISTIC, r"__LINE__", "a site's name"),
)

# (path suffix, rule): reason. The list only shrinks.
EXEMPT = {
    ("sim/process.cc", "exceptions"): "throws and catches ProcessCrashed",
    ("sim/env/lookup_map.h", "hash-order"): "wraps it without iteration",
    ("sim/env/check.h", "line-id"): "reports where a check stands",
}
EXEMPT_DIRS = {
    ("sim/posix/", "exceptions"), ("sim/posix/", "wall-clock"),
    ("sim/posix/", "getenv"),
}
HARD_LIMIT_LINES = 800

# Testonly libraries: they may see what tests see.
TEST_SUPPORT = re.compile(
    r"(_test\.cc|test_node\.(h|cc)|test_world\.h|/litmus\.(h|cc)|"
    r"/fake_\w+\.h)$")


def strip_comments(text):
    """Blanks comments and string literals, keeping line numbers."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    pattern = (r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
               r"|'(?:\\.|[^'\\\n])+'")
    return re.sub(pattern, blank, text, flags=re.S)


def room_of(path):
    best = ""
    for room in INCLUDES:
        if path.startswith(room + "/") and len(room) > len(best):
            best = room
    return best


def layer_rank(path):
    part = path.split("/")[1]
    for rank, layer in enumerate(LAYERS):
        if part in layer:
            return rank, part
    return None


def check_includes(path, text, report):
    room = room_of(path)
    if not room:
        return
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r'\s*#include "([^"]+)"', line)
        if not match:
            continue
        target = match.group(1)
        if not target.startswith(INCLUDES[room]):
            report(path, number, "include-direction",
                   f"{room} may not include {target}")
        if room == "engine" and target.startswith("engine/"):
            here, there = layer_rank(path), layer_rank(target)
            if here is None or there is None:
                continue
            if there[0] > here[0]:
                report(path, number, "layer-order",
                       f"{here[1]} may not include {target}")


def check_bans(path, text, report):
    room = path.split("/")[0]
    code = strip_comments(text).split("\n")
    raw = text.split("\n")
    for name, rooms, pattern, instead in BANS:
        if room not in rooms or (path, name) in EXEMPT:
            continue
        if any(path.startswith(d) and name == r for d, r in EXEMPT_DIRS):
            continue
        # Format strings and markers live in literals and comments.
        lines = raw if name in ("address", "marker") else code
        for number, line in enumerate(lines, 1):
            if re.search(pattern, line) and "#include" not in line:
                report(path, number, name, f"use {instead}")


def check_tree(root):
    found = []

    def report(path, number, rule, why):
        found.append(f"{path}:{number}: {rule}: {why}")

    for directory, dirs, files in os.walk(root):
        dirs[:] = sorted(d for d in dirs if not d.startswith((".", "bazel-")))
        for file in sorted(files):
            path = os.path.relpath(os.path.join(directory, file), root)
            if not path.endswith((".h", ".cc")):
                continue
            if path.split("/")[0] not in ROOMS:
                continue
            with open(os.path.join(root, path), encoding="utf-8") as f:
                text = f.read()
            lines = text.count("\n")
            if lines > HARD_LIMIT_LINES:
                report(path, lines, "file-size",
                       f"{lines} lines, the limit is {HARD_LIMIT_LINES}")
            if TEST_SUPPORT.search(path):
                continue
            check_includes(path, text, report)
            check_bans(path, text, report)
    return found


PLANTED = {
    "include-direction": ("sim/a.cc", '#include "engine/common/types.h"\n'),
    "layer-order": ("engine/buffer/a.cc", '#include "engine/wal/xlog.h"\n'),
    "exceptions": ("engine/wal/a.cc", "void F() { throw 1; }\n"),
    "float": ("faults/a.cc", "double rate = 0;\n"),
    "address": ("engine/sql/a.cc", 'const char* f = "%p";\n'),
    "getenv": ("sim/a.cc", 'auto x = getenv("X");\n'),
    "wall-clock": ("sim/a.cc", "auto t = std::chrono::steady_clock::now();\n"),
    "std-random": ("faults/a.cc", "std::mt19937 g;\n"),
    "hash-order": ("engine/heap/a.cc", "std::unordered_map<int, int> m;\n"),
    "pointer-key": ("engine/heap/a.cc", "std::map<Node*, int> m;\n"),
    "marker": ("replay/a.cc", "// FIXME\n"),
    "line-id": ("engine/heap/a.cc", "int x = __LINE__;\n"),
    "file-size": ("sim/a.cc", "\n" * (HARD_LIMIT_LINES + 1)),
}


def self_test():
    failures = []
    for rule, (path, text) in PLANTED.items():
        with tempfile.TemporaryDirectory() as root:
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full))
            with open(full, "w", encoding="utf-8") as f:
                f.write(text)
            found = check_tree(root)
            if not any(f": {rule}: " in line for line in found):
                failures.append(f"rule {rule} did not see {text!r}: {found}")
    clean = "// A double, a throw and 0x1p3 in a comment.\nint x = 1;\n"
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, "faults"))
        with open(os.path.join(root, "faults/a.cc"), "w",
                  encoding="utf-8") as f:
            f.write(clean)
        failures += check_tree(root)
    return failures


def main(argv):
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    found = self_test() if argv[1] == "--self-test" else check_tree(argv[1])
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
