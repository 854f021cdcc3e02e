#include "properties/attribution.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "properties/blast_radius.h"
#include "properties/decoders/test_cluster.h"
#include "properties/model.h"
#include "properties/wal_coverage.h"
#include "sim/disk.h"
#include "sim/env/check.h"
#include "sim/fake_host.h"

namespace properties {
namespace {

constexpr uint32_t kRel = 16384;
constexpr size_t kBlocks = 4;
const char* const kPath = "base/5/16384";

// A world that draws and swallows the rest.
std::string Page(char byte) { return std::string(kPageBytes, byte); }

// One record that touches the block, as an event; its end is `end`.
void Insert(WalCoverage* coverage, uint32_t block, uint64_t end) {
  std::string record(24, '\0');
  record += '\0';    // block id 0
  record += '\x40';  // main fork, will init
  record += std::string(2, '\0');
  for (uint32_t field : {1663u, 5u, kRel, block}) {
    record.append(reinterpret_cast<const char*>(&field), sizeof field);
  }
  PokeField(&record, 0, static_cast<uint32_t>(record.size()));
  env::Event event;
  event.kind = env::EventKind::kWalInsert;
  event.a[0] = end - record.size();
  event.a[1] = end;
  event.bytes = record;
  coverage->OnEvent(event);
}

void EndRecovery(WalCoverage* coverage, uint64_t cut) {
  env::Event event;
  event.kind = env::EventKind::kRecoveryEnd;
  event.a[0] = cut;
  coverage->OnEvent(event);
}

class AttributionTest : public ::testing::Test {
 protected:
  // A relation of kBlocks whole blocks, the last of which the power loss left
  // as garbage.
  void SetUp() override {
    for (uint64_t seed = 0; seed < 200; ++seed) {
      Crash(seed);
      Read();
      if (!disk_->FaultsIn(kPath, Offset(kBlocks - 1), kPageBytes).empty()) {
        return;
      }
    }
    FAIL() << "no seed leaves garbage";
  }

  static int64_t Offset(uint32_t block) {
    return int64_t{block} * static_cast<int64_t>(kPageBytes);
  }

  void Crash(uint64_t seed) {
    sim::DiskOptions options;
    options.fill = sim::Fill::kGarbage;
    options.biased_images = false;
    file_.reset();
    host_ = std::make_unique<sim::FakeHost>(seed);
    disk_ = std::make_unique<sim::Disk>(options);
    disk_->Attach(host_.get(), nullptr);
    SIM_CHECK(disk_->Mkdir("base").ok() && disk_->Mkdir("base/5").ok());
    Open();
    for (uint32_t block = 0; block < kBlocks; ++block) {
      if (block + 1 == kBlocks) SIM_CHECK(file_->Fsync().ok());
      Write(block);
    }
    SIM_CHECK(disk_->FsyncDir("base/5").ok() && disk_->FsyncDir("").ok());
    file_.reset();
    disk_->PowerLoss();
    Open();
  }

  void Open() {
    auto file = disk_->Open(kPath, env::kOpenWrite | env::kOpenCreate);
    SIM_CHECK(file.ok());
    file_ = std::move(file).value();
  }
  void Write(uint32_t block) {
    std::string page = Page('w');
    auto wrote = file_->Pwrite(Offset(block), page);
    SIM_CHECK(wrote.ok());
  }
  std::string Read() {
    std::string bytes(kBlocks * kPageBytes, '\0');
    auto read = file_->Pread(0, bytes);
    SIM_CHECK(read.ok());
    return bytes;
  }

  Attribution::Answer Of(uint32_t block) const {
    env::Status status = env::Status::Sql(
        env::MakeSqlState("XX001"),
        fmt::format("invalid page in block {} of relation {}", block, kPath));
    EXPECT_TRUE(RefusesForDamage(status));
    return attribution_.OfRefusal(status, disk_.get());
  }

