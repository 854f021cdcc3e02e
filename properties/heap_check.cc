#include "properties/heap_check.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "properties/decoders/bytes.h"
#include "properties/decoders/page_decoder.h"

namespace properties {
namespace {

constexpr uint32_t kFirstNormalXid = 3;
constexpr uint16_t kHeapHotUpdated = 0x4000;
constexpr uint16_t kHeapOnlyTuple = 0x8000;

bool Precedes(uint32_t a, uint32_t b) {
  return static_cast<int32_t>(a - b) < 0;
}

bool IsFrozen(const TupleHeader& h) {
  return (h.infomask & kHeapXminFrozen) == kHeapXminFrozen;
}

// True if xmax names a transaction that updated or deleted the tuple.
bool HasUpdater(const TupleHeader& h) {
  constexpr uint16_t kNoUpdater =
      kHeapXmaxInvalid | kHeapXmaxIsMulti | kHeapXmaxLockOnly;
  return h.xmax != 0 && (h.infomask & kNoUpdater) == 0;
}

class HeapChecker {
 public:
  HeapChecker(const ClusterImage& image, uint32_t filenode,
              const RelationShape* shape, const XidBounds& xids,
              Problems* problems)
      : image_(image),
        heap_(image.Heap(filenode)),
        filenode_(filenode),
        shape_(shape),
        xids_(xids),
        problems_(problems) {}

  void Run(const BlockFilter& skip) {
    for (const Finding& finding : heap_.findings) {
      if (skip && skip(filenode_, finding.block)) continue;
      problems_->Add("REC", finding.subject, finding.message);
    }
    size_t next = 0;
    while (next < heap_.tuples.size()) {
      auto block = static_cast<uint32_t>(heap_.tuples[next].tid >> 16);
      size_t end = next;
      while (end < heap_.tuples.size() &&
             heap_.tuples[end].tid >> 16 == block) {
        ++end;
      }
      if (!skip || !skip(filenode_, block)) {
        for (size_t i = next; i < end; ++i) CheckTuple(heap_.tuples[i]);
        CheckChains(block);
      }
      next = end;
    }
  }

 private:
  void Report(const char* promise, uint64_t tid, std::string message) {
    problems_->Add(
        promise,
        fmt::format("{} ({},{})", HeapPath(filenode_), tid >> 16, tid & 0xFFFF),
        std::move(message));
  }

  void CheckTuple(const HeapTupleRef& tuple) {
    const TupleHeader& h = tuple.header;
    CheckXid("xmin", h.xmin, IsFrozen(h), tuple.tid);
    if ((h.infomask & kHeapXmaxIsMulti) == 0) {
      CheckXid("xmax", h.xmax, h.xmax == 0, tuple.tid);
    }
    if ((h.ctid >> 16) >= heap_.blocks || (h.ctid & 0xFFFF) == 0) {
      Report("REC", tuple.tid,
             fmt::format("t_ctid ({},{}) is outside the relation", h.ctid >> 16,
                         h.ctid & 0xFFFF));
    }
    CheckInfomask(tuple);
    if (xids_.clog_is_current) CheckHints(tuple);
    if (shape_ == nullptr) return;
    env::Status decoded = DecodeTupleBodyInto(*shape_, tuple.body, &scratch_);
    if (!decoded.ok()) {
      Report("REC", tuple.tid, std::string(decoded.message()));
    }
  }

  // exempt: may be of any age, or none at all.
  void CheckXid(const char* which, uint32_t xid, bool exempt, uint64_t tid) {
    if (xid < kFirstNormalXid) {
      if (xid == 0 && !exempt) {
        Report("REC", tid, fmt::format("{} is not valid", which));
      }
      return;
    }
    if (!Precedes(xid, xids_.next)) {
      Report("REC", tid,
             fmt::format("{} {} equals or exceeds next valid transaction ID {}",
                         which, xid, xids_.next));
      return;
    }
    if (exempt) return;
    if (Precedes(xid, xids_.oldest)) {
      Report("REC", tid,
             fmt::format("{} {} precedes oldest valid transaction ID {}", which,
                         xid, xids_.oldest));
    } else if (xids_.clog_is_current &&
               !image_.clog().StatusOf(xid).has_value()) {
      Report("REC", tid,
             fmt::format("could not access status of transaction {} ({}): {} "
                         "has no place for it",
                         xid, which, ClogPath(xid)));
    }
  }

  void CheckInfomask(const HeapTupleRef& tuple) {
    const uint16_t mask = tuple.header.infomask;
    auto both = [mask](uint16_t bits) { return (mask & bits) == bits; };
    if (both(kHeapXmaxCommitted | kHeapXmaxIsMulti)) {
      Report("REC", tuple.tid, "multixact should not be marked committed");
    }
    if (both(kHeapXmaxCommitted | kHeapXmaxInvalid)) {
      Report("REC", tuple.tid, "xmax is marked both committed and invalid");
    }
    if (both(kHeapXmaxCommitted | kHeapXmaxLockOnly)) {
      Report("REC", tuple.tid, "a locker is marked committed as an updater");
    }
    if (both(kHeapHasExternal) && !both(kHeapHasVarWidth)) {
      Report("REC", tuple.tid,
             "has external values but no values of variable width");
    }
  }

