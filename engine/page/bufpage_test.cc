#include "engine/page/bufpage.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "engine/common/checksum.h"

namespace engine {
namespace {

struct alignas(8) Page {
  char bytes[BLCKSZ] = {};
  char* data() { return bytes; }
};

std::string Item(size_t size, char fill) { return std::string(size, fill); }

// What a page should hold, kept the naive way.
struct ModelSlot {
  uint32_t flags = LP_UNUSED;
  std::string bytes;
};
using Model = std::vector<ModelSlot>;

void ExpectSame(const char* page, const Model& model) {
  RC_ASSERT(PageHeaderIsSane(page));
  RC_ASSERT(PageGetMaxOffsetNumber(page) == model.size());
  size_t stored = 0;
  bool overlap = false;
  std::string taken(BLCKSZ, 0);
  for (size_t i = 0; i < model.size(); ++i) {
    const ItemIdData& lp =
        *PageGetItemId(page, static_cast<OffsetNumber>(i + 1));
    RC_ASSERT(uint32_t{lp.lp_flags} == model[i].flags);
    RC_ASSERT(PageGetItemBytes(page, lp) == model[i].bytes);
    if (model[i].bytes.empty()) continue;
    RC_ASSERT(lp.lp_off % 8 == 0);
    for (size_t b = 0; b < MaxAlign(lp.lp_len); ++b) {
      overlap |= taken[lp.lp_off + b] != 0;
      taken[lp.lp_off + b] = 1;
    }
    stored += MaxAlign(lp.lp_len);
  }
  RC_ASSERT(!overlap);
  RC_ASSERT(stored <= size_t{PageHeader(page)->pd_special} -
                          size_t{PageHeader(page)->pd_upper});
}

size_t Stored(const Model& model) {
  size_t total = 0;
  for (const ModelSlot& slot : model) total += MaxAlign(slot.bytes.size());
  return total;
}

TEST(BufPage, HeapPageMatchesNaiveModel) {
  EXPECT_TRUE(rc::check("adding, killing, repairing", [] {
    Page page;
    PageInit(page.data(), 0);
    Model model;
    int steps = *rc::gen::inRange(1, 120);
    for (int step = 0; step < steps; ++step) {
      int what = *rc::gen::inRange(0, 10);
      if (what < 6) {
        size_t size = *rc::gen::inRange<size_t>(1, 400);
        std::string item = Item(size, *rc::gen::character<char>());
        size_t space = PageGetHeapFreeSpace(page.data());
        bool hinted = PageHasFreeLinePointers(page.data());
        OffsetNumber n = PageAddItem(page.data(), item, 0, false, true);
        if (n == 0) {
          // Only for want of space: with a free line pointer an item may fit
          // although it would not with a new one, never the other way round.
          RC_ASSERT(MaxAlign(size) > space);
          continue;
        }
        size_t expected = model.size();
        for (size_t i = 0; hinted && i < model.size(); ++i) {
          if (model[i].flags == LP_UNUSED) {
            expected = i;
            break;
          }
        }
        RC_ASSERT(n == expected + 1);
        if (expected == model.size()) model.emplace_back();
        model[expected] = {LP_NORMAL, item};
      } else if (what < 9 && !model.empty()) {
        size_t i = *rc::gen::inRange<size_t>(0, model.size());
        ItemIdData& lp =
            *PageGetItemId(page.data(), static_cast<OffsetNumber>(i + 1));
        if (what == 8) {
          ItemIdSetDead(lp);
          model[i] = {LP_DEAD, ""};
        } else {
          ItemIdSetUnused(lp);
          model[i] = {};
          PageSetHasFreeLinePointers(page.data());
        }
      } else {
        RC_ASSERT(PageRepairFragmentation(page.data()).ok());
        while (!model.empty() && model.back().flags == LP_UNUSED) {
          model.pop_back();
        }
        bool has_unused = false;
        for (const ModelSlot& s : model) has_unused |= s.flags == LP_UNUSED;
        RC_ASSERT(PageHasFreeLinePointers(page.data()) == has_unused);
        RC_ASSERT(PageGetExactFreeSpace(page.data()) ==
                  BLCKSZ - kSizeOfPageHeaderData - 4 * model.size() -
                      Stored(model));
      }
      if (step % 8 == 0) ExpectSame(page.data(), model);
    }
    ExpectSame(page.data(), model);
  }));
}

TEST(BufPage, IndexPageMatchesNaiveModel) {
  EXPECT_TRUE(rc::check("inserting, deleting, overwriting", [] {
    Page page;
    PageInit(page.data(), 16);
    Model model;
    int steps = *rc::gen::inRange(1, 100);
    for (int step = 0; step < steps; ++step) {
      int what = *rc::gen::inRange(0, 10);
      size_t size = *rc::gen::inRange<size_t>(1, 300);
      std::string item = Item(size, *rc::gen::character<char>());
      if (what < 6 || model.empty()) {
        auto at = *rc::gen::inRange<size_t>(0, model.size() + 1);
        OffsetNumber n =
            PageAddItem(page.data(), item, static_cast<OffsetNumber>(at + 1),
                        /*overwrite=*/false, /*is_heap=*/false);
        if (n == 0) {
          RC_ASSERT(MaxAlign(size) > PageGetFreeSpace(page.data()));
          continue;
        }
        RC_ASSERT(n == at + 1);
        model.insert(model.begin() + static_cast<std::ptrdiff_t>(at),
                     {LP_NORMAL, item});
      } else if (what < 8) {
        auto at = *rc::gen::inRange<size_t>(0, model.size());
        size_t spare = PageGetExactFreeSpace(page.data()) +
                       MaxAlign(model[at].bytes.size());
        bool done = PageIndexTupleOverwrite(
            page.data(), static_cast<OffsetNumber>(at + 1), item);
        RC_ASSERT(done == (MaxAlign(size) <= spare));
        if (done) model[at].bytes = item;
      } else if (what < 9) {
        auto at = *rc::gen::inRange<size_t>(0, model.size());
        size_t before = PageGetExactFreeSpace(page.data());
        RC_ASSERT(
            PageIndexTupleDelete(page.data(), static_cast<OffsetNumber>(at + 1))
                .ok());
        RC_ASSERT(PageGetExactFreeSpace(page.data()) ==
                  before + 4 + MaxAlign(model[at].bytes.size()));
        model.erase(model.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        std::vector<OffsetNumber> doomed;
        Model kept;
        for (size_t i = 0; i < model.size(); ++i) {
          if (*rc::gen::inRange(0, 3) == 0) {
            doomed.push_back(static_cast<OffsetNumber>(i + 1));
          } else {
            kept.push_back(model[i]);
          }
        }
        RC_ASSERT(PageIndexMultiDelete(page.data(), doomed).ok());
        model = kept;
        RC_ASSERT(PageGetExactFreeSpace(page.data()) ==
                  BLCKSZ - kSizeOfPageHeaderData - 16 - 4 * model.size() -
                      Stored(model));
      }
      if (step % 8 == 0) ExpectSame(page.data(), model);
    }
    ExpectSame(page.data(), model);
  }));
}

// Whatever a page holds, nothing outside of it may be read or written. Run
// under AddressSanitizer the page's neighbours are forbidden ground; here its
// fences must survive.
TEST(BufPage, DamagedPagesStayWithinBounds) {
  EXPECT_TRUE(rc::check("random bytes", [] {
    struct alignas(8) {
      char before[64];
      char page[BLCKSZ];
      char after[64];
    } fenced;
    std::memset(fenced.before, 0x5A, sizeof fenced.before);
    std::memset(fenced.after, 0x5A, sizeof fenced.after);
    uint64_t x = *rc::gen::arbitrary<uint64_t>() | 1;
    for (char& c : fenced.page) {
      x = x * 6364136223846793005ULL + 1442695040888963407ULL;
      c = static_cast<char>(x >> 56);
    }
    PageHeaderData* h = PageHeader(fenced.page);
    if (*rc::gen::arbitrary<bool>()) {  // a sane header over damaged items
      h->pd_lower = static_cast<uint16_t>(
          kSizeOfPageHeaderData + 4 * *rc::gen::inRange(0, kMaxLinePointers));
      h->pd_special = BLCKSZ - 8;
      h->pd_upper = h->pd_special;
      if (h->pd_lower < 8000) h->pd_upper = 8000;
      if (h->pd_lower > h->pd_upper) h->pd_lower = h->pd_upper;
    }
    char* page = fenced.page;
    OffsetNumber maxoff = PageGetMaxOffsetNumber(page);
    RC_ASSERT(maxoff <= kMaxLinePointers);
    size_t sum = 0;
    for (OffsetNumber i = 1; i <= maxoff; ++i) {
      for (char c : PageGetItemBytes(page, *PageGetItemId(page, i))) {
        sum += static_cast<unsigned char>(c);
      }
    }
    for (char c : PageGetSpecial(page)) sum += static_cast<unsigned char>(c);
    RC_ASSERT(sum < SIZE_MAX);
    static_cast<void>(PageGetHeapFreeSpace(page));
    static_cast<void>(PageVerify(page, 0, true).ok());
    static_cast<void>(PageRepairFragmentation(page).ok());
    static_cast<void>(PageIndexTupleDelete(page, 1).ok());
    static_cast<void>(PageIndexTupleOverwrite(page, 1, Item(50, 'x')));
    const OffsetNumber two[] = {1, 2};
    static_cast<void>(PageIndexMultiDelete(page, two).ok());
    static_cast<void>(PageAddItem(page, Item(100, 'y'), 1, false, false));
    static_cast<void>(PageAddItem(page, Item(100, 'y'), 0, false, true));
    PageTruncateLinePointerArray(page);
    auto untouched = [](char c) { return c == 0x5A; };
    RC_ASSERT(std::all_of(std::begin(fenced.before), std::end(fenced.before),
                          untouched));
    RC_ASSERT(std::all_of(std::begin(fenced.after), std::end(fenced.after),
                          untouched));
  }));
}

// PostgreSQL puts 7 tuples of 1028 bytes on a page and leaves pd_lower 52 and
// pd_upper 968.
TEST(BufPage, SevenTuplesOf1028BytesFitAsInPostgres) {
  Page page;
  PageInit(page.data(), 0);
  int n = 0;
  while (PageAddItem(page.data(), Item(1028, 't'), 0, false, true) != 0) ++n;
  EXPECT_EQ(n, 7);
  EXPECT_EQ(PageHeader(page.data())->pd_lower, 52);
  EXPECT_EQ(PageHeader(page.data())->pd_upper, 968);
  EXPECT_EQ(PageGetHeapFreeSpace(page.data()), 912u);
}

TEST(BufPage, HeapPageTakesAtMost291LinePointers) {
  Page page;
  PageInit(page.data(), 0);
  for (int i = 0; i < MaxHeapTuplesPerPage; ++i) {
    ASSERT_NE(PageAddItem(page.data(), Item(8, 't'), 0, false, true), 0);
  }
  EXPECT_GT(PageGetFreeSpace(page.data()), 1000u);
  EXPECT_EQ(PageGetHeapFreeSpace(page.data()), 0u);
  EXPECT_EQ(PageAddItem(page.data(), Item(8, 't'), 0, false, true), 0);
  // Not so on other pages.
  EXPECT_EQ(PageAddItem(page.data(), Item(8, 't'), 0, false, false), 292);
  ASSERT_TRUE(PageIndexTupleDelete(page.data(), 292).ok());

  ItemIdSetUnused(*PageGetItemId(page.data(), 17));
  EXPECT_EQ(PageGetHeapFreeSpace(page.data()), 0u);  // no hint, no search
  PageSetHasFreeLinePointers(page.data());
  EXPECT_GT(PageGetHeapFreeSpace(page.data()), 1000u);
  EXPECT_EQ(PageAddItem(page.data(), Item(8, 'u'), 0, false, true), 17);
}

TEST(BufPage, WrongFreeLinesHintIsCleared) {
  Page page;
  PageInit(page.data(), 0);
  PageAddItem(page.data(), Item(8, 'a'), 0, false, true);
  PageSetHasFreeLinePointers(page.data());
  EXPECT_EQ(PageAddItem(page.data(), Item(8, 'b'), 0, false, true), 2);
  EXPECT_FALSE(PageHasFreeLinePointers(page.data()));
}

TEST(BufPage, OverwriteNeverTakesAUsedLinePointer) {
  Page page;
  PageInit(page.data(), 0);
  PageAddItem(page.data(), Item(8, 'a'), 0, false, true);
  EXPECT_EQ(PageAddItem(page.data(), Item(8, 'b'), 1, true, true), 0);
  EXPECT_EQ(PageAddItem(page.data(), Item(8, 'b'), 3, true, true), 0);
  EXPECT_EQ(PageAddItem(page.data(), Item(8, 'b'), 2, true, true), 2);
  ItemIdSetUnused(*PageGetItemId(page.data(), 1));
  EXPECT_EQ(PageAddItem(page.data(), Item(8, 'c'), 1, true, true), 1);
}

TEST(BufPage, TruncatingLinePointersKeepsOne) {
  Page page;
  PageInit(page.data(), 0);
  for (int i = 0; i < 5; ++i) {
    PageAddItem(page.data(), Item(8, 'a'), 0, false, true);
  }
  for (OffsetNumber i : {2, 4, 5}) {
    ItemIdSetUnused(*PageGetItemId(page.data(), i));
  }
  PageTruncateLinePointerArray(page.data());
  EXPECT_EQ(PageGetMaxOffsetNumber(page.data()), 3);
  EXPECT_TRUE(PageHasFreeLinePointers(page.data()));
  for (OffsetNumber i : {1, 3}) {
    ItemIdSetUnused(*PageGetItemId(page.data(), i));
  }
  PageTruncateLinePointerArray(page.data());
  EXPECT_EQ(PageGetMaxOffsetNumber(page.data()), 1);
}

TEST(BufPage, PrunableXidKeepsTheOlder) {
  Page page;
  PageInit(page.data(), 0);
  PageSetPrunable(page.data(), 100);
  PageSetPrunable(page.data(), 200);
  EXPECT_EQ(PageGetPruneXid(page.data()), 100u);
  PageSetPrunable(page.data(), 0xFFFFFFF0);  // older, around the wrap
  EXPECT_EQ(PageGetPruneXid(page.data()), 0xFFFFFFF0u);
}

TEST(BufPage, VerifyAcceptsZerosAndRejectsEveryFlippedBit) {
  Page page;
  EXPECT_TRUE(PageVerify(page.data(), 7, true).ok());
  page.bytes[5000] = 1;  // still "new", but not all zeros
  EXPECT_FALSE(PageVerify(page.data(), 7, true).ok());

  PageInit(page.data(), 0);
  PageAddItem(page.data(), Item(100, 'a'), 0, false, true);
  PageSetLSN(page.data(), 0x123456789ABCDEF0);
  EXPECT_EQ(PageGetLSN(page.data()), 0x123456789ABCDEF0u);
  PageSetChecksumInplace(page.data(), 7);
  EXPECT_TRUE(PageVerify(page.data(), 7, true).ok());
  EXPECT_FALSE(PageVerify(page.data(), 8, true).ok());  // at the wrong place
  EXPECT_TRUE(PageVerify(page.data(), 8, false).ok());
  for (size_t bit = 0; bit < size_t{BLCKSZ} * 8; bit += 97) {
    page.bytes[bit / 8] =
        static_cast<char>(page.bytes[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(PageVerify(page.data(), 7, true).ok()) << bit;
    page.bytes[bit / 8] =
        static_cast<char>(page.bytes[bit / 8] ^ (1 << bit % 8));
  }
}

TEST(BufPage, VerifyRejectsImpossibleHeaders) {
  Page page;
  PageInit(page.data(), 0);
  PageHeader(page.data())->pd_flags = 8;
  EXPECT_FALSE(PageVerify(page.data(), 0, false).ok());
  PageInit(page.data(), 0);
  PageHeader(page.data())->pd_upper = 9000;
  EXPECT_FALSE(PageVerify(page.data(), 0, false).ok());
  PageInit(page.data(), 0);
  PageHeader(page.data())->pd_special = 8190;
  PageHeader(page.data())->pd_upper = 8000;
  EXPECT_FALSE(PageVerify(page.data(), 0, false).ok());
}

TEST(BufPage, ChecksumCopyLeavesTheOriginalAlone) {
  Page page;
  alignas(8) char copy[BLCKSZ];
  PageInit(page.data(), 0);
  PageSetChecksumCopy(page.data(), 3, true, std::span<char, BLCKSZ>(copy));
  EXPECT_EQ(PageHeader(page.data())->pd_checksum, 0);
  EXPECT_TRUE(PageVerify(copy, 3, true).ok());
  EXPECT_NE(PageHeader(copy)->pd_checksum, 0);
}

}  // namespace
}  // namespace engine
