// Metadata log: directory operations that no flush covers yet (FAULT_MODEL
// SFM-9).
//
// Directories always show the visible state; an operation remembers what each
// entry was before and after. A power loss takes all pending operations back,
// newest first, and repeats the survivors:
//
//   ordered   one log; the survivors are a prefix
//   weak      a log per directory; an operation survives only with all earlier
//             ones of its directory that share a name or an inode with it
#ifndef MUSTH_SIM_META_LOG_H_
#define MUSTH_SIM_META_LOG_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sim {

using InodeNo = uint32_t;  // 0 is none
inline constexpr InodeNo kRootInode = 1;

struct EntryEdit {
  InodeNo directory = 0;
  std::string name;
  InodeNo before = 0;
  InodeNo after = 0;
};

// Edits that survive together. In weak mode all are of one directory.
struct LogOp {
  uint64_t seq = 0;
  std::vector<EntryEdit> edits;

  bool Touches(InodeNo inode) const;
};

class MetaLog {
 public:
  const std::vector<LogOp>& ops() const { return ops_; }
  void Append(LogOp op) { ops_.push_back(std::move(op)); }

  // Ordered: how many operations a flush of the inode at `seq` must commit.
  size_t ReachOf(InodeNo inode, uint64_t seq) const;
  // Removes and returns the first `count` operations.
  std::vector<LogOp> TakePrefix(size_t count);
  // Weak: removes and returns the directory's operations up to seq.
  std::vector<LogOp> TakeDirectory(InodeNo directory, uint64_t seq);
  std::vector<LogOp> TakeAll() { return std::exchange(ops_, {}); }

  // Weak: true if operation k cannot survive without operation j < k.
  bool DependsOn(size_t k, size_t j) const;

 private:
  std::vector<LogOp> ops_;  // by seq
};

}  // namespace sim

#endif  // MUSTH_SIM_META_LOG_H_