  void CheckHints(const HeapTupleRef& tuple) {
    const TupleHeader& h = tuple.header;
    uint16_t xmin_hint = h.infomask & kHeapXminFrozen;
    bool xmin_committed = image_.clog().IsCommitted(h.xmin);
    if ((xmin_hint == kHeapXminCommitted && !xmin_committed) ||
        (xmin_hint == kHeapXminInvalid && xmin_committed)) {
      Report("VIS", tuple.tid,
             fmt::format("a hint says that xmin {} {}, the commit log says the "
                         "opposite",
                         h.xmin, xmin_committed ? "aborted" : "committed"));
    }
    if (HasUpdater(h) && (h.infomask & kHeapXmaxCommitted) != 0 &&
        !image_.clog().IsCommitted(h.xmax)) {
      Report("VIS", tuple.tid,
             fmt::format("a hint says that xmax {} committed, the commit log "
                         "says no",
                         h.xmax));
    }
  }

  std::optional<TupleHeader> HeaderAt(std::string_view page,
                                      const DecodedPage& decoded,
                                      size_t number) {
    if (number == 0 || number > decoded.items.size() ||
        decoded.items[number - 1].kind != LinePointerKind::kNormal) {
      return std::nullopt;
    }
    env::Result<TupleHeader> header =
        DecodeTupleHeader(PageItem(page, decoded, number));
    if (!header.ok()) return std::nullopt;  // a finding of its own
    return *header;
  }

  void CheckChains(uint32_t block) {
    const std::string* file = image_.files().Read(HeapPath(filenode_));
    std::string_view page =
        std::string_view(*file).substr(block * kPageBytes, kPageBytes);
    env::Result<DecodedPage> decoded = DecodePage(page);
    if (!decoded.ok() || decoded->is_new) return;
    std::vector<bool> led_to(decoded->items.size() + 1, false);
    bool all_known = true;
    for (size_t n = 1; n <= decoded->items.size(); ++n) {
      const LinePointer& lp = decoded->items[n - 1];
      uint64_t tid = static_cast<uint64_t>(block) << 16 | n;
      if (lp.kind == LinePointerKind::kRedirect) {
        CheckRedirect(page, *decoded, lp.offset, tid, &led_to);
      } else if (lp.kind == LinePointerKind::kNormal) {
        std::optional<TupleHeader> h = HeaderAt(page, *decoded, n);
        all_known &= h.has_value() && (h->infomask & kHeapXmaxIsMulti) == 0;
        if (h) CheckSuccessor(page, *decoded, *h, tid, &led_to);
      }
    }
    if (!all_known) return;
    for (size_t n = 1; n <= decoded->items.size(); ++n) {
      std::optional<TupleHeader> h = HeaderAt(page, *decoded, n);
      if (!h || (h->infomask2 & kHeapOnlyTuple) == 0 || led_to[n]) continue;
      if (!image_.clog().IsCommitted(h->xmin)) continue;
      Report("HOT", static_cast<uint64_t>(block) << 16 | n,
             "tuple is root of chain but is marked as heap-only tuple");
    }
  }

  void CheckRedirect(std::string_view page, const DecodedPage& decoded,
                     uint16_t target, uint64_t tid, std::vector<bool>* led_to) {
    LinePointerKind kind = decoded.items[target - 1].kind;
    if (kind != LinePointerKind::kNormal) {
      constexpr const char* kKinds[] = {"an unused", "a normal", "a redirected",
                                        "a dead"};
      Report("HOT", tid,
             fmt::format("redirected line pointer points to {} line pointer at "
                         "offset {}",
                         kKinds[static_cast<size_t>(kind)], target));
      return;
    }
    (*led_to)[target] = true;
    std::optional<TupleHeader> h = HeaderAt(page, decoded, target);
    if (h && (h->infomask2 & kHeapOnlyTuple) == 0) {
      Report("HOT", tid,
             fmt::format("redirected line pointer points to a non-heap-only "
                         "tuple at offset {}",
                         target));
    }
  }

  void CheckSuccessor(std::string_view page, const DecodedPage& decoded,
                      const TupleHeader& h, uint64_t tid,
                      std::vector<bool>* led_to) {
    size_t target = h.ctid & 0xFFFF;
    if (h.ctid == tid || h.ctid >> 16 != tid >> 16 || !HasUpdater(h)) return;
    std::optional<TupleHeader> next = HeaderAt(page, decoded, target);
    if (!next || next->xmin != h.xmax) return;
    if ((*led_to)[target]) {
      Report("HOT", tid,
             fmt::format("another tuple, too, points to the tuple at offset {}",
                         target));
    }
    (*led_to)[target] = true;
    bool hot_updated = (h.infomask2 & kHeapHotUpdated) != 0;
    bool heap_only = (next->infomask2 & kHeapOnlyTuple) != 0;
    if (hot_updated == heap_only) return;
    Report("HOT", tid,
           fmt::format("{}heap-only update produced a {}heap-only tuple at "
                       "offset {}",
                       hot_updated ? "" : "non-", heap_only ? "" : "non-",
                       target));
  }

  const ClusterImage& image_;
  const HeapFile& heap_;
  const uint32_t filenode_;
  const RelationShape* shape_;
  const XidBounds xids_;
  Problems* problems_;
  Row scratch_;
};

}  // namespace

void CheckHeap(const ClusterImage& image, uint32_t filenode,
               const RelationShape* shape, const XidBounds& xids,
               const BlockFilter& skip, Problems* problems) {
  HeapChecker(image, filenode, shape, xids, problems).Run(skip);
}

}  // namespace properties
