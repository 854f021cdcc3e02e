// Crashes of a disk, and what the world does to it without being asked.
#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/disk_state.h"
#include "sim/env/check.h"

namespace sim {

CrashRecord DiskState::MakeRecord(const ImageRules& rules) const {
  CrashRecord record;
  record.ordinal = records.size();
  record.seq = seq;
  record.scope_key = ScopeKey();
  std::vector<uint64_t> pending;
  for (InodeNo inode : touched) Get(inode).data.PendingSeqs(&pending);
  for (const LogOp& op : log.ops()) pending.push_back(op.seq);
  std::sort(pending.begin(), pending.end());
  pending.erase(std::unique(pending.begin(), pending.end()), pending.end());
  // What an earlier power loss left undetermined is not this one's to decide.
  uint64_t before = crash_seqs.empty() ? 0 : crash_seqs.back();
  pending.erase(pending.begin(),
                std::upper_bound(pending.begin(), pending.end(), before));
  record.pending =
      std::make_shared<const std::vector<uint64_t>>(std::move(pending));
  if (options.fill == Fill::kStale) {
    record.freed = std::make_shared<const std::vector<BlockRef>>(freed);
  }
  if (!rules.empty()) {
    record.rules = std::make_shared<const ImageRules>(rules);
  }
  Draws().ChooseStyle(&record);
  return record;
}

void DiskState::PowerLoss(const ImageRules& rules) {
  ++stats.power_losses;
  DropHandles();
  CrashRecord record = MakeRecord(rules);
  for (InodeNo inode : touched) {
    Mut(inode).errors = 0;
    Mut(inode).late_errors = 0;
  }
  if (record.pending->empty()) return;
  size_t crash = records.size();
  records.push_back(record);
  crash_seqs.push_back(record.seq);
  Emit(env::EventKind::kFault,
       static_cast<uint64_t>(DiskFaultFamily::kCrashImage),
       static_cast<uint64_t>(record.style), record.ordinal);
  for (InodeNo inode : touched) {
    if (!Get(inode).data.Pending()) continue;
    Inode& node = Mut(inode);
    // A file without a name may share its path with its successor.
    node.image_path = node.links > 0 ? node.path : node.path + "~";
    ImagePicker picker = Picker(inode);
    FileData::CrashResult result =
        node.data.PowerLoss(crash, Traits(), &picker);
    stats.sectors_opened += result.opened;
    stats.sizes_drawn += result.size_drawn ? 1 : 0;
  }
  RebuildNames(record);
  std::erase_if(touched,
                [&](InodeNo inode) { return !Get(inode).data.HasOpen(); });
}

void DiskState::RebuildNames(const CrashRecord& record) {
  const std::vector<LogOp>& ops = log.ops();
  std::vector<bool> survives(ops.size(), false);
  if (options.meta == MetaMode::kOrdered) {
    std::vector<uint64_t> seqs;
    for (const LogOp& op : ops) seqs.push_back(op.seq);
    size_t kept = Draws().PickPrefix(record, seqs);
    if (watch.any() && !ops.empty()) {
      std::vector<uint64_t> contents(ops.size() + 1);
      std::iota(contents.begin(), contents.end(), 0);
      kept = watch.OnCell({ImageCell::Kind::kPrefix, 0, 0, crash_seqs.size()},
                          kept, contents);
    }
    std::fill_n(survives.begin(), kept, true);
  } else {
    for (size_t k = 0; k < ops.size(); ++k) {
      bool possible = true;
      for (size_t j = 0; j < k && possible; ++j) {
        possible = survives[j] || !log.DependsOn(k, j);
      }
      survives[k] = possible && Draws().PickEntry(record, ops[k].seq, k);
      if (!watch.any() || !possible) continue;
      static constexpr uint64_t kContents[] = {0, 1};
      ImageCell cell{ImageCell::Kind::kEntry, 0, k, crash_seqs.size()};
      survives[k] = watch.OnCell(cell, survives[k] ? 1 : 0, kContents) == 1;
    }
  }
  for (size_t k = ops.size(); k-- > 0;) {
    const std::vector<EntryEdit>& edits = ops[k].edits;
    for (size_t e = edits.size(); e-- > 0;) {
      SetEntry(edits[e].directory, edits[e].name, edits[e].before);
    }
  }
  for (size_t k = 0; k < ops.size(); ++k) {
    if (!survives[k]) {
      ++stats.entries_lost;
      continue;
    }
    for (const EntryEdit& edit : ops[k].edits) {
      SetEntry(edit.directory, edit.name, edit.after);
    }
  }
  Commit(log.TakeAll());
}

void DiskState::Freeze() {
  for (InodeNo inode : touched) {
    if (!Get(inode).data.HasOpen()) continue;
    Inode& node = Mut(inode);
    ImagePicker picker = Picker(inode);
    stats.sectors_drawn += node.data.Freeze(Traits(), &picker);
  }
  std::erase_if(touched,
                [&](InodeNo inode) { return !Get(inode).data.Pending(); });
}

void DiskState::SpontaneousWriteback() {
  std::vector<InodeNo> files;
  for (InodeNo inode : touched) {
    if (Get(inode).data.Pending()) files.push_back(inode);
  }
  uint64_t targets = files.size() + (log.ops().empty() ? 0 : 1);
  if (targets == 0) return;
  uint64_t n = writebacks++;
  uint64_t key = PathKey(ScopeKey(), "writeback");
  uint64_t target =
      Draws().Below(Stream::kCrashImage, key, "target", n, targets + 1);
  if (target == 0) return;
  if (target <= files.size()) {
    WriteBackFile(files[target - 1], key, n);
    return;
  }
  uint64_t count = 1 + Draws().Below(Stream::kCrashImage, key, "entries", n,
                                     log.ops().size());
  if (options.meta == MetaMode::kOrdered) {
    Commit(log.TakePrefix(count));
  } else {
    // The directory of the chosen operation writes its log out.
    InodeNo directory = log.ops()[count - 1].edits.front().directory;
    Commit(log.TakeDirectory(directory, UINT64_MAX));
  }
}

void DiskState::WriteBackFile(InodeNo inode, uint64_t key, uint64_t n) {
  ImageDraws draws = Draws();
  FileData& data = Mut(inode).data;
  DataTraits traits = Traits();
  std::vector<uint32_t> pages = data.DirtyPages();
  uint64_t one =
      draws.Below(Stream::kCrashImage, key, "page", n, pages.size() + 1);
  for (size_t i = 0; i < pages.size(); ++i) {
    if (one != 0 && i != one - 1) continue;
    SlotMask slots = kAllSlots;
    uint64_t at = n << 32 | pages[i];
    if (draws.Below(Stream::kCrashImage, key, "torn", at, 4) == 3) {
      uint64_t units = static_cast<uint64_t>(kSlotsPerPage / traits.unit_slots);
      uint64_t lost = draws.Below(Stream::kCrashImage, key, "lost", at,
                                  uint64_t{1} << units);
      for (uint64_t unit = 0; unit < units; ++unit) {
        if ((lost >> unit & 1) == 0) continue;
        int first = static_cast<int>(unit) * traits.unit_slots;
        slots &=
            static_cast<SlotMask>(~SlotRange(first, first + traits.unit_slots));
      }
    }
    SlotMask written = data.WriteBackSlots(pages[i], slots, traits);
    stats.writebacks +=
        static_cast<uint64_t>(__builtin_popcount(written) / traits.unit_slots);
  }
  if (draws.Below(Stream::kCrashImage, key, "size", n, 2) == 0) {
    data.WriteBackSize();
  }
}

void DiskState::EvictClean() {
  for (InodeNo inode : touched) {
    if (Get(inode).data.Pending()) Mut(inode).data.Evict(Traits());
  }
}

void DiskState::MakeDurable() {
  for (InodeNo inode : touched) {
    if (Get(inode).data.Pending()) Mut(inode).data.MakeDurable();
  }
  Commit(log.TakeAll());
}

void DiskState::RebindRecords() {
  uint64_t key = ScopeKey();
  for (CrashRecord& record : records) {
    if (record.scope_key == key) continue;
    record.scope_key = key;
    Draws().ChooseStyle(&record);
  }
}

}  // namespace sim
