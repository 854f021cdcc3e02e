// Where the log ends: cut, torn, stale and damaged bytes.
#include "engine/wal/xlogreader.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "engine/common/checksum.h"
#include "engine/common/sites.h"
#include "engine/wal/wal_test_node.h"
#include "engine/wal/xlog.h"
#include "engine/wal/xlog_internal.h"
#include "engine/wal/xlog_redo.h"
#include "engine/wal/xloginsert.h"
#include "engine/wal/xlogrecord.h"

namespace engine {
namespace {

constexpr uint32_t kSegment = 64 << 10;
constexpr XLogRecPtr kFirstRecord = kSegment + kSizeOfXLogLongPHD;

struct Log {
  uint64_t sysid = 0;
  std::map<XLogSegNo, std::string> segments;
  // Start and end of each record, in order.
  std::vector<std::pair<XLogRecPtr, XLogRecPtr>> records;

  char& at(XLogRecPtr lsn) { return segments[lsn / kSegment][lsn % kSegment]; }
  XLogReaderState Reader() {
    return XLogReaderState(
        kSegment, sysid,
        PagesOf([this](XLogSegNo n) { return segments[n]; }, kSegment));
  }
  // Reads from the first record on; returns the end of the last valid one and
  // why the log ended there.
  XLogRecPtr End(std::string* why) {
    XLogReaderState reader = Reader();
    reader.BeginRead(kFirstRecord);
    while (reader.ReadRecord()) {
    }
    *why = reader.error_message();
    return reader.EndRecPtr();
  }
};

// A log of records of the given lengths (of main data), two segments at most.
Log MakeLog(const std::vector<size_t>& lengths) {
  WalTestOptions options;
  options.config.wal_segment_size = kSegment;
  options.config.wal_buffers = 4;
  WalTestNode node(options);
  Log log;
  log.sysid = options.config.system_identifier;
  node.RunToEnd({[&](Backend& be) {
    for (size_t i = 0; i < lengths.size(); ++i) {
      std::string bytes(lengths[i], static_cast<char>('A' + i % 26));
      XLogInsertion record(be);
      record.RegisterData(bytes.data(), bytes.size());
      record.Insert(kToyRmgrId, 0x20);
    }
    XLogFlush(be, GetXLogInsertRecPtr(be));
  }});
  log.segments[1] = node.SegmentBytes(1);
  XLogRecPtr end = node.inserted().back().first + 200000;
  for (XLogSegNo n = 2; n <= end / kSegment; ++n) {
    if (node.disk().PeekExists(XLogFilePath(1, n, kSegment))) {
      log.segments[n] = node.SegmentBytes(n);
    }
  }
  XLogReaderState reader = log.Reader();
  reader.BeginRead(kFirstRecord);
  while (reader.ReadRecord()) {
    log.records.emplace_back(reader.ReadRecPtr(), reader.EndRecPtr());
  }
  EXPECT_EQ(log.records.size(), lengths.size() + 1);
  return log;
}

// The end of the last record that lies wholly before lsn.
XLogRecPtr LastEndBefore(const Log& log, XLogRecPtr lsn) {
  XLogRecPtr end = 0;
  for (const auto& [start, stop] : log.records) {
    if (stop <= lsn) end = stop;
  }
  return end;
}

TEST(XLogReader, ALogCutAtAnyByteEndsAtTheLastWholeRecord) {
  // Several records on a page, one over three pages, then small ones again.
  Log whole = MakeLog({10, 100, 7900, 20000, 1, 300, 30, 40000, 77, 5});
  XLogRecPtr end = whole.records.back().second;
  // The padding behind a record is zeros anyway.
  for (XLogRecPtr cut = whole.records[1].first; cut < end;
       cut += cut % 8192 < 600 || cut % 97 == 0 ? 1 : 61) {
    Log log = whole;
    for (auto& [segno, bytes] : log.segments) {
      XLogRecPtr begin = segno * kSegment;
      if (cut < begin + kSegment) {
        size_t from = cut > begin ? cut - begin : 0;
        std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(from),
                  bytes.end(), '\0');
      }
    }
    std::string why;
    XLogRecPtr got = log.End(&why);
    XLogRecPtr want = LastEndBefore(whole, cut);
    // A cut through padding, or through zeros, loses nothing.
    bool lossless = false;
    for (const auto& [start, stop] : whole.records) {
      if (cut < stop && cut + 8 > stop && got == stop) lossless = true;
    }
    ASSERT_TRUE(got == want || lossless)
        << LsnToString(cut) << ": ends at " << LsnToString(got) << ", not "
        << LsnToString(want) << " (" << why << ")";
    ASSERT_NE(why, "");
  }
}

TEST(XLogReader, AnyChangedByteEndsTheLogThere) {
  Log whole = MakeLog({10, 100, 7900, 20000, 1, 300, 30});
  EXPECT_TRUE(rc::check([&] {
    XLogRecPtr end = whole.records.back().second;
    XLogRecPtr at = *rc::gen::inRange(kFirstRecord, end);
    auto flip = *rc::gen::inRange<int>(1, 256);
    Log log = whole;
    log.at(at) = static_cast<char>(log.at(at) ^ flip);
    std::string why;
    XLogRecPtr got = log.End(&why);
    bool in_header =
        at % XLOG_BLCKSZ < XLogPageHeaderSizeAt(XLogPageStart(at), kSegment);
    bool in_padding = false;
    for (const auto& [start, stop] : whole.records) {
      in_padding = in_padding || (at < stop && at + 8 > stop);
    }
    // Every byte of a record counts. In page headers the flag of a page that
    // may be removed does not, and a later timeline is found on the next page.
    RC_ASSERT(got <= at || in_header || in_padding);
    // Nothing valid is lost before it.
    RC_ASSERT(got >= LastEndBefore(whole, XLogPageStart(at)));
    RC_ASSERT(got == end || !why.empty());
  }));
}

// Puts a record's header and body in place by hand.
void PutRecord(Log* log, XLogRecPtr at, XLogRecPtr prev, uint32_t total) {
  std::string bytes(total, '\0');
  std::string body(1, static_cast<char>(XLR_BLOCK_ID_DATA_SHORT));
  body.push_back(static_cast<char>(total - kSizeOfXLogRecord - 2));
  body.resize(total - kSizeOfXLogRecord, 's');
  XLogRecord header;
  header.xl_tot_len = total;
  header.xl_prev = prev;
  header.xl_rmid = kToyRmgrId;
  uint32_t crc = Crc32cComp(kCrc32cInit, body.data(), body.size());
  header.xl_crc =
      Crc32cFin(Crc32cComp(crc, &header, offsetof(XLogRecord, xl_crc)));
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(header), body.data(), body.size());
  for (size_t i = 0; i < bytes.size(); ++i) log->at(at + i) = bytes[i];
}

