"""The symbol firewall: what a room's object code may refer to and own.

usage: symbols.py ALLOWED ARCHIVE...
       symbols.py --self-test ALLOWED

Undefined symbols must be C++ names of the project or of the libraries it
builds on, or C names listed in ALLOWED (one a line, with a reason; `use` is
needed in every build, `may` in some). Nothing may lie in a writable section but
what ALLOWED lists. Exits 1 on a violation.
"""
import os
import re
import subprocess
import sys
import tempfile

# Whose C++ names may be referred to ...
NAMESPACES = r"(engine|env|sim|faults|std|__gnu_cxx|__cxxabiv1|fmt|boost)"
CXX = re.compile(
    r"^(typeinfo name for |typeinfo for |vtable for |VTT for |"
    r"guard variable for |non-virtual thunk to |virtual thunk to |"
    r"construction vtable for |TLS (init|wrapper) function for )?"
    r"(operator (new|delete)|([\w:<>*&,()\[\] ]+ )?" + NAMESPACES +
    r"::|guard variable for)")
# ... except these, which let the outside world in.
AMBIENT = re.compile(
    r"std::(chrono::_V2|random_device|thread|this_thread|mutex|jthread|"
    r"condition_variable|filesystem|basic_[io]?fstream|cout|cerr|cin|clog|"
    r"random_shuffle|locale::global|async)")
# The compiler's run time, and what it makes of copies and comparisons.
RUNTIME = re.compile(
    r"^(_GLOBAL_OFFSET_TABLE_|__gxx_personality_v0|_Unwind_Resume|__cxa_\w+|"
    r"__dso_handle|__tls_get_addr|__libc_single_threaded|__stack_chk_fail|"
    r"__u?(div|mod)ti3|__popcountdi2|__errno_location|"
    r"mem(cpy|move|set|cmp|chr)|strlen|strcmp)$")
REFERENCE = re.compile(r"^DW\.ref\.")  # the linker's, constant once loaded
WRITABLE = re.compile(r"^\.(data|bss|tdata|tbss)(\.(?!rel\.ro).*)?$")
SANITIZED = re.compile(r"^__(a|t|ub)san_")


def read_allowed(path):
    """name -> reason: undefined C names, writable data, optional C names."""
    undefined, owned, optional = {}, {}, {}
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            kind, _, rest = line.partition(" ")
            name, _, reason = rest.partition(" -- ")
            kinds = {"use": undefined, "own": owned, "may": optional}
            if kind not in kinds or not reason:
                raise SystemExit(f"{path}:{number}: expected "
                                 "'use|may|own NAME -- REASON'")
            kinds[kind][name.strip()] = reason
    return undefined, owned, optional


def symbols(archive):
    """(section, mangled name) of each symbol; section *UND* is undefined."""
    out = subprocess.run(["objdump", "-t", "-w", archive], check=True,
                         capture_output=True, text=True).stdout
    for line in out.split("\n"):
        match = re.match(r"^[0-9a-f]{8,} (.{7}) (\S+)\s+[0-9a-f]+ +(?:\.hidden )?"
                         r"(\S+)$", line)
        if match and "d" not in match.group(1)[4:6]:  # sections, files
            yield match.group(2), match.group(3)


def demangle(names):
    out = subprocess.run(["c++filt"], input="\n".join(names), check=True,
                         capture_output=True, text=True).stdout
    return dict(zip(names, out.split("\n")))


def check(allowed_path, archives):
    undefined, owned, optional = read_allowed(allowed_path)
    found, used = [], set()
    for archive in archives:
        pairs = sorted(set(symbols(archive)))
        readable = demangle([name for _, name in pairs])
        base = os.path.basename(archive)
        for section, name in pairs:
            text = readable[name]
            if section == "*UND*":
                if SANITIZED.match(name):
                    return ["sanitized"], used
                if RUNTIME.match(name) or name in optional:
                    continue
                if name in undefined:
                    used.add(name)
                elif not name.startswith("_Z") or AMBIENT.search(text) or \
                        not CXX.match(text):
                    found.append(f"{base}: refers to {text}")
            elif WRITABLE.match(section) and not REFERENCE.match(name):
                if text in owned:
                    used.add(text)
                elif not text.startswith("guard variable for"):
                    found.append(f"{base}: owns writable {text} in {section}")
    return found, used


PLANTED = """
#include <time.h>
#include <chrono>
#include <cstdlib>
int planted_counter = 1;
static int planted_local;
namespace engine {
thread_local int planted_thread = 2;
const char* const kFine[] = {"constant", "table"};
const char* const* Fine() { return kFine; }
long Planted() {
  ++planted_local;
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  const char* e = getenv("X");
  return t.tv_sec + (e != nullptr) + std::rand() + planted_counter +
         planted_local + planted_thread +
         std::chrono::steady_clock::now().time_since_epoch().count();
}
}  // namespace engine
"""


def self_test(allowed_path):
    with tempfile.TemporaryDirectory() as root:
        source, planted = root + "/planted.cc", root + "/planted.o"
        with open(source, "w", encoding="utf-8") as f:
            f.write(PLANTED)
        subprocess.run(["g++", "-std=c++20", "-fPIC", "-c", source, "-o",
                        planted], check=True)
        found, _ = check(allowed_path, [planted])
    missing = [name for name in
               ("refers to clock_gettime", "refers to getenv",
                "refers to rand", "refers to std::chrono",
                "owns writable planted_counter",
                "owns writable planted_local",
                "owns writable engine::planted_thread")
               if not any(name in line for line in found)]
    if len(found) != 7:
        missing.append(f"found {found}")
    return [f"the firewall did not see: {name}" for name in missing]


def main(argv):
    if len(argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    if argv[1] == "--self-test":
        found = self_test(argv[2])
    else:
        found, used = check(argv[1], argv[2:])
        if found == ["sanitized"]:
            print("a sanitizer's build: not checked")
            return 0
        undefined, owned, _ = read_allowed(argv[1])
        found += [f"{argv[1]}: {name} is not needed any more"
                  for name in sorted({*undefined, *owned} - used)]
    for line in sorted(set(found)):
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
