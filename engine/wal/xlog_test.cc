// Inserting, writing and flushing: what ends up in the segment files is the
// chain of records that was inserted.
#include "engine/wal/xlog.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "engine/common/sites.h"
#include "engine/wal/fpi_compression.h"
#include "engine/wal/wal_test_node.h"
#include "engine/wal/xlog_ctl.h"
#include "engine/wal/xlog_internal.h"
#include "engine/wal/xlog_redo.h"
#include "engine/wal/xloginsert.h"
#include "engine/wal/xlogrecord.h"

namespace engine {
namespace {

constexpr uint32_t kSmallSegment = 64 << 10;

WalTestOptions SmallSegments(uint64_t seed = 1) {
  WalTestOptions options;
  options.config.wal_segment_size = kSmallSegment;
  options.config.wal_buffers = 4;
  options.config.shared_buffers = 16;
  options.config.max_wal_size_bytes = 64 * kSmallSegment;
  options.config.min_wal_size_bytes = 2 * kSmallSegment;
  options.seed = seed;
  return options;
}

XLogPageRead DiskPages(WalTestNode& node) {
  return PagesOf([&node](XLogSegNo segno) { return node.SegmentBytes(segno); },
                 node.config().wal_segment_size);
}

// Start and end of every valid record from the first one on.
std::vector<std::pair<XLogRecPtr, XLogRecPtr>> ReadChain(WalTestNode& node) {
  uint32_t segsize = node.config().wal_segment_size;
  XLogReaderState reader(segsize, node.config().system_identifier,
                         DiskPages(node));
  reader.BeginRead(segsize + kSizeOfXLogLongPHD);
  std::vector<std::pair<XLogRecPtr, XLogRecPtr>> chain;
  while (reader.ReadRecord()) {
    chain.emplace_back(reader.ReadRecPtr(), reader.EndRecPtr());
  }
  return chain;
}

TEST(XLog, BytePositionsAndPointersAreInverse) {
  EXPECT_TRUE(rc::check([] {
    uint32_t segsize = 1u << *rc::gen::inRange(16, 25);
    uint64_t bytepos = *rc::gen::inRange<uint64_t>(0, uint64_t{1} << 33);
    XLogRecPtr start = XLogBytePosToRecPtr(bytepos, segsize);
    XLogRecPtr end = XLogBytePosToEndRecPtr(bytepos, segsize);
    RC_ASSERT(XLogRecPtrToBytePos(start, segsize) == bytepos);
    RC_ASSERT(XLogRecPtrToBytePos(end, segsize) == bytepos);
    // A record never starts in a header; an end may be a page's start.
    RC_ASSERT(start % XLOG_BLCKSZ >=
              XLogPageHeaderSizeAt(XLogPageStart(start), segsize));
    RC_ASSERT(end == start || end == XLogPageStart(start));
    // The next byte comes later, and a header apart at most.
    XLogRecPtr next = XLogBytePosToRecPtr(bytepos + 1, segsize);
    RC_ASSERT(next > start && next - start <= 1 + kSizeOfXLogLongPHD);
  }));
}

TEST(XLog, NamesCarryTimelineAndSegment) {
  EXPECT_EQ(XLogFileName(1, 1, 16 << 20), "000000010000000000000001");
  EXPECT_EQ(XLogFileName(3, 256, 16 << 20), "000000030000000100000000");
  EXPECT_EQ(XLogFileName(1, 65536, 64 << 10), "000000010000000100000000");
  EXPECT_TRUE(IsXLogFileName("0000000100000000000000AF"));
  EXPECT_FALSE(IsXLogFileName("0000000100000000000000af"));
  EXPECT_FALSE(IsXLogFileName("xlogtemp.17"));
}

// What a test registers for one block.
struct BlockPlan {
  bool image;
  bool keep_data;
  bool noise;  // does not compress
  uint16_t lower;
  uint16_t upper;
  std::string data;
};

BlockPlan GenBlock() {
  BlockPlan plan;
  plan.image = *rc::gen::arbitrary<bool>();
  plan.keep_data = *rc::gen::arbitrary<bool>();
  plan.noise = *rc::gen::arbitrary<bool>();
  plan.lower = *rc::gen::inRange<uint16_t>(0, BLCKSZ);
  plan.upper = *rc::gen::inRange<uint16_t>(0, BLCKSZ + 2);
  plan.data = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  return plan;
}

std::string PageFor(const BlockPlan& plan, size_t number) {
  std::string page(BLCKSZ, '\0');
  uint32_t noise = static_cast<uint32_t>(number) + 1;
  for (size_t i = kSizeOfPageHeaderData; i < page.size(); ++i) {
    noise = noise * 1664525 + 1013904223;
    page[i] = static_cast<char>(plan.noise ? noise >> 24 : i * 31 + number);
  }
  PageHeader(page.data())->pd_lower = plan.lower;
  PageHeader(page.data())->pd_upper = plan.upper;
  return page;
}

// The page as an image restores it.
std::string WithoutHole(const BlockPlan& plan, std::string page) {
  if (plan.lower >= kSizeOfPageHeaderData && plan.lower < plan.upper &&
      plan.upper <= BLCKSZ) {
    std::fill(page.begin() + plan.lower, page.begin() + plan.upper, '\0');
  }
  return page;
}

TEST(XLog, ARecordComesBackAsItWasRegistered) {
  EXPECT_TRUE(rc::check([] {
    std::vector<BlockPlan> blocks;
    auto nblocks = *rc::gen::inRange<size_t>(0, 6);
    for (size_t i = 0; i < nblocks; ++i) blocks.push_back(GenBlock());
    auto main_size = *rc::gen::element<size_t>(0, 1, 254, 255, 256, 3000, 8167,
                                               8168, 40000, 150000);
    auto skip = *rc::gen::inRange<size_t>(0, 9000);
    std::string main(main_size, 'm');
    std::vector<std::string> pages;
    for (size_t i = 0; i < nblocks; ++i) pages.push_back(PageFor(blocks[i], i));

    WalTestOptions options = SmallSegments();
    options.config.wal_compression = *rc::gen::element(
        WalCompression::kOff, WalCompression::kPglz, WalCompression::kLz4);
    WalTestNode node(options);
    XLogRecPtr end = 0;
    node.RunToEnd({[&](Backend& be) {
      // Moves the record to anywhere on its page.
      XLogInsertion filler(be);
      std::string bytes(skip, 'f');
      filler.RegisterData(bytes.data(), bytes.size());
      filler.Insert(RM_XLOG_ID, XLOG_NOOP);
      SetXLogXid(be, 77);
      XLogInsertion record(be);
      record.RegisterData(main.data(), main.size());
      for (size_t i = 0; i < nblocks; ++i) {
        BufferTag tag{kToyRel, kMainFork, static_cast<BlockNumber>(i * 7)};
        uint8_t flags = REGBUF_STANDARD;
        flags |= blocks[i].image ? REGBUF_FORCE_IMAGE : REGBUF_NO_IMAGE;
        if (blocks[i].keep_data) flags |= REGBUF_KEEP_DATA;
        auto id = static_cast<uint8_t>(i * 5);
        record.RegisterBlock(id, tag, pages[i].data(), flags);
        size_t half = blocks[i].data.size() / 2;
        record.RegisterBufData(id, blocks[i].data.data(), half);
        record.RegisterBufData(id, blocks[i].data.data() + half,
                               blocks[i].data.size() - half);
      }
      end = record.Insert(kToyRmgrId, 0x30 | XLR_SPECIAL_REL_UPDATE);
      XLogFlush(be, end);
    }});
    RC_ASSERT(!::testing::Test::HasFailure());

    XLogReaderState reader(kSmallSegment, node.config().system_identifier,
                           DiskPages(node));
    reader.BeginRead(kSmallSegment + kSizeOfXLogLongPHD);
    // Checkpoint, filler, record, then the end of the log.
    for (int i = 0; i < 3; ++i) RC_ASSERT(reader.ReadRecord());
    RC_ASSERT(reader.EndRecPtr() == end);
    RC_ASSERT(reader.rmid() == kToyRmgrId);
    RC_ASSERT(reader.info() == (0x30 | XLR_SPECIAL_REL_UPDATE));
    RC_ASSERT(reader.xid() == 77u);
    RC_ASSERT(reader.main_data() == main);
    for (size_t i = 0; i < nblocks; ++i) {
      auto id = static_cast<uint8_t>(i * 5);
      RC_ASSERT(reader.HasBlock(id));
      const DecodedBkpBlock& block = reader.block(id);
      RC_ASSERT(block.tag.rnode == kToyRel);
      RC_ASSERT(block.tag.blockNum == i * 7);
      RC_ASSERT(block.has_image == blocks[i].image);
      bool data_kept = !blocks[i].image || blocks[i].keep_data;
      RC_ASSERT(block.data == (data_kept ? blocks[i].data : ""));
      if (!blocks[i].image) continue;
      std::string restored(BLCKSZ, 'x');
      RC_ASSERT(reader
                    .RestoreBlockImage(
                        id, std::span<char, BLCKSZ>(restored.data(), BLCKSZ))
                    .ok());
      RC_ASSERT(restored == WithoutHole(blocks[i], pages[i]));
      uint8_t method = block.bimg_info & BKPIMAGE_COMPRESSED;
      RC_ASSERT(method == 0 ||
                method == CompressionBit(options.config.wal_compression));
      // Noise is logged as it is; so is nothing else that is long enough.
      size_t raw = BLCKSZ - size_t{block.hole_length};
      if (blocks[i].noise && raw > 7000) RC_ASSERT(method == 0);
      bool compresses = options.config.wal_compression != WalCompression::kOff;
      if (compresses && !blocks[i].noise && raw > 2048) RC_ASSERT(method != 0);
      RC_ASSERT(method == 0 || block.image.size() + 2 < raw);
    }
    RC_ASSERT(!reader.ReadRecord());
  }));
}

TEST(XLog, OnlyTheFirstChangeAfterTheRedoPointerCarriesAnImage) {
  WalTestNode node(SmallSegments());
  node.RunToEnd({[](Backend& be) {
                  ToyExtend(be, 1);
                  ToySet(be, 0, 0, 1);
                  PanicIfError(be, RequestCheckpoint(
                                       be, CHECKPOINT_FORCE | CHECKPOINT_WAIT));
                  ToySet(be, 0, 0, 2);
                  ToySet(be, 0, 0, 3);
                  XLogFlush(be, GetXLogInsertRecPtr(be));
                }},
                /*checkpointer=*/true);
  std::vector<bool> images;
  XLogReaderState reader(kSmallSegment, node.config().system_identifier,
                         DiskPages(node));
  reader.BeginRead(kSmallSegment + kSizeOfXLogLongPHD);
  while (reader.ReadRecord()) {
    if (reader.rmid() == kToyRmgrId)
      images.push_back(reader.block(0).has_image);
  }
  // Init, set, [checkpoint], set with image, set.
  EXPECT_EQ(images, (std::vector<bool>{false, false, true, false}));
}

// Clients on a handful of pages, with records of many sizes.
std::vector<std::function<void(Backend&)>> Inserters(int clients, int records) {
  std::vector<std::function<void(Backend&)>> out;
  for (int c = 0; c < clients; ++c) {
    out.push_back([c, records](Backend& be) {
      for (int i = 1; i <= records; ++i) {
        size_t ballast = static_cast<size_t>((i * 7919 + c * 104729) % 3) == 0
                             ? static_cast<size_t>(i * 997 % 20000)
                             : static_cast<size_t>(i * 13 % 100);
        XLogRecPtr end = ToySet(be, static_cast<BlockNumber>(c), i % 8,
                                static_cast<uint64_t>(i), ballast);
        if (i % 3 == 0) XLogFlush(be, end);
      }
      XLogFlush(be, GetXLogInsertRecPtr(be));
    });
  }
  return out;
}

void ExpectChainIsWhatWasInserted(WalTestNode& node) {
  std::vector<std::pair<XLogRecPtr, XLogRecPtr>> chain = ReadChain(node);
  std::map<XLogRecPtr, std::string> inserted(node.inserted().begin(),
                                             node.inserted().end());
  // The chain begins with the checkpoint that bootstrap wrote by hand.
  ASSERT_EQ(chain.size(), inserted.size() + 1);
  for (size_t i = 1; i < chain.size(); ++i) {
    EXPECT_EQ(inserted.count(chain[i].first), 1u) << i;
  }
}

TEST(XLog, ConcurrentInsertersLeaveOneChain) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    WalTestOptions options = SmallSegments(seed);
    options.config.wal_insert_locks = 1 + static_cast<int>(seed % 4);
    options.strategy.switch_denominator = 1 + static_cast<uint32_t>(seed % 3);
    WalTestNode node(options);
    node.RunToEnd({[](Backend& be) { ToyExtend(be, 5); }}, true);
    node.RunToEnd(Inserters(5, 40));
    if (HasFatalFailure()) return;
    ExpectChainIsWhatWasInserted(node);
  }
}

