#include "sim/meta_log.h"

#include <algorithm>
#include <iterator>

namespace sim {

bool LogOp::Touches(InodeNo inode) const {
  return std::any_of(edits.begin(), edits.end(), [&](const EntryEdit& edit) {
    return edit.directory == inode || edit.before == inode ||
           edit.after == inode;
  });
}

size_t MetaLog::ReachOf(InodeNo inode, uint64_t seq) const {
  for (size_t i = ops_.size(); i-- > 0;) {
    if (ops_[i].seq <= seq && ops_[i].Touches(inode)) return i + 1;
  }
  return 0;
}

std::vector<LogOp> MetaLog::TakePrefix(size_t count) {
  auto end = ops_.begin() + static_cast<ptrdiff_t>(count);
  std::vector<LogOp> taken(std::make_move_iterator(ops_.begin()),
                           std::make_move_iterator(end));
  ops_.erase(ops_.begin(), end);
  return taken;
}

std::vector<LogOp> MetaLog::TakeDirectory(InodeNo directory, uint64_t seq) {
  std::vector<LogOp> taken;
  std::vector<LogOp> kept;
  for (LogOp& op : ops_) {
    bool wanted =
        op.seq <= seq && std::any_of(op.edits.begin(), op.edits.end(),
                                     [&](const EntryEdit& edit) {
                                       return edit.directory == directory;
                                     });
    (wanted ? taken : kept).push_back(std::move(op));
  }
  ops_ = std::move(kept);
  return taken;
}

bool MetaLog::DependsOn(size_t k, size_t j) const {
  // The halves of a split rename may part.
  if (ops_[k].seq == ops_[j].seq) return false;
  for (const EntryEdit& later : ops_[k].edits) {
    for (const EntryEdit& earlier : ops_[j].edits) {
      if (later.directory != earlier.directory) continue;
      if (later.name == earlier.name) return true;
      for (InodeNo inode : {later.before, later.after}) {
        if (inode != 0 && (inode == earlier.before || inode == earlier.after)) {
          return true;
        }
      }
    }
  }
  return false;
}

}  // namespace sim
