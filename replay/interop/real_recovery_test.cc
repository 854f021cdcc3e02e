// A real PostgreSQL 15 recovers crashed directories as Musth does.
//
// Each crashed directory is recovered twice: by Musth over real files, and by
// the server. Both must replay the same records from the same checkpoint to the
// same end, leave the same bytes in every relation file and in the commit log,
// log the same end-of-recovery checkpoint, and answer SELECT alike. pageinspect
// and amcheck look at the result.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/common/config.h"
#include "engine/sql/session.h"
#include "properties/cluster_image.h"
#include "properties/decoders/page_decoder.h"
#include "properties/directory_view.h"
#include "properties/disk_catalog.h"
#include "replay/interop/for_each_export.h"
#include "replay/interop/outside_program.h"
#include "replay/interop/real_server.h"
#include "replay/local_node.h"

namespace replay {
namespace {

namespace fs = std::filesystem;
using properties::CheckpointFields;
using properties::ClusterImage;
using properties::ControlFile;
using properties::DecodedPage;
using properties::DecodedRelation;
using properties::DirectoryView;
using properties::kPageBytes;
using properties::TupleHeader;

using Relations = std::map<uint32_t, DecodedRelation>;
using RowTexts = std::vector<std::string>;  // sorted, columns parted by '|'

// What one recovery left. The directory's files are those of the moment before
// the first statement of a user.
struct Recovered {
  std::unique_ptr<DirectoryView> files;
  std::unique_ptr<ClusterImage> image;
  std::map<std::string, RowTexts> rows;  // by table
};

Recovered Look(const std::string& directory) {
  Recovered recovered;
  recovered.files = std::make_unique<DirectoryView>(directory);
  recovered.image = std::make_unique<ClusterImage>(recovered.files.get(), true);
  // Read everything now: the server goes on to change it.
  for (const char* dir : {"base/5", "pg_xact"}) {
    for (const std::string& name : recovered.files->List(dir)) {
      recovered.files->Read(std::string(dir) + "/" + name);
    }
  }
  return recovered;
}

std::vector<const DecodedRelation*> UserTables(const Relations& relations) {
  std::vector<const DecodedRelation*> tables;
  for (const auto& [filenode, relation] : relations) {
    if (filenode >= properties::kFirstUserOid && relation.kind == 'r') {
      tables.push_back(&relation);
    }
  }
  return tables;
}

// Recovers `directory` with Musth; its files as the recovery left them are then
// in `snapshot`.
env::Status RecoverWithMusth(const std::string& directory,
                             const ControlFile& crashed,
                             const std::string& snapshot,
                             std::map<std::string, RowTexts>* rows) {
  engine::Config config;
  config.wal_segment_size = crashed.wal_segment_bytes;
  config.data_checksums = crashed.data_checksum_version != 0;
  config.full_page_writes = crashed.checkpoint_copy.full_page_writes;
  config.system_identifier = crashed.system_identifier;
  auto body = [&](engine::Session& session) {
    fs::copy(directory, snapshot, fs::copy_options::recursive);
    std::vector<engine::StatementResult> tables = session.ExecuteText(
        "SELECT relname FROM pg_class WHERE oid >= 16384 AND relkind = 'r'");
    ASSERT_TRUE(tables.at(0).status.ok()) << tables.at(0).status.ToString();
    for (const auto& table : tables[0].rows) {
      std::vector<engine::StatementResult> result =
          session.ExecuteText("SELECT * FROM " + *table[0]);
      ASSERT_TRUE(result.at(0).status.ok()) << result.at(0).status.ToString();
      RowTexts& texts = (*rows)[*table[0]];
      for (const auto& row : result[0].rows) {
        std::string text;
        for (const auto& cell : row) text += "|" + cell.value_or("null");
        texts.push_back(text);
      }
      std::sort(texts.begin(), texts.end());
    }
  };
  return RunOnDirectory(directory, config, body, /*crash=*/true);
}

// Where the relation files first differ, byte for byte; empty if nowhere.
std::string FirstDifference(const Recovered& musth, const Recovered& real) {
  for (const std::string& name : musth.files->List("base/5")) {
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::string path = "base/5/" + name;
    const std::string* ours = musth.files->Read(path);
    const std::string* theirs = real.files->Read(path);
    if (ours == nullptr || theirs == nullptr) {
      return path + " is in one directory only";
    }
    if (ours->size() != theirs->size()) {
      return fmt::format("{} has {} bytes with Musth, {} with PostgreSQL", path,
                         ours->size(), theirs->size());
    }
    if (*ours == *theirs) continue;
    size_t at = static_cast<size_t>(
        std::mismatch(ours->begin(), ours->end(), theirs->begin()).first -
        ours->begin());
    return fmt::format(
        "{} block {} byte {} is {:#04x} with Musth, {:#04x} with PostgreSQL",
        path, at / kPageBytes, at % kPageBytes,
        static_cast<unsigned char>((*ours)[at]),
        static_cast<unsigned char>((*theirs)[at]));
  }
  return "";
}

// How each transaction ended, and what the two say that comes next.
void CompareTransactions(const Recovered& musth, const Recovered& real) {
  const CheckpointFields& ours = musth.image->control()->checkpoint_copy;
  const CheckpointFields& theirs = real.image->control()->checkpoint_copy;
  EXPECT_EQ(ours.redo, theirs.redo);
  EXPECT_EQ(ours.timeline, theirs.timeline);
  EXPECT_EQ(ours.full_page_writes, theirs.full_page_writes);
  EXPECT_EQ(ours.next_xid, theirs.next_xid);
  EXPECT_EQ(ours.next_oid, theirs.next_oid);
  EXPECT_EQ(ours.oldest_xid, theirs.oldest_xid);
  EXPECT_EQ(ours.oldest_active_xid, theirs.oldest_active_xid);
  EXPECT_EQ(musth.image->control()->checkpoint,
            real.image->control()->checkpoint);
  for (uint32_t xid = 3; xid < ours.next_xid; ++xid) {
    std::optional<properties::ClogStatus> our_end =
        musth.image->clog().StatusOf(xid);
    std::optional<properties::ClogStatus> their_end =
        real.image->clog().StatusOf(xid);
    ASSERT_TRUE(our_end.has_value() && their_end.has_value()) << xid;
    ASSERT_EQ(ClogStatusName(*our_end), ClogStatusName(*their_end))
        << "transaction " << xid;
  }
}

// What redo has to do, from Musth's decoder.
struct Redo {
  uint64_t first = 0;  // start of the first record; 0 if there is none
  uint64_t last = 0;
  uint64_t first_heap = 0;  // behind the checkpoint
  bool needed = false;      // the cluster was not shut down
};

Redo FindRedo(const std::string& directory) {
  DirectoryView files(directory);
  ClusterImage image(&files, false);
  properties::WalDecoder wal(&files, image.wal_layout());
  wal.BeginRead(image.control()->checkpoint_copy.redo);
  Redo redo;
  redo.needed = image.control()->state != properties::ClusterState::kShutDown;
  while (wal.Next()) {
    uint64_t start = wal.record().start;
    redo.last = start;
    // It begins behind a shutdown checkpoint, or at an online one's redo.
    if (redo.first == 0 && start != image.control()->checkpoint) {
      redo.first = start;
    }
    if (redo.first_heap == 0 && start > image.control()->checkpoint &&
        wal.record().rmid == properties::kRmHeap) {
      redo.first_heap = start;
    }
  }
  return redo;
}

// Where the server says that redo began and ended.
void CompareRedo(const ExportedSeed& seed, const std::string& log) {
  Redo redo = FindRedo(seed.directory);
  std::string wanted =
      redo.needed ? "redo is not required" : "database system was shut down at";
  if (redo.first != 0) {
    wanted = "redo starts at " + properties::LsnToText(redo.first) + "\n";
  }
  EXPECT_NE(log.find(wanted), std::string::npos) << wanted << "\n" << log;
  if (redo.first == 0) return;
  wanted = "redo done at " + properties::LsnToText(redo.last) + " ";
  EXPECT_NE(log.find(wanted), std::string::npos) << wanted << "\n" << log;
}

std::string Hex(std::string_view bytes) {
  std::string out = "\\x";
  for (unsigned char c : bytes) out += fmt::format("{:02x}", c);
  return out;
}

// pageinspect's words for one line pointer.
std::string ItemText(std::string_view page, const DecodedPage& decoded,
                     uint32_t block, size_t number) {
  const properties::LinePointer& lp = decoded.items[number - 1];
  std::string text = fmt::format("{}|{}|{}|{}|{}", block, number, lp.offset,
                                 static_cast<int>(lp.kind), lp.length);
  if (lp.kind != properties::LinePointerKind::kNormal)
    return text + "|||||||||";
  std::string_view bytes = PageItem(page, decoded, number);
  env::Result<TupleHeader> header = properties::DecodeTupleHeader(bytes);
  if (!header.ok()) return text + "|" + std::string(header.status().message());
  const TupleHeader& h = *header;
  return text + fmt::format("|{}|{}|{}|({},{})|{}|{}|{}|{}", h.xmin, h.xmax,
                            h.cid, h.ctid >> 16, h.ctid & 0xFFFF, h.infomask2,
                            h.infomask, h.hoff, Hex(bytes.substr(h.hoff)));
}

// Section markers in psql's output.
constexpr char kSection[] = "== ";

std::string InspectionScript(
    const Recovered& musth, const std::vector<const DecodedRelation*>& tables) {
  std::string script;
  for (const DecodedRelation* table : tables) {
    size_t blocks = musth.image->Heap(table->filenode).blocks;
    std::string page = fmt::format(
        "pg_read_binary_file('base/5/{}', b * 8192, 8192)", table->filenode);
    script += fmt::format("\\echo {}items {}\n", kSection, table->name);
    script += fmt::format(
        "SELECT b, lp, lp_off, lp_flags, lp_len, t_xmin, t_xmax, t_field3, "
        "t_ctid, t_infomask2, t_infomask, t_hoff, t_data "
        "FROM generate_series(0, {}) b, heap_page_items({}) ORDER BY b, lp;\n",
        static_cast<int64_t>(blocks) - 1, page);
    script += fmt::format("\\echo {}headers {}\n", kSection, table->name);
    script += fmt::format(
        "SELECT b, lsn, checksum, flags, lower, upper, special, pagesize, "
        "version, prune_xid, checksum = 0 OR "
        "(checksum + 65536) % 65536 = (page_checksum({}, b) + 65536) % 65536 "
        "FROM generate_series(0, {}) b, page_header({}) ORDER BY b;\n",
        page, static_cast<int64_t>(blocks) - 1, page);
  }
  return script;
}

// Makes the tables known to SQL, reads them, and lets amcheck look.
std::string TableScript(const std::vector<const DecodedRelation*>& tables) {
  std::string script;
  for (const DecodedRelation* table : tables) {
    std::string columns;
    for (const properties::ColumnShape& column : table->shape) {
      if (!columns.empty()) columns += " || ', ' || ";
      columns += fmt::format("'{} ' || format_type({}, {})", column.name,
                             column.type, column.typmod);
    }
    script += fmt::format("SELECT 'CREATE TABLE {} (' || {} || ')' \\gexec\n",
                          table->name, columns);
    script += fmt::format(
        "UPDATE pg_class SET relfilenode = {}, relfrozenxid = '3', "
        "relminmxid = '1' WHERE relname = '{}';\n",
        table->filenode, table->name);
  }
  for (const DecodedRelation* table : tables) {
    script += fmt::format("\\echo {}amcheck {}\n", kSection, table->name);
    script += fmt::format("SELECT * FROM verify_heapam('{}');\n", table->name);
    script += fmt::format("\\echo {}rows {}\n", kSection, table->name);
    script += fmt::format("SELECT '', * FROM {};\n", table->name);
  }
  return script;
}

// psql's output by section: "rows t1" -> lines.
std::map<std::string, RowTexts> Sections(const std::string& output) {
  std::map<std::string, RowTexts> sections;
  RowTexts* current = nullptr;
  for (std::string& line : Lines(output)) {
    if (line.rfind(kSection, 0) == 0) {
      current = &sections[line.substr(sizeof(kSection) - 1)];
    } else if (current != nullptr) {
      current->push_back(std::move(line));
    }
  }
  return sections;
}

// The tuples that Musth's decoders find in Musth's pages.
void ComparePages(const Recovered& musth, const DecodedRelation& table,
                  std::map<std::string, RowTexts>& sections) {
  RowTexts items;
  RowTexts headers;
  std::string_view bytes =
      *musth.files->Read(properties::HeapPath(table.filenode));
  for (uint32_t b = 0; b < bytes.size() / kPageBytes; ++b) {
    std::string_view page = bytes.substr(b * kPageBytes, kPageBytes);
    env::Result<DecodedPage> p = properties::DecodePage(page);
    ASSERT_TRUE(p.ok()) << p.status().message();
    for (size_t n = 1; n <= p->items.size(); ++n) {
      items.push_back(ItemText(page, *p, b, n));
    }
    headers.push_back(fmt::format(
        "{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", b, properties::LsnToText(p->lsn),
        static_cast<int16_t>(p->checksum), p->flags, p->lower, p->upper,
        p->special, p->size_version & 0xFF00, p->size_version & 0xFF,
        p->prune_xid, "t"));
  }
  EXPECT_EQ(sections["items " + table.name], items);
  EXPECT_EQ(sections["headers " + table.name], headers);
}

class RealRecovery : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(MissingPrograms(), "");
    env::Status made = fresh_.Make();
    ASSERT_TRUE(made.ok()) << made.message();
  }

