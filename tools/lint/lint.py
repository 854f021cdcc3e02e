"""Gates over the source text; see README.md for each rule's why.

usage: lint.py ROOT     checks a source tree, prints FILE:LINE: RULE: text
       lint.py --self-test   plants violations of every rule and expects each

Exits 1 on any violation. Exemptions, with reasons, are in exempt.txt.
"""
import os
import re
import sys
import tempfile

import cxx
import order

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
    ("pointer-order", DETERMINISTIC,
     r"reinterpret_cast<(std::)?u?intptr_t>|std::(less|greater|hash)<[^<>]*\*>|"
     r"\.get\(\) [<>]=? \w|priority_queue<\s*(const\s+)?\w[\w:]*\s*\*",
     "an id; addresses differ from run to run"),
    ("mutable-global", DETERMINISTIC, r"\bthread_local\b",
     "env::Current(), a member"),
    ("line-id", DETERMINISTIC, r"__LINE__", "a site's name"),
)

# System headers by room; what a room may not include it cannot use.
HEADERS_COMMON = {
    "algorithm", "array", "bit", "cctype", "charconv", "compare", "cstddef",
    "cstdint", "cstdlib", "cstring", "deque", "functional",
    "initializer_list", "iterator", "limits", "map", "memory", "new",
    "numeric", "optional", "set", "span", "string", "string_view", "tuple",
    "type_traits", "utility", "variant", "vector", "fmt/format.h",
}
HEADERS = {
    "sim/env": {"cstdio"},
    "sim": {"cerrno", "cstdio", "cxxabi.h", "lz4frame.h", "sys/mman.h",
            "unistd.h", "boost/context/detail/fcontext.hpp"},
    "faults": set(),
    "engine": {"lz4.h"},
    "properties": {"cerrno", "filesystem", "fstream", "system_error"},
}
HARD_LIMIT_LINES = 800
HARD_LIMIT_FUNCTION = 70

# Testonly libraries: they may see what tests see.
TEST_SUPPORT = re.compile(
    r"(_test\.cc|test_node\.(h|cc)|test_world\.h|/litmus\.(h|cc)|"
    r"/fake_\w+\.h|/property_main\.(h|cc)|/planted_property\.cc)$")


class Exemptions:
    """Lines of exempt.txt: `PATH RULE -- REASON`; a path may be a folder."""

    def __init__(self, text):
        self.rows = {}
        for line in text.split("\n"):
            if not line or line.startswith("#"):
                continue
            head, _, reason = line.partition(" -- ")
            path, _, rule = head.strip().rpartition(" ")
            self.rows[(path, rule)] = reason.strip()
        self.used = set()

    def __contains__(self, place):
        path, rule = place
        for row in self.rows:
            if row[1] == rule and (row[0] == path or (
                    row[0].endswith("/") and path.startswith(row[0]))):
                self.used.add(row)
                return True
        return False

    def complaints(self):
        for row, reason in self.rows.items():
            if not reason:
                yield f"exempt.txt: exempt: {row[0]} {row[1]} has no reason"
            elif row not in self.used:
                yield f"exempt.txt: exempt: {row[0]} {row[1]} is not needed"


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


def check_system_headers(path, text, report):
    room = room_of(path)
    if room not in HEADERS:
        return
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r"\s*#include <([^>]+)>", line)
        if not match or match.group(1).startswith("sanitizer/"):
            continue
        if match.group(1) not in HEADERS_COMMON | HEADERS[room]:
            report(path, number, "system-header",
                   f"{room} may not include <{match.group(1)}>")


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
    code = cxx.strip_comments(text).split("\n")
    raw = text.split("\n")
    for name, rooms, pattern, instead in BANS:
        if room not in rooms:
            continue
        # Format strings and markers live in literals and comments.
        lines = raw if name in ("address", "marker") else code
        for number, line in enumerate(lines, 1):
            if re.search(pattern, line) and "#include" not in line:
                report(path, number, name, f"use {instead}")


def check_functions(functions, report):
    for function in functions:
        if function.lines > HARD_LIMIT_FUNCTION:
            report(function.path, function.begin, "function-size",
                   f"{function.name} has {function.lines} lines, the limit is "
                   f"{HARD_LIMIT_FUNCTION}")

    def two(path, line, first, second):
        report(path, line, "two-effects",
               f"{first} and {second} in one expression: which comes first is "
               "the compiler's choice")

    order.check([f for f in functions
                 if f.path.split("/")[0] in DETERMINISTIC], two)


def sources(root):
    """(path, text) of every C++ file of the rooms."""
    for directory, dirs, files in os.walk(root):
        dirs[:] = sorted(d for d in dirs if not d.startswith((".", "bazel-")))
        for file in sorted(files):
            path = os.path.relpath(os.path.join(directory, file), root)
            if path.endswith((".h", ".cc")) and path.split("/")[0] in ROOMS:
                with open(os.path.join(root, path), encoding="utf-8") as f:
                    yield path, f.read()


