// Crash images: which of its legal states a disk shows after a power loss.
//
// Every power loss leaves a record. A record draws one style (the mixture of
// FAULT_MODEL 5.2: a fair coin for every sector would hardly ever produce the
// extreme images) and answers, one sector at a time, which version survived.
// All draws are keyed by the file, the sector and the power loss, so that the
// order in which sectors are looked at does not matter. 0 is the newest.
#ifndef MUSTH_SIM_CRASH_IMAGE_H_
#define MUSTH_SIM_CRASH_IMAGE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "sim/block_store.h"
#include "sim/choices.h"
#include "sim/disk.h"
#include "sim/fault_log.h"
#include "sim/file_data.h"
#include "sim/image_tap.h"

namespace sim {

enum class ImageStyle : uint8_t {
  kEverything,   // all that was issued survived
  kNothing,      // nothing did
  kPrefix,       // what was issued up to one operation
  kAllButOne,    // all but one operation
  kOnlyOne,      // one operation alone
  kTornPrefix,   // a prefix and some sectors of the next operation
  kIndependent,  // sector by sector, a share of .95, .5 or .05 drawn per file
  kPerFile,      // all or nothing per file
  kUniform,      // sector by sector, evenly over the versions
  kRules,        // as the recipe says
};

struct CrashRecord {
  uint64_t ordinal = 0;  // how many power losses came before
  uint64_t seq = 0;      // the last operation issued before
  uint64_t scope_key = 0;
  ImageStyle style = ImageStyle::kEverything;
  uint64_t target = 0;  // the operation that the style turns on
  // Pending operations, ascending; blocks freed before (SFM-11).
  std::shared_ptr<const std::vector<uint64_t>> pending;
  std::shared_ptr<const std::vector<BlockRef>> freed;
  // kRules only.
  std::shared_ptr<const ImageRules> rules;

  // Whether the rules take back what is pending of this sector, the file's
  // size, or directory entries.
  bool LosesSector(std::string_view path, uint64_t sector) const;
  bool LosesSize(std::string_view path) const;
  bool LosesNames() const;
};

// What one write cannot tear.
inline int UnitBytes(const DiskOptions& options) {
  return options.atomic8k ? kPageBytes : options.sector_bytes;
}

// The scope key of `path` below a scope: as Scope::FromPath builds it.
uint64_t PathKey(uint64_t scope_key, std::string_view path);

// Draws for one disk. A null Choices draws 0 everywhere.
class ImageDraws {
 public:
  ImageDraws(const DiskOptions& options, Choices* choices)
      : options_(options), choices_(choices) {}

  // A value in [0, bound); bounds up to 1 draw nothing.
  uint64_t Below(Stream stream, uint64_t scope_key, std::string_view site,
                 uint64_t n, uint64_t bound) const;

  // Sets style and target from scope_key, ordinal and pending.
  void ChooseStyle(CrashRecord* record) const;

  // How many of the operations seqs (ascending, all before the record)
  // survived in a log of which a prefix survives.
  size_t PickPrefix(const CrashRecord& record,
                    std::span<const uint64_t> seqs) const;
  // Whether the index-th operation of a log survived of which any may.
  bool PickEntry(const CrashRecord& record, uint64_t seq, uint64_t index) const;

 private:
  friend class ImagePicker;
  // The number of seqs that survived in one sector or size cell.
  // Not with kRules.
  size_t PickCell(const CrashRecord& record, uint64_t file_key,
                  std::string_view site, uint64_t index,
                  std::span<const uint64_t> seqs) const;

  const DiskOptions& options_;
  Choices* choices_;
};

// Who watches and who dictates; either may be null.
struct ImageWatch {
  ImageTap* tap = nullptr;
  const ImageSource* source = nullptr;

  bool any() const { return tap != nullptr || source != nullptr; }
  // The cell was drawn as state `drawn`; returns the one that it gets.
  size_t OnCell(const ImageCell& cell, size_t drawn,
                std::span<const uint64_t> contents) const;
};

// Answers for one file. Cheap to make: keys are folded when something is drawn.
class ImagePicker : public VersionPicker {
 public:
  // What was filled (SFM-11) goes to faults, as damage to that inode.
  ImagePicker(const DiskOptions& options, Choices* choices,
              std::span<const CrashRecord> records,
              std::span<const uint64_t> crash_seqs, std::string_view path,
              uint64_t inode, FaultLog* faults, const ImageWatch& watch)
      : draws_(options, choices),
        records_(records),
        crash_seqs_(crash_seqs),
        path_(path),
        inode_(inode),
        faults_(faults),
        watch_(watch) {}

  size_t PickVersion(size_t crash, uint64_t sector,
                     std::span<const uint64_t> seqs,
                     std::span<const uint64_t> block_seqs) override;
  size_t PickSize(size_t crash, std::span<const uint64_t> seqs) override;
  void FillSlot(size_t crash, uint64_t slot, char* out) override;
  void Filled(uint64_t slot, const char* bytes) override;
  std::span<const uint64_t> CrashSeqs() const override { return crash_seqs_; }
  bool Watched() const override { return watch_.any(); }
  size_t OnCell(ImageCell::Kind kind, uint64_t index, size_t drawn,
                std::span<const uint64_t> contents) override {
    return watch_.OnCell({kind, inode_, index, crash_seqs_.size()}, drawn,
                         contents);
  }

 private:
  uint64_t FileKey(const CrashRecord& record) const {
    return PathKey(record.scope_key, path_);
  }
  size_t PickSnapshot(const CrashRecord& record, uint64_t sector,
                      std::span<const uint64_t> seqs,
                      std::span<const uint64_t> block_seqs) const;

  ImageDraws draws_;
  std::span<const CrashRecord> records_;
  std::span<const uint64_t> crash_seqs_;
  std::string_view path_;
  uint64_t inode_;
  FaultLog* faults_;
  ImageWatch watch_;
};

}  // namespace sim

#endif  // MUSTH_SIM_CRASH_IMAGE_H_
