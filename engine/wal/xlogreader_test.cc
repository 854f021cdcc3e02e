// Where the log ends: cut, torn, stale and damaged bytes.
#include "engine/wal/xlogreader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstring>
#include <functional>
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
  bool is_long = total - kSizeOfXLogRecord - 2 > 255;
  std::string body(1, static_cast<char>(is_long ? XLR_BLOCK_ID_DATA_LONG
                                                : XLR_BLOCK_ID_DATA_SHORT));
  uint32_t length = total - kSizeOfXLogRecord - (is_long ? 5 : 2);
  body.append(reinterpret_cast<const char*>(&length), is_long ? 4 : 1);
  body.resize(total - kSizeOfXLogRecord, 's');
  XLogRecord header;
  header.xl_tot_len = total;
  header.xl_prev = prev;
  header.xl_rmid = kToyRmgrId;
  uint32_t crc = Crc32cComp(kCrc32cInit, body.data(), body.size());
  header.xl_crc =
      Crc32cFin(Crc32cComp(crc, &header, offsetof(XLogRecord, xl_crc)));
  std::string bytes(total, '\0');
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(header), body.data(), body.size());
  for (size_t i = 0; i < bytes.size(); ++i) log->at(at + i) = bytes[i];
}

// One way for a log to end: what is done to the bytes behind its last record,
// and what the reader says then, as PostgreSQL would.
struct EndOfLog {
  const char* what;
  std::function<void(Log*)> damage;
  std::string (*says)(const Log&);
};

template <typename Header>
void EditHeader(Log* log, XLogRecPtr page, void (*edit)(Header*)) {
  Header header;
  std::memcpy(&header, &log->at(page), sizeof(header));
  edit(&header);
  std::memcpy(&log->at(page), &header, sizeof(header));
}

XLogRecPtr LastStart(const Log& log) { return log.records.back().first; }
// The page on which the last record goes on.
XLogRecPtr NextPage(const Log& log) {
  return XLogPageStart(LastStart(log)) + XLOG_BLCKSZ;
}
std::string InSegment(const Log& log) {
  return fmt::format("in log segment 000000010000000000000001, offset {}",
                     NextPage(log) % kSegment);
}