def check_tree(root):
    found = set()
    exempt_path = os.path.join(root, "tools/lint/exempt.txt")
    exempt = Exemptions("")
    if os.path.exists(exempt_path):
        with open(exempt_path, encoding="utf-8") as f:
            exempt = Exemptions(f.read())

    def report(path, number, rule, why):
        if (path, rule) not in exempt:
            found.add((path, number, rule, why))

    functions = []
    for path, text in sources(root):
        lines = text.count("\n")
        if lines > HARD_LIMIT_LINES:
            report(path, lines, "file-size",
                   f"{lines} lines, the limit is {HARD_LIMIT_LINES}")
        if TEST_SUPPORT.search(path):
            continue
        check_includes(path, text, report)
        check_system_headers(path, text, report)
        check_bans(path, text, report)
        functions += cxx.functions(path, text)
    check_functions(functions, report)
    return [f"{path}:{number}: {rule}: {why}"
            for path, number, rule, why in sorted(found)] + list(
                exempt.complaints())


# Rule -> violations, each a path and a text.
PLANTED = {
    "include-direction": [("sim/a.cc", '#include "engine/common/types.h"\n')],
    "layer-order": [("engine/buffer/a.cc", '#include "engine/wal/xlog.h"\n')],
    "system-header": [("engine/wal/a.cc", "#include <thread>\n"),
                      ("faults/a.cc", "#include <random>\n")],
    "exceptions": [("engine/wal/a.cc", "void F() { throw 1; }\n")],
    "float": [("faults/a.cc", "double rate = 0;\n")],
    "address": [("engine/sql/a.cc", 'const char* f = "%p";\n')],
    "getenv": [("sim/a.cc", 'auto x = getenv("X");\n')],
    "wall-clock": [("sim/a.cc",
                    "auto t = std::chrono::steady_clock::now();\n")],
    "std-random": [("faults/a.cc", "std::mt19937 g;\n")],
    "hash-order": [("engine/heap/a.cc", "std::unordered_map<int, int> m;\n")],
    "pointer-key": [("engine/heap/a.cc", "std::map<Node*, int> m;\n")],
    "pointer-order": [
        ("sim/a.cc", "bool b = reinterpret_cast<uintptr_t>(p) < 5;\n"),
        ("sim/a.cc", "std::sort(v.begin(), v.end(), std::less<Task*>());\n"),
        ("sim/a.cc", "bool b = x.get() < y.get();\n")],
    "mutable-global": [("engine/heap/a.cc", "thread_local int depth = 0;\n")],
    "marker": [("replay/a.cc", "// FIXME\n")],
    "line-id": [("engine/heap/a.cc", "int x = __LINE__;\n")],
    "file-size": [("sim/a.cc", "\n" * (HARD_LIMIT_LINES + 1))],
    "function-size": [
        ("replay/a.cc", "void F() {\n" + "  G();\n" * 70 + "}\n")],
    "exempt": [("tools/lint/exempt.txt", "sim/b.cc float -- gone\n"),
               ("tools/lint/exempt.txt", "sim/b.cc float\n")],
    "two-effects": [("engine/heap/a.cc", text) for text in (
        "int F(Backend& be) { return Read(be) + Read(be); }\n" ,
        "void F(Backend& be) { Take(1, Read(be), Read(be)); }\n",
        "void F(Backend& be) { if (Read(be) == 2 * Deep(be)) Stop(); }\n",
        "void F(Backend& be) { Pair p(Read(be), Deep(be)); }\n",
        "void F(Backend& be) { Call([&be] { return Read(be) - Deep(be); }); }",
        "int F(Drawer* d) { return d->Below(A, 2) + d->Below(B, 2); }\n",
        "struct M { int G() { return H() * H(); }\n"
        "  int H() { return Read(be_); } };\n",
    )],
}
# What the rules must let pass.
CLEAN = {
    "faults/a.cc": "// A double, a throw and 0x1p3 in a comment.\nint x = 1;\n",
    "engine/heap/a.cc": (
        "int F(Backend& be) {\n"
        "  if (Read(be) > 0 && Read(be) < 9) return Deep(be);\n"
        "  int a = Read(be), b = Read(be);\n"
        "  if (a > b) Set(be, Read(be));\n"
        "  for (int i = Read(be); i < 4; i += Read(be)) Set(be, i);\n"
        "  Pair p{Read(be), Read(be)};\n"
        "  a = b > 0 ? Read(be) : Deep(be);\n"
        "  Call([&be] { Read(be); }, [&be] { Read(be); });\n"
        "  return Plain(be) + Plain(be) + Read(be);\n"
        "}\n"),
}
# Definitions that the texts above call.
KNOWN = ("engine/heap/known.cc",
         "int Read(Backend& be) { be.env->tasks->Yield(1); return 1; }\n"
         "int Deep(Backend& be) { return Read(be); }\n"
         "void Set(Backend& be, int x) { Deep(be); }\n"
         "int Plain(Backend& be) { return be.pid; }\n")


def check_texts(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files:
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as f:
                f.write(text)
        return check_tree(root)


def self_test():
    failures = []
    rules = {name for name, *_ in BANS}
    for rule in sorted(rules - set(PLANTED)):
        failures.append(f"rule {rule} has no planted violation")
    for rule, places in PLANTED.items():
        for path, text in places:
            found = check_texts([KNOWN, (path, text)])
            if not any(f": {rule}: " in line for line in found):
                failures.append(f"rule {rule} did not see {text!r}: {found}")
    failures += check_texts([KNOWN, *CLEAN.items()])
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
