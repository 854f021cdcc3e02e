#include "sim/event_text.h"

#include <fmt/format.h>

#include <array>

namespace sim {
namespace {

// A kind's name and its arguments: "name:format", blank-separated. Formats:
// d decimal, s signed, x hexadecimal, l LSN, t task, c tid (block,offset),
// p page (relation/block), n nanoseconds.
struct KindText {
  const char* name;
  const char* arguments;
};

constexpr std::array<KindText, static_cast<size_t>(env::EventKind::kCount)>
    kKinds = {{
        {"TaskStart", "parent:t"},
        {"TaskExit", "reason:d"},
        {"Switch", "from:t n:d to:t"},
        {"Timer", "deadline:n task:t"},
        {"Crash", "kind:d incarnation:d"},
        {"HostStart", "incarnation:d"},
        {"Panic", ""},
        {"CheckFailed", "line:d"},
        {"Plan", "statement:d phase:d"},
        {"FileOpen", "inode:d flags:x"},
        {"FileWrite", "inode:d offset:d length:d hash:x"},
        {"FileRead", "inode:d offset:d length:d hash:x"},
        {"FileSync", "inode:d phase:d errno:d"},
        {"FileSize", "inode:d size:d"},
        {"DirOp", "operation:d inode:d"},
        {"Fault", "family:d detail:d detail:d detail:d"},
        {"WalInsert", "start:l end:l rmgr_info:x xid:d prev:l"},
        {"WalFlush", "upto:l"},
        {"WalSegment", "segment:d what:d"},
        {"XidAssigned", "xid:d top:d"},
        {"Snapshot", "xmin:d xmax:d cid:d count:d statement:d"},
        {"Command", "xid:d cid:d begins:d"},
        {"CommitRecord", "xid:d end:l sync:d"},
        {"Abort", "xid:d"},
        {"Visible", "xid:d"},
        {"Acked", "xid:d end:l"},
        {"XactWait", "waiter:d holder:d phase:d"},
        {"ClogSet", "xid:d status:d"},
        {"ResourcesHeld", "at:d pins:d lwlocks:d"},
        {"TupleInsert", "xid:d rel:d tid:c cid:d"},
        {"TupleUpdate", "xid:d rel:d old:c new:c cid:d"},
        {"TupleDelete", "xid:d rel:d tid:c cid:d"},
        {"TupleRead", "rel:d tid:c xmin:d xmax:d"},
        {"TupleLock", "xid:d rel:d tid:c mode:d"},
        {"PageDirty", "page:p fork:d lsn:l"},
        {"PageWrite", "page:p fork:d lsn:l flushed:l"},
        {"PageRead", "page:p fork:d lsn:l"},
        {"LockGrant", "tag:x mode:d task:t"},
        {"Checkpoint", "phase:d redo:l checkpoint:l"},
        {"RecoveryStart", "redo:l checkpoint:l"},
        {"Redo", "start:l end:l rmgr_info:x"},
        {"RedoPage", "lsn:l page:p fork:d action:d"},
        {"RecoveryEnd", "end:l"},
        {"Ready", ""},
        {"Shutdown", "phase:d mode:d"},
    }};

// Every kind has a row: the last one is named.
static_assert(kKinds.back().name != nullptr);

std::string Value(char format, uint64_t v, const TaskNames& names) {
  switch (format) {
    case 's':
      return fmt::format("{}", static_cast<int64_t>(v));
    case 'x':
      return fmt::format("{:x}", v);
    case 'l':
      return fmt::format("{:X}/{:X}", v >> 32, v & 0xffffffff);
    case 't':
      return names.Label(static_cast<env::TaskId>(v));
    case 'c':
      return fmt::format("({},{})", v >> 16, v & 0xffff);
    case 'p':
      return fmt::format("{}/{}", v >> 32, v & 0xffffffff);
    case 'n':
      return fmt::format("{}ns", static_cast<int64_t>(v));
    default:
      return fmt::format("{}", v);
  }
}

std::string Arguments(const env::Event& e, const char* spec,
                      const TaskNames& names) {
  std::string out;
  std::string_view rest = spec;
  for (size_t i = 0; i < 6; ++i) {
    std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    if (word.size() > 2) {
      out += fmt::format(" {}={}", word.substr(0, word.size() - 2),
                         Value(word.back(), e.a[i], names));
    } else if (e.a[i] != 0) {
      out += fmt::format(" a{}={}", i, e.a[i]);
    }
  }
  return out;
}

// Text as it is, anything else as hexadecimal; both cut short.
std::string Bytes(std::string_view bytes) {
  constexpr size_t kShown = 48;
  bool text = true;
  for (char c : bytes) text = text && c >= ' ' && c <= '~';
  if (text) {
    return fmt::format(" \"{}{}\"", bytes.substr(0, 4 * kShown),
                       bytes.size() > 4 * kShown ? "..." : "");
  }
  std::string hex;
  for (char c : bytes.substr(0, kShown)) {
    hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  }
  return fmt::format(" [{} bytes {}{}]", bytes.size(), hex,
                     bytes.size() > kShown ? "..." : "");
}

}  // namespace

const char* EventKindName(env::EventKind kind) {
  return kind < env::EventKind::kCount ? kKinds[static_cast<size_t>(kind)].name
                                       : "?";
}

void TaskNames::Learn(const env::Event& event) {
  if (event.kind == env::EventKind::kTaskStart) {
    names_[event.task] = std::string(event.bytes);
  }
}

std::string TaskNames::Label(env::TaskId task) const {
  if (task == env::kNoTask) return "-";
  auto it = names_.find(task);
  return fmt::format("{}[{}]", it == names_.end() ? "task" : it->second, task);
}

std::string EventLine(const env::Event& e, const TaskNames& names) {
  const char* spec = e.kind < env::EventKind::kCount
                         ? kKinds[static_cast<size_t>(e.kind)].arguments
                         : "";
  return fmt::format("{:>7} {:>8}.{:06} h{} {:<16} {}{}{}", e.seq,
                     e.time_ns / env::kMillisecond,
                     e.time_ns % env::kMillisecond, e.host, names.Label(e.task),
                     EventKindName(e.kind), Arguments(e, spec, names),
                     e.bytes.empty() ? std::string() : Bytes(e.bytes));
}

}  // namespace sim