TEST(XLogReader, EveryEndOfTheLogIsToldInPostgresqlsWords) {
  using Page = XLogPageHeaderData;
  const std::vector<EndOfLog> ends = {
      {"zero tail",
       [](Log* log) { std::memset(&log->at(LastStart(*log)), 0, 600); },
       [](const Log& log) {
         return fmt::format("invalid record length at {}: wanted 24, got 0",
                            LsnToString(LastStart(log)));
       }},
      {"unknown resource manager",
       [](Log* log) { log->at(LastStart(*log) + 17) = 99; },
       [](const Log& log) {
         return fmt::format("invalid resource manager ID 99 at {}",
                            LsnToString(LastStart(log)));
       }},
      {"another predecessor",
       [](Log* log) { log->at(LastStart(*log) + 9) ^= 0x40; },
       [](const Log& log) {
         return fmt::format("record with incorrect prev-link {} at {}",
                            LsnToString(log.records[1].first ^ 0x4000),
                            LsnToString(LastStart(log)));
       }},
      {"a byte of its data",
       [](Log* log) { log->at(LastStart(*log) + 100) ^= 1; },
       [](const Log& log) {
         return fmt::format(
             "incorrect resource manager data checksum in record at {}",
             LsnToString(LastStart(log)));
       }},
      {"a zero page where it goes on",
       [](Log* log) { std::memset(&log->at(NextPage(*log)), 0, XLOG_BLCKSZ); },
       [](const Log& log) {
         return "invalid magic number 0000 " + InSegment(log);
       }},
      {"unknown flags of that page",
       [](Log* log) {
         EditHeader<Page>(log, NextPage(*log),
                          [](Page* p) { p->xlp_info |= 0x100; });
       },
       [](const Log& log) {
         return "invalid info bits 0105 " + InSegment(log);
       }},
      {"that page as it was a segment ago",
       [](Log* log) {
         EditHeader<Page>(log, NextPage(*log),
                          [](Page* p) { p->xlp_pageaddr -= kSegment; });
       },
       [](const Log& log) {
         return fmt::format("unexpected pageaddr {} {}",
                            LsnToString(NextPage(log) - kSegment),
                            InSegment(log));
       }},
      {"that page of an older time line",
       [](Log* log) {
         EditHeader<Page>(log, NextPage(*log), [](Page* p) { p->xlp_tli = 0; });
       },
       [](const Log& log) {
         return "out-of-sequence timeline ID 0 (after 1) " + InSegment(log);
       }},
      {"that page begins with a new record",
       [](Log* log) {
         EditHeader<Page>(log, NextPage(*log), [](Page* p) {
           p->xlp_info &= ~XLP_FIRST_IS_CONTRECORD;
         });
       },
       [](const Log& log) {
         return fmt::format("there is no contrecord flag at {}",
                            LsnToString(LastStart(log)));
       }},
      {"that page goes on with another record",
       [](Log* log) {
         EditHeader<Page>(log, NextPage(*log),
                          [](Page* p) { p->xlp_rem_len += 8; });
       },
       [](const Log& log) {
         uint32_t rest = 24 + 5 + 9000 -
                         static_cast<uint32_t>(NextPage(log) - LastStart(log));
         return fmt::format("invalid contrecord length {} (expected {}) at {}",
                            rest + 8, rest, LsnToString(LastStart(log)));
       }},
  };
  for (const EndOfLog& end : ends) {
    SCOPED_TRACE(end.what);
    Log log = MakeLog({100, 9000});
    ASSERT_EQ(log.records.size(), 3u);
    ASSERT_GT(log.records.back().second, NextPage(log));
    std::string says = end.says(log);
    end.damage(&log);
    std::string why;
    EXPECT_EQ(log.End(&why), log.records[1].second);
    EXPECT_EQ(why, says);
  }
}

TEST(XLogReader, ARecordThatGoesOnInAMissingSegmentEndsTheLog) {
  Log log = MakeLog({40000, 30000});
  ASSERT_GT(log.records.back().second, 2 * kSegment);
  log.segments.erase(2);
  XLogReaderState reader = log.Reader();
  reader.BeginRead(kFirstRecord);
  while (reader.ReadRecord()) {
  }
  EXPECT_EQ(reader.EndRecPtr(), log.records[1].second);
  EXPECT_EQ(reader.page_status().code(), env::Code::kNotFound);
  EXPECT_EQ(reader.missingContrecPtr(), 2 * kSegment);
}

// The log was filled to a page's end, and the next page got its header only.
TEST(XLogReader, APageWithNothingButAHeaderEndsTheLog) {
  Log log = MakeLog({100, 9000});
  XLogRecPtr page = XLogPageStart(log.records.back().second) + XLOG_BLCKSZ;
  auto [last, end] = log.records.back();
  PutRecord(&log, end, last, static_cast<uint32_t>(page - end));
  XLogPageHeaderData header;
  header.xlp_magic = XLOG_PAGE_MAGIC;
  header.xlp_tli = 1;
  header.xlp_pageaddr = page;
  std::memcpy(&log.at(page), &header, sizeof(header));
  std::string why;
  EXPECT_EQ(log.End(&why), page);
  EXPECT_EQ(why, fmt::format("invalid record length at {}: wanted 24, got 0",
                             LsnToString(page + kSizeOfXLogShortPHD)));
  // Without it the log ends at the same place, for another reason.
  std::memset(&log.at(page), 0, sizeof(header));
  EXPECT_EQ(log.End(&why), page);
  EXPECT_EQ(why.rfind("invalid magic number 0000", 0), 0u) << why;
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