  // Recovers the directory with Musth: files_ and rows_.
  void RecoverOurs(const ExportedSeed& seed) {
    DirectoryView crashed_files(seed.directory);
    ClusterImage crashed(&crashed_files, false);
    ASSERT_TRUE(crashed.control().ok());
    for (const char* name : {"musth", "recovered"}) scratch_.Remove(name);
    rows_.clear();
    fs::copy(seed.directory, scratch_.Path("musth"),
             fs::copy_options::recursive);
    env::Status status =
        RecoverWithMusth(scratch_.Path("musth"), *crashed.control(),
                         scratch_.Path("recovered"), &rows_);
    ASSERT_TRUE(status.ok()) << status.ToString();
    bool fpw = crashed.control()->checkpoint_copy.full_page_writes;
    setting_ = fpw ? "full_page_writes=on" : "full_page_writes=off";
  }

  void Judge(const ExportedSeed& seed) {
    ASSERT_NO_FATAL_FAILURE(RecoverOurs(seed));
    env::Status status = server_.Recover(seed.directory, {setting_});
    ASSERT_TRUE(status.ok()) << status.message();
    Recovered musth = Look(scratch_.Path("recovered"));
    Recovered real = Look(server_.path());
    ASSERT_TRUE(musth.image->control().ok());
    ASSERT_TRUE(real.image->control().ok());
    CompareRedo(seed, server_.Log());
    EXPECT_EQ(FirstDifference(musth, real), "");
    CompareTransactions(musth, real);
    CompareSql(musth);
    server_.Stop();
  }

