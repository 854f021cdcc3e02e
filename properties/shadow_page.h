// ShadowPage: one heap page as the log says it must be, at every position.
//
//   base ── change ── change ── change ──►        kept: base and changes
//            lsn 1     lsn 2     lsn 3            cached: one state in between
//
// A crash takes back the changes above the cut; a page found on disk may be at
// any state that a record produced. Changes that no recovery can start before
// are folded into the base.
#ifndef MUSTH_PROPERTIES_SHADOW_PAGE_H_
#define MUSTH_PROPERTIES_SHADOW_PAGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "properties/decoders/heap_redo.h"
#include "sim/env/status.h"

namespace properties {

class ShadowPage {
 public:
  // An empty base stands for a page of zeros.
  explicit ShadowPage(std::string base);

  // The page's state is not known until Reset or a change that makes the page
  // anew.
  bool known() const { return known_; }
  void Forget();
  // From here on the page is this.
  void Reset(std::string base);

  // Requires: changes come in the order of the log.
  void Add(BlockChange change);
  // Takes back all changes that end above lsn.
  void Rewind(uint64_t lsn);
  // Merges changes that end at or before lsn into the base.
  void Fold(uint64_t lsn);

  // States are counted: state n is the base with the first n changes.
  size_t last() const { return changes_.size(); }
  const BlockChange& change(size_t n) const { return changes_[n - 1]; }
  uint64_t LsnOf(size_t n) const;
  // The last state at or before lsn.
  size_t StateUpTo(uint64_t lsn) const;
  // The state with exactly this LSN.
  std::optional<size_t> StateAt(uint64_t lsn) const;
  // The earliest state that says the same as state n: when it logs an image for
  // a hint, a running node may leave the LSN alone; redo of a hint's record
  // without image does.
  size_t Settled(size_t n) const;
  // The page's bytes in state n; valid until the next call. Errors: redo's.
  env::Result<std::string_view> Bytes(size_t n);

 private:
  std::string base_;
  uint64_t base_lsn_ = 0;
  std::vector<BlockChange> changes_;
  bool known_ = true;
  std::string bytes_;  // of state state_
  size_t state_ = 0;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_SHADOW_PAGE_H_