TEST(XLogReader, AStaleRecordWithAnotherPredecessorIsNotRead) {
  Log log = MakeLog({10, 20});
  auto [last, end] = log.records.back();
  std::string why;
  PutRecord(&log, end, last - 8, 64);
  EXPECT_EQ(log.End(&why), end);
  EXPECT_NE(why.find("incorrect prev-link"), std::string::npos) << why;
  // The same bytes with the right link are the next record.
  PutRecord(&log, end, last, 64);
  EXPECT_EQ(log.End(&why), end + 64);
}

TEST(XLogReader, APageOfARecycledSegmentEndsTheLog) {
  Log log = MakeLog({100, 9000, 9000});
  // The page where the third record goes on, as it was two segments ago.
  XLogRecPtr page = XLogPageStart(log.records.back().second);
  ASSERT_GT(page, log.records.back().first);
  XLogPageHeaderData header;
  std::memcpy(&header, &log.at(page), sizeof(header));
  header.xlp_pageaddr -= 2 * kSegment;
  std::memcpy(&log.at(page), &header, sizeof(header));
  std::string why;
  EXPECT_EQ(log.End(&why), log.records[log.records.size() - 2].second);
  EXPECT_NE(why.find("unexpected pageaddr"), std::string::npos) << why;
}

TEST(XLogReader, AnotherSystemsSegmentIsRefused) {
  Log log = MakeLog({100});
  log.sysid += 1;
  std::string why;
  log.End(&why);
  EXPECT_NE(why.find("WAL file is from different database system"),
            std::string::npos)
      << why;
}

TEST(XLogReader, AnUnfinishedRecordIsReportedForOverwriting) {
  Log log = MakeLog({100, 20000});
  auto [start, end] = log.records.back();
  XLogRecPtr lost = XLogPageStart(start) + 2 * XLOG_BLCKSZ;
  ASSERT_LT(lost, end);
  std::memset(&log.at(lost), 0, XLOG_BLCKSZ);
  XLogReaderState reader = log.Reader();
  reader.BeginRead(kFirstRecord);
  while (reader.ReadRecord()) {
  }
  EXPECT_EQ(reader.EndRecPtr(), log.records[log.records.size() - 2].second);
  EXPECT_EQ(reader.abortedRecPtr(), start);
  EXPECT_EQ(reader.missingContrecPtr(), lost);
}

// Every length and offset in a record is checked before it is used: random
// bodies under a right CRC decode or are refused, within bounds.
TEST(XLogReader, RandomBodiesUnderAValidCrcAreHandled) {
  Log base = MakeLog({200});
  auto [start, end] = base.records.back();
  EXPECT_TRUE(rc::check([&base, at = start] {
    Log log = base;
    auto body = *rc::gen::container<std::string>(rc::gen::oneOf(
        rc::gen::arbitrary<char>(),
        rc::gen::element<char>(0, 1, 2, 0x10, 0x20, '\xFF', '\xFE', '\xFD')));
    body.resize(std::min<size_t>(body.size(), 200));
    XLogRecord header;
    std::memcpy(&header, &log.at(at), sizeof(header));
    header.xl_tot_len = static_cast<uint32_t>(kSizeOfXLogRecord + body.size());
    uint32_t crc = Crc32cComp(kCrc32cInit, body.data(), body.size());
    header.xl_crc =
        Crc32cFin(Crc32cComp(crc, &header, offsetof(XLogRecord, xl_crc)));
    std::memcpy(&log.at(at), &header, sizeof(header));
    if (!body.empty()) {
      std::memcpy(&log.at(at) + sizeof(header), body.data(), body.size());
    }
    XLogReaderState reader = log.Reader();
    reader.BeginRead(at);
    if (!reader.ReadRecord()) {
      RC_ASSERT(!reader.error_message().empty());
      return;
    }
    size_t used = reader.main_data().size();
    for (int i = 0; i <= reader.max_block_id(); ++i) {
      auto id = static_cast<uint8_t>(i);
      if (!reader.HasBlock(id)) continue;
      used += reader.block(id).image.size() + reader.block(id).data.size();
      std::string page(BLCKSZ, 'x');
      static_cast<void>(reader.RestoreBlockImage(
          id, std::span<char, BLCKSZ>(page.data(), BLCKSZ)));
    }
    RC_ASSERT(used <= body.size());
  }));
}

}  // namespace
}  // namespace engine