  void CompareSql(const Recovered& musth) {
    env::Result<Relations> relations = CatalogOnDisk(*musth.image);
    ASSERT_TRUE(relations.ok()) << relations.status().message();
    std::vector<const DecodedRelation*> tables = UserTables(*relations);
    ASSERT_EQ(tables.size(), rows_.size());
    ProgramResult psql =
        server_.Psql(InspectionScript(musth, tables) + TableScript(tables));
    ASSERT_EQ(psql.exit_code, 0) << psql.output;
    std::map<std::string, RowTexts> sections = Sections(psql.output);
    for (const DecodedRelation* table : tables) {
      SCOPED_TRACE(table->name);
      ComparePages(musth, *table, sections);
      EXPECT_EQ(sections["amcheck " + table->name], RowTexts());
      RowTexts& theirs = sections["rows " + table->name];
      std::sort(theirs.begin(), theirs.end());
      ASSERT_EQ(rows_.count(table->name), 1u);
      EXPECT_EQ(theirs, rows_.at(table->name));
      total_rows_ += theirs.size();
    }
  }

  ScratchDir scratch_;
  FreshCluster fresh_{&scratch_};
  RealServer server_{&fresh_, &scratch_};
  std::map<std::string, RowTexts> rows_;  // Musth's
  std::string setting_;
  uint64_t total_rows_ = 0;
};

