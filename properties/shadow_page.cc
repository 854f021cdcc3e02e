#include "properties/shadow_page.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "properties/decoders/bytes.h"
#include "properties/decoders/page_decoder.h"

namespace properties {

ShadowPage::ShadowPage(std::string base) { Reset(std::move(base)); }

void ShadowPage::Forget() {
  Reset(std::string());
  known_ = false;
}

void ShadowPage::Reset(std::string base) {
  base_ = std::move(base);
  base_lsn_ = base_.empty() ? 0 : PageLsn(base_);
  changes_.clear();
  known_ = true;
  bytes_.clear();
  state_ = 0;
}

void ShadowPage::Add(BlockChange change) {
  bool anew = change.init || change.kind == ChangeKind::kImage;
  if (!known_ && anew) Reset(std::string());
  if (known_) changes_.push_back(std::move(change));
}

void ShadowPage::Rewind(uint64_t lsn) {
  if (!known_) return;
  if (lsn < base_lsn_) return Forget();
  size_t keep = StateUpTo(lsn);
  changes_.resize(keep);
  if (state_ > keep) bytes_.clear();
}

void ShadowPage::Fold(uint64_t lsn) {
  // Not up to a hint's image, whose LSN the page may not have.
  size_t n = Settled(StateUpTo(lsn));
  if (!known_ || n == 0) return;
  env::Result<std::string_view> bytes = Bytes(n);
  if (!bytes.ok()) return Forget();
  base_ = std::string(*bytes);
  base_lsn_ = changes_[n - 1].end;
  changes_.erase(changes_.begin(),
                 changes_.begin() + static_cast<std::ptrdiff_t>(n));
  bytes_.clear();
}

uint64_t ShadowPage::LsnOf(size_t n) const {
  return n == 0 ? base_lsn_ : changes_[n - 1].end;
}

size_t ShadowPage::StateUpTo(uint64_t lsn) const {
  auto above = std::upper_bound(
      changes_.begin(), changes_.end(), lsn,
      [](uint64_t l, const BlockChange& c) { return l < c.end; });
  return static_cast<size_t>(above - changes_.begin());
}

std::optional<size_t> ShadowPage::StateAt(uint64_t lsn) const {
  size_t n = StateUpTo(lsn);
  if (LsnOf(n) != lsn) return std::nullopt;
  return n;
}

size_t ShadowPage::Settled(size_t n) const {
  while (n > 0 && changes_[n - 1].kind == ChangeKind::kHintImage) --n;
  return n;
}

env::Result<std::string_view> ShadowPage::Bytes(size_t n) {
  if (bytes_.empty() || state_ > n) {
    bytes_ = base_.empty() ? std::string(kPageBytes, '\0') : base_;
    state_ = 0;
  }
  while (state_ < n) {
    env::Status status = ApplyBlockChange(changes_[state_], &bytes_);
    if (!status.ok()) {
      bytes_.clear();
      return status;
    }
    ++state_;
  }
  return std::string_view(bytes_);
}

}  // namespace properties