TEST(XLog, FlushedRecordsSurviveAPowerLoss) {
  WalTestNode node(SmallSegments());
  XLogRecPtr flushed = 0;
  node.RunToEnd({[&](Backend& be) {
    ToyExtend(be, 2);
    for (int i = 0; i < 50; ++i) {
      flushed = ToySet(be, 0, 1, static_cast<uint64_t>(i), 700);
    }
    XLogFlush(be, flushed);
    EXPECT_FALSE(XLogNeedsFlush(be, flushed));
    EXPECT_EQ(GetFlushRecPtr(be), flushed);
    EXPECT_TRUE(XLogNeedsFlush(be, ToySet(be, 1, 1, 1)));
  }});
  node.PowerLoss();
  EXPECT_GE(ReadChain(node).back().second, flushed);
}

TEST(XLog, TheWalWriterFlushesAsynchronousCommits) {
  WalTestNode node(SmallSegments());
  node.RunToEnd({[](Backend& be) {
    ToyExtend(be, 1);
    EXPECT_FALSE(XLogBackgroundFlush(be));  // no full page, nobody asked
    XLogRecPtr end = ToySet(be, 0, 0, 1);
    XLogSetAsyncXactLSN(be, end);
    EXPECT_TRUE(XLogBackgroundFlush(be));
    EXPECT_FALSE(XLogNeedsFlush(be, end));
    EXPECT_FALSE(XLogBackgroundFlush(be));
    // Two full pages and a bit: the pages go, the bit stays.
    end = ToySet(be, 0, 0, 2, 17000);
    EXPECT_TRUE(XLogBackgroundFlush(be));
    EXPECT_EQ(GetFlushRecPtr(be), XLogPageStart(end));
  }});
}

}  // namespace
}  // namespace engine
