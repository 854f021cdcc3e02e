#include "replay/until.h"

#include <string_view>

namespace replay {
namespace {

constexpr size_t kLines = 60;

// A suspended fiber's registers lie where its context points to, in the order
// of Boost.Context's jump_fcontext for System V x86-64: x87 and SSE control
// words, r12, r13, r14, r15, rbx, rbp, rip.
constexpr std::string_view kGdbScript =
    R"gdb(# Musth: stops at an event; `musth-fibers` then shows where every
# process of the simulated node stands. Wants a build with debug information
# (bazel build -c dbg //:musth).
set pagination off
set breakpoint pending on
break MusthReachedEvent
python
import gdb

SAVED = ["r12", "r13", "r14", "r15", "rbx", "rbp", "rip"]

def elements(vector):
    first = vector["_M_impl"]["_M_start"]
    while first != vector["_M_impl"]["_M_finish"]:
        yield first.dereference()
        first += 1

# A std::unique_ptr with the default deleter is laid out as its pointer.
def pointee(unique):
    pointer = unique.type.template_argument(0).pointer()
    return unique.address.cast(pointer.pointer()).dereference()

def text(string):
    return string["_M_dataplus"]["_M_p"].string()

def world_tasks():
    frame = gdb.newest_frame()
    while frame is not None:
        if (frame.name() or "").startswith("sim::Host::Emit"):
            host = frame.read_var("this")
            return list(elements(host["shared_"]["scheduler"]["tasks_"]["tasks_"]))
        frame = frame.older()
    raise gdb.GdbError("no sim::Host::Emit on the stack: stop at "
                       "MusthReachedEvent, in a build with -c dbg")

class MusthFibers(gdb.Command):
    """musth-fibers [NAME]: backtraces of suspended processes."""

    def __init__(self):
        super().__init__("musth-fibers", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        tasks = world_tasks()
        word = gdb.lookup_type("unsigned long").pointer()
        saved = {name: gdb.parse_and_eval("$" + name) for name in SAVED + ["rsp"]}
        for unique in tasks:
            task = pointee(unique)
            fiber = pointee(task["fiber"])
            name = text(task["name"])
            if argument and argument not in name or int(fiber) == 0:
                continue
            state = str(task["state"]).rsplit("::k", 1)[-1].lower()
            print("---- %s[%d], %s" % (name, int(task["id"]), state))
            if not fiber["suspended_"]:
                print("     it runs, or has not run yet")
                continue
            stack = fiber["context_"].cast(word)
            try:
                for i, register in enumerate(SAVED):
                    gdb.execute("set $%s = %d" % (register, int(stack[i + 1])))
                gdb.execute("set $rsp = %d" % (int(stack) + 8 * (len(SAVED) + 1)))
                gdb.execute("backtrace 12")
            finally:
                for register, value in saved.items():
                    gdb.execute("set $%s = %d" % (register, int(value)))

MusthFibers()
end
run
)gdb";

}  // namespace

Until::Until(uint64_t seq) : seq_(seq), tail_(kLines) {}

void Until::OnEvent(const env::Event& event) {
  if (reached_) return;
  tail_.OnEvent(event);
  if (event.seq < seq_) return;
  reached_ = true;
  MusthReachedEvent(event.seq);
}

std::string GdbScript() { return std::string(kGdbScript); }

}  // namespace replay

// Kept out of line, and from being taken for empty.
extern "C" __attribute__((noinline)) void MusthReachedEvent(uint64_t seq) {
  __asm__ volatile("" : : "r"(seq) : "memory");
}
