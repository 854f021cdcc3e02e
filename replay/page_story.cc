#include "replay/page_story.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "properties/decoders/catalog_decoder.h"
#include "properties/decoders/wal_decoder.h"
#include "sim/block_store.h"
#include "sim/disk.h"
#include "sim/fault_hooks.h"
#include "sim/fault_log.h"

namespace replay {
namespace {

using env::EventKind;
using properties::LsnToText;

constexpr uint32_t kSegmentBlocks = 131072;
constexpr std::string_view kForkSuffixes[] = {"", "_fsm", "_vm", "_init"};

bool ParseNumber(std::string_view text, uint32_t* number) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size() &&
         !text.empty();
}

const char* RedoActionText(uint64_t action) {
  switch (action) {
    case 0:
      return "redo applies it";
    case 1:
      return "redo skips it: the page is newer";
    case 2:
      return "redo restores its image";
    default:
      return "redo finds no such block";
  }
}

const char* CrashText(uint64_t kind) {
  switch (static_cast<sim::CrashKind>(kind)) {
    case sim::CrashKind::kTaskKill:
      return "a task is killed";
    case sim::CrashKind::kProcess:
      return "CRASH of all processes; the page cache survives";
    case sim::CrashKind::kPowerLoss:
      return "POWER LOSS";
    default:
      return "crash";
  }
}

}  // namespace

env::Result<PageName> ParsePageName(std::string_view text) {
  env::Status invalid(
      env::Code::kInvalid,
      fmt::format("--page {}: expected REL:BLOCK, a table's name or the number "
                  "of its file and a block number",
                  text));
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return invalid;
  PageName page;
  if (!ParseNumber(text.substr(colon + 1), &page.block)) return invalid;
  std::string_view relation = text.substr(0, colon);
  relation = relation.substr(relation.rfind('/') + 1);
  for (uint32_t fork = 1; fork < std::size(kForkSuffixes); ++fork) {
    if (!relation.ends_with(kForkSuffixes[fork])) continue;
    page.fork = fork;
    relation.remove_suffix(kForkSuffixes[fork].size());
    break;
  }
  if (relation.empty()) return invalid;
  page.relation = relation;
  return page;
}

PageStory::PageStory(PageName page) : page_(std::move(page)) {
  uint32_t number = 0;
  if (ParseNumber(page_.relation, &number)) rel_node_ = number;
}

void PageStory::Tell(const env::Event& event, std::string what) {
  lines_.push_back(fmt::format("{:>7} {:<16} {}", event.seq,
                               names_.Label(event.task), what));
}

bool PageStory::IsPage(uint64_t page, uint64_t fork) const {
  return rel_node_.has_value() && page >> 32 == *rel_node_ &&
         (page & 0xFFFFFFFF) == page_.block && fork == page_.fork;
}

// A row of pg_class says which file a table's name stands for.
void PageStory::LearnTable(const env::Event& tuple) {
  if (rel_node_.has_value() || tuple.a[1] != properties::kPgClassRel) return;
  std::optional<properties::TableFile> file =
      properties::DecodeTableFile(tuple.bytes);
  if (!file.has_value() || file->name != page_.relation) return;
  rel_node_ = file->filenode;
  Tell(tuple, fmt::format("table {} is file {}", file->name, file->filenode));
}

void PageStory::LearnFile(const env::Event& event) {
  if (!rel_node_.has_value()) return;
  std::string_view path = event.bytes;
  bool rename = event.kind == EventKind::kDirOp && event.a[0] == 2;
  if (rename) path = path.substr(path.find(' ') + 1);
  std::string file = fmt::format("{}{}", *rel_node_, kForkSuffixes[page_.fork]);
  if (page_.block >= kSegmentBlocks) {
    file += fmt::format(".{}", page_.block / kSegmentBlocks);
  }
  if (path.substr(path.rfind('/') + 1) != file) return;
  uint64_t inode = event.a[event.kind == EventKind::kDirOp ? 1 : 0];
  bool known = !inodes_.insert(inode).second;
  if (event.kind == EventKind::kDirOp && event.a[0] == 1) {
    Tell(event, fmt::format("unlink {}", path));
  } else if (!known) {
    Tell(event, fmt::format("file {}, inode {}", path, inode));
  }
}

void PageStory::OnRecord(const env::Event& event) {
  env::Result<properties::WalRecord> record =
      properties::DecodeWalRecord(event.bytes);
  if (!record.ok()) return;
  for (const properties::WalBlockRef& block : record->blocks) {
    uint64_t page = static_cast<uint64_t>(block.rel_node) << 32 | block.block;
    if (!IsPage(page, block.fork)) continue;
    Tell(event, fmt::format("record {}..{} rmgr {} info {:02X} xid {}{}{}",
                            LsnToText(event.a[0]), LsnToText(event.a[1]),
                            record->rmid, record->info, record->xid,
                            block.has_image ? ", full-page image" : "",
                            block.will_init ? ", initializes the page" : ""));
  }
}