TEST_F(RealRecovery, PostgresAndMusthRecoverCrashedDirectoriesAlike) {
  uint64_t count = SeedCount();
  ForEachExport(ExportMoment::kCrashed, count,
                [this](const ExportedSeed& seed) { Judge(seed); });
  EXPECT_GT(total_rows_, count);
}

// A log that PostgreSQL gets without its heap records leaves other pages.
TEST_F(RealRecovery, ALogCutShortIsSeen) {
  uint64_t cut = 0;
  ForEachExport(ExportMoment::kCrashed, 5, [&](const ExportedSeed& seed) {
    Redo redo = FindRedo(seed.directory);
    if (redo.first_heap == 0) return;
    ASSERT_NO_FATAL_FAILURE(RecoverOurs(seed));
    DirectoryView files(seed.directory);
    ClusterImage image(&files, false);
    std::string path =
        seed.directory + "/pg_wal/" +
        properties::WalSegmentName(image.wal_layout(), redo.first_heap);
    fs::resize_file(path, redo.first_heap % image.wal_layout().segment_bytes);
    fs::resize_file(path, image.wal_layout().segment_bytes);
    env::Status status = server_.Recover(seed.directory, {setting_});
    ASSERT_TRUE(status.ok()) << status.message();
    Recovered musth = Look(scratch_.Path("recovered"));
    Recovered real = Look(server_.path());
    server_.Stop();
    if (FirstDifference(musth, real).empty()) return;  // all was written back
    EXPECT_NE(musth.image->control()->checkpoint,
              real.image->control()->checkpoint);
    ++cut;
  });
  EXPECT_GT(cut, 0u);
}

}  // namespace
}  // namespace replay