  std::unique_ptr<sim::FakeHost> host_;
  std::unique_ptr<sim::Disk> disk_;
  std::unique_ptr<env::File> file_;
  Model model_;
  WalCoverage coverage_;
  Attribution attribution_{&model_, &coverage_};
};

TEST_F(AttributionTest, GarbageThatNobodyWroteJustifies) {
  Attribution::Answer answer = Of(kBlocks - 1);
  ASSERT_TRUE(answer.justified()) << answer.objection;
  for (uint64_t id : answer.faults) {
    const sim::FaultRecord& fault = disk_->fault_log().records()[id - 1];
    EXPECT_EQ(fault.path, kPath);
    EXPECT_EQ(fault.damage, sim::Damage::kGarbageFill);
    EXPECT_GE(fault.offset, Offset(kBlocks - 1));
  }
  int damage_told = 0;
  for (const env::Event& event : host_->events_seen) {
    damage_told +=
        event.kind == env::EventKind::kFault &&
        event.a[0] == static_cast<uint64_t>(sim::DiskFaultFamily::kDamage);
  }
  EXPECT_GT(damage_told, 0);
}

TEST_F(AttributionTest, AnotherPageIsAFalseAlarm) {
  EXPECT_EQ(Of(0).objection, "no injected fault damaged page base/5/16384:0");
  EXPECT_FALSE(attribution_.OfPage({"base/5/16385", kBlocks - 1}, disk_.get())
                   .justified());
  EXPECT_FALSE(
      attribution_.OfPage({kPath, kBlocks - 1}, /*disk=*/nullptr).justified());
  EXPECT_EQ(attribution_
                .OfRefusal(env::Status::Sql(env::MakeSqlState("XX000"), "oh"),
                           disk_.get())
                .objection,
            "it names no page");
}

TEST_F(AttributionTest, CommittedRowsMustBeThere) {
  model_.AddTemplateRow(kRel, uint64_t{kBlocks - 2} << 16 | 1, "body");
  model_.AddTemplateRow(kRel, uint64_t{kBlocks} << 16 | 1, "body");
  EXPECT_TRUE(Of(kBlocks - 1).justified());
  model_.AddTemplateRow(kRel, uint64_t{kBlocks - 1} << 16 | 7, "body");
  EXPECT_EQ(Of(kBlocks - 1).objection,
            "page base/5/16384:3 holds 1 committed rows");
}

TEST_F(AttributionTest, WhatTheLogCanRebuildMustBeWhole) {
  Insert(&coverage_, kBlocks - 2, 100);
  EXPECT_TRUE(Of(kBlocks - 1).justified());
  Insert(&coverage_, kBlocks - 1, 200);
  Insert(&coverage_, kBlocks - 1, 300);
  EndRecovery(&coverage_, 200);
  EXPECT_FALSE(Of(kBlocks - 1).justified());
  EndRecovery(&coverage_, 199);  // recovery again, and it ended earlier
  EXPECT_TRUE(Of(kBlocks - 1).justified());
}

TEST_F(AttributionTest, OverwrittenGarbageJustifiesNothing) {
  Write(kBlocks - 1);
  EXPECT_FALSE(Of(kBlocks - 1).justified());
}

TEST_F(AttributionTest, ClonesAnswerForThemselves) {
  std::unique_ptr<sim::Disk> copy = disk_->Clone();
  Write(kBlocks - 1);
  EXPECT_FALSE(
      attribution_.OfPage({kPath, kBlocks - 1}, disk_.get()).justified());
  EXPECT_TRUE(
      attribution_.OfPage({kPath, kBlocks - 1}, copy.get()).justified());
}

TEST(BlastRadius, MessagesNamePages) {
  auto page =
      PageInMessage("invalid page in block 12 of relation base/5/77_vm");
  ASSERT_TRUE(page.has_value());
  EXPECT_EQ(page->ToString(), "page base/5/77_vm:12");
  uint32_t rel = 0;
  uint32_t fork = 0;
  ASSERT_TRUE(page->Relation(&rel, &fork));
  EXPECT_EQ(rel, 77u);
  EXPECT_EQ(fork, 2u);
  page = PageInMessage(
      "could not read block 131073 in file \"base/5/77.1\": Input/output "
      "error");
  ASSERT_TRUE(page.has_value());
  EXPECT_EQ(page->path, "base/5/77");
  EXPECT_EQ(page->block, 131073u);
  page = PageInMessage(
      "references to invalid pages: page 4 of relation base/5/77 is "
      "uninitialized");
  ASSERT_TRUE(page.has_value());
  EXPECT_EQ(page->ToString(), "page base/5/77:4");
  for (const char* other :
       {"", "invalid page in block", "invalid page in block 3 of",
        "could not read block x in file \"a\"", "deadlock detected"}) {
    EXPECT_FALSE(PageInMessage(other).has_value()) << other;
  }
  EXPECT_FALSE((PageRef{"pg_xact/0000", 1}.Relation(&rel, &fork)));
  EXPECT_FALSE((PageRef{"base/5/pg_filenode.map", 1}.Relation(&rel, &fork)));
}

TEST_F(AttributionTest, WalIsAskedSegmentBySegment) {
  WalLayout layout;
  layout.segment_bytes = kBlocks * kPageBytes;
  constexpr uint64_t kSegment = kBlocks * kPageBytes;
  // The relation becomes a segment whose last page is damaged.
  file_.reset();
  SIM_CHECK(disk_->Mkdir("pg_wal").ok());
  std::string name = "pg_wal/" + WalSegmentName(layout, 5 * kSegment);
  SIM_CHECK(disk_->Rename(kPath, name).ok());
  BlastRadius radius(disk_.get());
  uint64_t damaged = 6 * kSegment - kPageBytes;
  EXPECT_FALSE(radius.OfWal(layout, 4 * kSegment, 7 * kSegment).empty());
  EXPECT_FALSE(radius.OfWal(layout, damaged, 6 * kSegment).empty());
  EXPECT_TRUE(radius.OfWal(layout, 4 * kSegment, damaged).empty());
  EXPECT_TRUE(radius.OfWal(layout, 6 * kSegment, 7 * kSegment).empty());
  EXPECT_TRUE(radius.OfWal(layout, damaged, damaged).empty());
}

// A disk at rest with one file whose first sector cannot be read.
std::unique_ptr<sim::Disk> WithUnreadable(const std::string& path) {
  sim::Disk disk{sim::DiskOptions()};
  for (const char* directory : {"base", "base/5", "pg_xact"}) {
    SIM_CHECK(disk.Mkdir(directory).ok());
  }
  auto file = disk.Open(path, env::kOpenWrite | env::kOpenCreate).value();
  SIM_CHECK(file->Pwrite(0, Page('a')).ok());
  std::unique_ptr<sim::Disk> copy = disk.ImageCopy();
  sim::MediaFault fault;
  fault.damage = sim::Damage::kReadError;
  fault.path = path;
  SIM_CHECK(copy->Strike(fault));
  return copy;
}

TEST(BlastRadius, MessagesNameFilesThatAreNoRelations) {
  std::unique_ptr<sim::Disk> disk = WithUnreadable("pg_xact/0000");
  BlastRadius radius(disk.get());
  std::string message = "could not access status of transaction 700";
  EXPECT_EQ(radius.OfMessage(message, 0).size(), 1u);
  EXPECT_TRUE(
      radius.OfMessage("could not access status of transaction 1048576", 0)
          .empty());
  message += " Could not read from file \"pg_xact/0000\" at offset 0: I/O";
  EXPECT_EQ(radius.OfMessage(message, 0).size(), 1u);
  EXPECT_TRUE(radius.OfMessage("pg_xact/0001", 0).empty());
}

TEST(BlastRadius, APanicNamesThePageOfTheErrorInside) {
  std::unique_ptr<sim::Disk> disk = WithUnreadable(kPath);
  BlastRadius radius(disk.get());
  std::string message = "WAL redo at 0/1 for rmgr 10: could not read block ";
  std::string file = " in file \"base/5/16384\": Input/output error";
  EXPECT_EQ(radius.OfMessage(message + "0" + file, 0).size(), 1u);
  EXPECT_TRUE(radius.OfMessage(message + "1" + file, 0).empty());
  // Once rewritten it suffers no more; who met it since is excused.
  auto rewritten = disk->Open(kPath, env::kOpenWrite).value();
  ASSERT_TRUE(rewritten->Pwrite(0, std::string(512, 'n')).ok());
  EXPECT_EQ(radius.OfMessage(message + "0" + file, 0).size(), 1u);
  EXPECT_TRUE(radius.OfMessage(message + "0" + file, 1).empty());
}

}  // namespace
}  // namespace properties