void PageStory::OnTuple(const env::Event& event) {
  LearnTable(event);
  bool update = event.kind == EventKind::kTupleUpdate;
  uint64_t new_tid = event.a[update ? 3 : 2];
  if (!rel_node_.has_value() || event.a[1] != *rel_node_ || page_.fork != 0) {
    return;
  }
  bool here = event.a[2] >> 16 == page_.block;
  here |= new_tid >> 16 == page_.block;
  if (!here) return;
  auto tid = [](uint64_t t) {
    return fmt::format("({},{})", t >> 16, t & 0xFFFF);
  };
  if (update) {
    Tell(event, fmt::format("xid {} updates {} to {}", event.a[0],
                            tid(event.a[2]), tid(new_tid)));
  } else {
    const char* what =
        event.kind == EventKind::kTupleInsert ? "inserts" : "deletes";
    Tell(event, fmt::format("xid {} {} {}", event.a[0], what, tid(new_tid)));
  }
}

void PageStory::OnBuffer(const env::Event& event) {
  if (!IsPage(event.a[0], event.a[1])) return;
  std::string lsn = LsnToText(event.a[2]);
  if (event.kind == EventKind::kPageDirty) {
    Tell(event, fmt::format("buffer is dirty, page at {}", lsn));
  } else if (event.kind == EventKind::kPageWrite) {
    Tell(event, fmt::format("buffer is written, page at {}, log flushed to {}",
                            lsn, LsnToText(event.a[3])));
  } else {
    Tell(event, fmt::format("buffer is read, page at {}", lsn));
  }
}

void PageStory::OnFileRead(const env::Event& event) {
  if (!std::exchange(after_power_loss_, false)) return;
  std::string what = "a mix of versions, or one from before the first event";
  for (const Version& version : versions_) {
    if (version.hash != event.a[3]) continue;
    what = fmt::format("as written at event {}{}{}", version.seq,
                       version.synced ? ", synced" : ", never synced",
                       &version == &versions_.back() ? ", the newest" : "");
  }
  Tell(event, "the crash left the page " + what);
}

void PageStory::OnFile(const env::Event& event) {
  if (inodes_.count(event.a[0]) == 0) return;
  uint64_t offset = uint64_t{page_.block % kSegmentBlocks} * sim::kPageBytes;
  if (event.kind == EventKind::kFileSync) {
    // Phases: 0 start, 1 middle, 2 done.
    if (event.a[1] == 0) sync_began_ = event.seq;
    if (event.a[1] != 2) return;
    if (event.a[2] != 0) {
      Tell(event, fmt::format("fsync of the file FAILS, errno {}", event.a[2]));
      return;
    }
    Tell(event, "fsync of the file");
    for (Version& version : versions_) {
      version.synced |= version.seq < sync_began_;
    }
    return;
  }
  if (event.kind == EventKind::kFileSize) {
    Tell(event, fmt::format("the file's size becomes {}", event.a[1]));
    return;
  }
  if (event.a[1] >= offset + sim::kPageBytes ||
      event.a[1] + event.a[2] <= offset) {
    return;
  }
  bool whole = event.a[1] == offset && event.a[2] == sim::kPageBytes;
  if (event.kind == EventKind::kFileRead) {
    if (whole) OnFileRead(event);
    return;
  }
  versions_.push_back({event.a[3], event.seq, false});
  Tell(event, whole ? "file write"
                    : fmt::format("file write of {} bytes only", event.a[2]));
}

void PageStory::OnRecovery(const env::Event& event) {
  if (event.kind == EventKind::kRecoveryStart) {
    Tell(event, fmt::format("recovery begins at {}, checkpoint {}",
                            LsnToText(event.a[0]), LsnToText(event.a[1])));
  } else if (event.kind == EventKind::kRecoveryEnd) {
    Tell(event, fmt::format("recovery ends at {}", LsnToText(event.a[0])));
  } else if (IsPage(event.a[1], event.a[2])) {
    Tell(event, fmt::format("record that ends at {}: {}", LsnToText(event.a[0]),
                            RedoActionText(event.a[3])));
  }
}

void PageStory::OnCrash(const env::Event& event) {
  Tell(event, CrashText(event.a[0]));
  after_power_loss_ |=
      event.a[0] == static_cast<uint64_t>(sim::CrashKind::kPowerLoss);
}

void PageStory::OnEvent(const env::Event& event) {
  switch (event.kind) {
    case EventKind::kTaskStart:
      names_.Learn(event);
      return;
    case EventKind::kWalInsert:
      return OnRecord(event);
    case EventKind::kTupleInsert:
    case EventKind::kTupleUpdate:
    case EventKind::kTupleDelete:
      return OnTuple(event);
    case EventKind::kPageDirty:
    case EventKind::kPageWrite:
    case EventKind::kPageRead:
      return OnBuffer(event);
    case EventKind::kFileOpen:
    case EventKind::kDirOp:
      return LearnFile(event);
    case EventKind::kFileWrite:
    case EventKind::kFileRead:
    case EventKind::kFileSync:
    case EventKind::kFileSize:
      return OnFile(event);
    case EventKind::kRecoveryStart:
    case EventKind::kRedoPage:
    case EventKind::kRecoveryEnd:
      return OnRecovery(event);
    case EventKind::kCrash:
      return OnCrash(event);
    case EventKind::kFault:
      if (event.a[0] == static_cast<uint64_t>(sim::DiskFaultFamily::kDamage) &&
          inodes_.count(event.a[2]) > 0 &&
          event.a[3] / sim::kPageBytes == page_.block % kSegmentBlocks) {
        Tell(event, fmt::format(
                        "the media damage it: {}",
                        sim::DamageName(static_cast<sim::Damage>(event.a[1]))));
      }
      return;
    default:
      return;
  }
}

}  // namespace replay
