// Unit tests and laws of the simulated disk; litmus_test.cc has the state sets.
#include "sim/disk.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/crash_image.h"
#include "sim/durability_stamps.h"
#include "sim/fake_host.h"
#include "sim/version_chain.h"

namespace sim {
namespace {

std::unique_ptr<env::File> MustOpen(Disk* disk, const std::string& path,
                                    uint32_t flags = env::kOpenWrite |
                                                     env::kOpenCreate) {
  env::Result<std::unique_ptr<env::File>> file = disk->Open(path, flags);
  SIM_CHECK(file.ok());
  return std::move(file).value();
}

void MustWrite(env::File* file, int64_t offset, const std::string& data) {
  env::Result<int64_t> wrote = file->Pwrite(offset, data);
  SIM_CHECK(wrote.ok() && *wrote == static_cast<int64_t>(data.size()));
}

// A disk under random operations, beside what plain byte strings say.
class Machine {
 public:
  static constexpr int kFiles = 3;

  Machine(const DiskOptions& options, FakeHost* host)
      : disk(std::make_unique<Disk>(options)) {
    disk->Attach(host, nullptr);
    for (int i = 0; i < kFiles; ++i) {
      files.push_back(MustOpen(disk.get(), Name(i)));
      EXPECT_TRUE(files[i]->Fsync().ok());
    }
    EXPECT_TRUE(disk->FsyncDir("").ok());
    Settle();
  }

  static std::string Name(int i) { return std::string(1, 'a' + i); }

  // From now on only the visible contents are legal.
  void Settle() {
    for (int i = 0; i < kFiles; ++i) history[i] = {visible[i]};
  }

  void Write(int i, int64_t offset, const std::string& data) {
    MustWrite(files[i].get(), offset, data);
    if (visible[i].size() < offset + data.size()) {
      visible[i].resize(offset + data.size());
    }
    visible[i].replace(offset, data.size(), data);
    history[i].push_back(visible[i]);
  }
  void Truncate(int i, int64_t size) {
    EXPECT_TRUE(files[i]->Truncate(size).ok());
    visible[i].resize(size);
    CutHistory(i, size);
    history[i].push_back(visible[i]);
  }
  // A shrink cuts older versions of a sector too, written back or not.
  void CutHistory(int i, size_t size) {
    std::set<std::string> cut(history[i].begin(), history[i].end());
    for (std::string h : history[i]) {
      if (h.size() > size) h.resize(size);
      cut.insert(h);
    }
    history[i].assign(cut.begin(), cut.end());
  }
  void Fsync(int i) {
    EXPECT_TRUE(files[i]->Fsync().ok());
    if (determined) history[i] = {visible[i]};
  }
  void Reopen() {
    files.clear();
    for (int i = 0; i < kFiles; ++i) {
      files.push_back(MustOpen(disk.get(), Name(i), env::kOpenWrite));
    }
  }
  // Takes over what a power loss left, with or without looking at it. Sectors
  // that stay undetermined keep all their versions legal; `visible` holds one.
  void AfterPowerLoss(bool look) {
    determined = look;
    if (look) disk->Freeze();
    Reopen();
    for (int i = 0; i < kFiles; ++i) {
      if (look) {
        visible[i] = disk->VisibleFile(Name(i));
      } else {
        visible[i].resize(files[i]->Size().value());
        CutHistory(i, visible[i].size());
        history[i].push_back(visible[i]);
      }
    }
    if (look) Settle();
  }

  void RandomStep() {
    int i = *rc::gen::inRange(0, kFiles);
    int64_t offset = *rc::gen::inRange(0, 20000);
    if (!determined) {
      // A write into a part of an undetermined sector would read it.
      offset = offset / 8192 * 8192;
      switch (*rc::gen::inRange(0, 4)) {
        case 0:
          return Fsync(i);
        case 1:
          return Truncate(i, offset);
        default:
          return Write(i, offset,
                       std::string(8192, *rc::gen::inRange('A', 'Z')));
      }
    }
    switch (*rc::gen::inRange(0, 10)) {
      case 0:
        return Fsync(i);
      case 1:
        return Truncate(i, offset);
      case 2:
        return Write(i, offset / 8192 * 8192,
                     std::string(8192, *rc::gen::inRange('A', 'Z')));
      case 3:
        return disk->SpontaneousWriteback();
      case 4:
        disk->ProcessCrash();
        return Reopen();
      default:
        return Write(i, offset,
                     std::string(*rc::gen::inRange(1, 1500),
                                 *rc::gen::inRange('A', 'Z')));
    }
  }

  bool determined = true;
  std::unique_ptr<Disk> disk;
  std::vector<std::unique_ptr<env::File>> files;
  std::string visible[kFiles];
  // All contents since the last fsync, and what truncations make of them.
  std::vector<std::string> history[kFiles];
};

DiskOptions AnyOptions() {
  DiskOptions options;
  options.sector_bytes = *rc::gen::element(512, 4096, 8192);
  options.meta = *rc::gen::element(MetaMode::kOrdered, MetaMode::kWeak);
  options.fill = *rc::gen::element(Fill::kZero, Fill::kGarbage, Fill::kStale);
  options.mix = *rc::gen::element(ImageMix::kIndependent,
                                  ImageMix::kPageSnapshot, ImageMix::kPrefix);
  options.atomic8k = *rc::gen::arbitrary<bool>();
  options.biased_images = *rc::gen::arbitrary<bool>();
  return options;
}

std::string Cut(const std::string& content, size_t at, size_t size,
                size_t end) {
  std::string out(size, '\0');
  for (size_t i = 0; i < size; ++i) {
    if (at + i < std::min(content.size(), end)) out[i] = content[at + i];
  }
  return out;
}

// Whether each sector of `image` is a sector of some content in the history,
// and its size one of theirs. Bytes beyond the image's size do not count.
bool Legal(const std::string& image, const std::vector<std::string>& history,
           int sector_bytes) {
  auto same_size = [&](const std::string& h) {
    return h.size() == image.size();
  };
  if (std::none_of(history.begin(), history.end(), same_size)) return false;
  size_t bytes = static_cast<size_t>(sector_bytes);
  for (size_t at = 0; at < image.size(); at += bytes) {
    std::string sector = Cut(image, at, bytes, image.size());
    auto matches = [&](const std::string& h) {
      return Cut(h, at, bytes, image.size()) == sector;
    };
    if (std::none_of(history.begin(), history.end(), matches)) return false;
  }
  return true;
}

RC_GTEST_PROP(DiskLaw, ReadsYieldWhatWasWritten, ()) {
  DiskOptions options = AnyOptions();
  FakeHost host(*rc::gen::arbitrary<uint64_t>());
  Machine m(options, &host);
  int steps = *rc::gen::inRange(1, 60);
  for (int s = 0; s < steps; ++s) {
    m.RandomStep();
    for (int i = 0; i < Machine::kFiles; ++i) {
      RC_ASSERT(m.disk->VisibleFile(Machine::Name(i)) == m.visible[i]);
    }
  }
}

RC_GTEST_PROP(DiskLaw, EveryImageIsMadeOfVersionsSinceTheLastFsync, ()) {
  DiskOptions options = AnyOptions();
  options.fill = Fill::kZero;
  FakeHost host(*rc::gen::arbitrary<uint64_t>());
  Machine m(options, &host);
  int unit = UnitBytes(options);
  int rounds = *rc::gen::inRange(1, 5);
  for (int round = 0; round < rounds; ++round) {
    int steps = *rc::gen::inRange(0, 25);
    for (int s = 0; s < steps; ++s) m.RandomStep();
    m.disk->PowerLoss();
    std::unique_ptr<Disk> look = m.disk->Clone();
    look->Attach(&host, nullptr);
    look->Freeze();
    for (int i = 0; i < Machine::kFiles; ++i) {
      RC_ASSERT(Legal(look->VisibleFile(Machine::Name(i)), m.history[i], unit));
    }
    m.AfterPowerLoss(*rc::gen::arbitrary<bool>());
  }
}

RC_GTEST_PROP(DiskLaw, ImagesDoNotDependOnTheOrderOfReads, ()) {
  DiskOptions options = AnyOptions();
  uint64_t seed = *rc::gen::arbitrary<uint64_t>();
  FakeHost host(seed);
  Machine m(options, &host);
  int steps = *rc::gen::inRange(1, 40);
  for (int s = 0; s < steps; ++s) m.RandomStep();
  m.disk->PowerLoss();
  std::unique_ptr<Disk> frozen = m.disk->Clone();
  std::unique_ptr<Disk> read = m.disk->Clone();
  frozen->Attach(&host, nullptr);
  read->Attach(&host, nullptr);
  frozen->Freeze();
  for (int k = 0; k < 30; ++k) {
    std::string name = Machine::Name(*rc::gen::inRange(0, Machine::kFiles));
    auto file = MustOpen(read.get(), name, env::kOpenRead);
    std::string bytes(*rc::gen::inRange(1, 3000), '\0');
    RC_ASSERT(file->Pread(*rc::gen::inRange(0, 20000), bytes).ok());
  }
  read->Freeze();
  RC_ASSERT(read->ContentHash() == frozen->ContentHash());
  uint64_t hash = frozen->ContentHash();
  frozen->Freeze();
  RC_ASSERT(frozen->ContentHash() == hash);
  RC_ASSERT(frozen->OpenSectors() == 0u);
  RC_ASSERT(!frozen->AnythingPending());
}

RC_GTEST_PROP(DiskLaw, ClonesAreIndependent, ()) {
  FakeHost host(*rc::gen::arbitrary<uint64_t>());
  Machine m(AnyOptions(), &host);
  int steps = *rc::gen::inRange(1, 20);
  for (int s = 0; s < steps; ++s) m.RandomStep();
  uint64_t hash = m.disk->ContentHash();
  uint64_t pending = m.disk->PendingSectors();
  std::unique_ptr<Disk> copy = m.disk->Clone();
  RC_ASSERT(copy->ContentHash() == hash);
  RC_ASSERT(copy->PendingSectors() == pending);
  std::unique_ptr<Disk> image = m.disk->ImageCopy();
  RC_ASSERT(image->ContentHash() == hash);
  RC_ASSERT(!image->AnythingPending());
  for (int s = 0; s < 10; ++s) m.RandomStep();
  RC_ASSERT(copy->ContentHash() == hash);
  uint64_t after = m.disk->ContentHash();
  copy->Attach(&host, nullptr);
  MustWrite(MustOpen(copy.get(), "a").get(), 100, std::string(9000, 'z'));
  RC_ASSERT(copy->Unlink("b").ok());
  copy->PowerLoss();
  copy->Freeze();
  RC_ASSERT(m.disk->ContentHash() == after);
  image->PowerLoss();
  RC_ASSERT(image->ContentHash() == hash);
}

TEST(Disk, StepsComeInTheOrderThatCrashPointsCountOn) {
  FakeHost host(1);
  Disk disk({});
  disk.Attach(&host, nullptr);
  auto file = MustOpen(&disk, "f");
  MustWrite(file.get(), 0, "x");
  EXPECT_TRUE(file->Fsync().ok());
  char c;
  EXPECT_TRUE(file->Pread(0, std::span(&c, 1)).ok());
  EXPECT_TRUE(disk.FsyncDir("").ok());
  using enum DeviceStep;
  EXPECT_EQ(host.steps,
            (std::vector<DeviceStep>{kMetadata, kWrite, kSyncStart, kSyncMiddle,
                                     kSyncDone, kPlain, kSyncStart, kSyncMiddle,
                                     kSyncDone}));
  using Kind = env::EventKind;
  std::vector<Kind> kinds;
  for (const env::Event& event : host.events_seen) kinds.push_back(event.kind);
  EXPECT_EQ(kinds, (std::vector<Kind>{Kind::kDirOp, Kind::kFileOpen,
                                      Kind::kFileWrite, Kind::kFileSync,
                                      Kind::kFileSync, Kind::kFileSync,
                                      Kind::kFileRead, Kind::kFileSync,
                                      Kind::kFileSync, Kind::kFileSync}));
}

TEST(Disk, DsyncWriteBecomesVisibleAfterItsStart) {
  FakeHost host(1);
  Disk disk({});
  disk.Attach(&host, nullptr);
  auto file = MustOpen(&disk, "f",
                       env::kOpenWrite | env::kOpenCreate | env::kOpenDsync);
  host.steps.clear();
  MustWrite(file.get(), 0, "x");
  using enum DeviceStep;
  EXPECT_EQ(host.steps,
            (std::vector<DeviceStep>{kSyncStart, kSyncMiddle, kSyncDone}));
  EXPECT_EQ(disk.PendingSectors(), 0u);
}

class SlowSync : public DiskFaultHooks {
 public:
  SyncFailure OnSync(std::string_view, uint64_t) override {
    ++asked;
    return SyncFailure::kNone;
  }
  env::TimeNs Latency(DeviceStep step, std::string_view path) override {
    EXPECT_EQ(path, "f");
    return step == DeviceStep::kSyncMiddle ? 5 * env::kMillisecond : 0;
  }
  int asked = 0;
};

TEST(Disk, LatencyPassesAndCleanFilesAreNotAskedFor) {
  FakeHost host(1);
  SlowSync faults;
  Disk disk({});
  disk.Attach(&host, &faults);
  auto file = MustOpen(&disk, "f");
  EXPECT_TRUE(file->Fsync().ok());
  EXPECT_EQ(faults.asked, 0);
  MustWrite(file.get(), 0, "x");
  EXPECT_TRUE(file->Fsync().ok());
  EXPECT_EQ(faults.asked, 1);
  EXPECT_EQ(host.delay_ns, 10 * env::kMillisecond);
}

// Answers reads with the bytes of page 1 once it is told to.
class Astray : public DiskFaultHooks {
 public:
  SyncFailure OnSync(std::string_view, uint64_t) override {
    return SyncFailure::kNone;
  }
  env::TimeNs Latency(DeviceStep, std::string_view) override { return 0; }
  TransferFault OnTransfer(Transfer transfer, std::string_view, int64_t,
                           int64_t) override {
    if (transfer != Transfer::kRead || !strikes) return {};
    return {TransferOutcome::kElsewhere, 0, 1};
  }
  bool strikes = false;
};

// How often a program was told to have read what a power loss left open.
int UndeterminedReads(const FakeHost& host) {
  int count = 0;
  for (const env::Event& event : host.events_seen) {
    count +=
        event.kind == env::EventKind::kFault &&
        event.a[0] == static_cast<uint64_t>(DiskFaultFamily::kUndeterminedRead);
  }
  return count;
}

TEST(Disk, WhoIsShownOtherBytesHasNotReadThem) {
  for (bool strikes : {true, false}) {
    FakeHost host(1);
    Astray faults;
    Disk disk({});
    disk.Attach(&host, &faults);
    auto file = MustOpen(&disk, "f");
    MustWrite(file.get(), 0, std::string(2 * 8192, 'x'));
    EXPECT_TRUE(file->Fsync().ok());
    EXPECT_TRUE(disk.FsyncDir("").ok());
    MustWrite(file.get(), 8192, std::string(8192, 'y'));
    file.reset();
    disk.PowerLoss();
    disk.Attach(&host, &faults);
    file = MustOpen(&disk, "f", env::kOpenRead);
    faults.strikes = strikes;
    std::string page(8192, ' ');
    // Page 0 is synced, page 1 is open.
    EXPECT_TRUE(file->Pread(strikes ? 0 : 8192, std::span(page)).ok());
    EXPECT_EQ(UndeterminedReads(host), strikes ? 0 : 1);
  }
}

TEST(Disk, DetachedCallsNeitherScheduleNorDraw) {
  Disk disk({});
  auto file = MustOpen(&disk, "f");
  MustWrite(file.get(), 0, std::string(5000, 'x'));
  disk.PowerLoss();
  disk.Freeze();
  EXPECT_EQ(disk.VisibleFile("f"), std::string(5000, 'x'));
}

// Counts draws; answers with the simplest value.
class CountingSource : public ChoiceSource {
 public:
  uint64_t Choose(Stream, uint64_t, uint64_t, uint64_t, uint64_t) override {
    ++draws;
    return 0;
  }
  int draws = 0;
};

TEST(Disk, NothingIsDrawnWhenNothingIsPending) {
  FakeHost host(1);
  CountingSource source;
  host.choices().SetSource(&source);
  Disk disk({});
  disk.Attach(&host, nullptr);
  {
    auto file = MustOpen(&disk, "f");
    MustWrite(file.get(), 0, std::string(5000, 'x'));
    EXPECT_TRUE(file->Fsync().ok());
  }
  disk.SpontaneousWriteback();
  disk.PowerLoss();
  disk.Freeze();
  EXPECT_EQ(source.draws, 0);
  EXPECT_EQ(disk.VisibleFile("f"), std::string(5000, 'x'));
}

TEST(Disk, HandlesFromBeforeACrashMayBeClosed) {
  auto disk = std::make_unique<Disk>(DiskOptions{});
  auto gone = MustOpen(disk.get(), "gone");
  MustWrite(gone.get(), 0, "unlinked");
  EXPECT_TRUE(disk->Unlink("gone").ok());
  char bytes[8];
  EXPECT_EQ(gone->Pread(0, bytes).value(), 8);
  EXPECT_EQ(std::string(bytes, 8), "unlinked");
  disk->ProcessCrash();
  auto later = MustOpen(disk.get(), "later");
  gone.reset();
  disk.reset();
  later.reset();
}

TEST(Disk, ErrorsNameWhatIsWrong) {
  Disk disk({});
  EXPECT_EQ(disk.Open("none", env::kOpenWrite).status().code(),
            env::Code::kNotFound);
  EXPECT_EQ(disk.Open("d/f", env::kOpenCreate).status().code(),
            env::Code::kNotFound);
  EXPECT_TRUE(disk.Mkdir("d").ok());
  EXPECT_EQ(disk.Mkdir("d").code(), env::Code::kExists);
  auto file = MustOpen(&disk, "d/f");
  EXPECT_EQ(
      disk.Open("d/f", env::kOpenCreate | env::kOpenExclusive).status().code(),
      env::Code::kExists);
  EXPECT_EQ(disk.Rmdir("d").code(), env::Code::kInvalid);
  EXPECT_EQ(disk.Unlink("d").code(), env::Code::kInvalid);
  EXPECT_EQ(disk.Rename("d", "d/e").code(), env::Code::kInvalid);
  EXPECT_TRUE(disk.Rename("d", "e").ok());
  EXPECT_EQ(disk.List("e").value(), std::vector<std::string>{"f"});
  auto reader = MustOpen(&disk, "e/f", env::kOpenRead);
  EXPECT_EQ(reader->Pwrite(0, std::string("x")).status().code(),
            env::Code::kInvalid);
}

TEST(Disk, ScopeOfAClonePicksItsImage) {
  DiskOptions options;
  options.biased_images = false;
  FakeHost host(7);
  Disk disk(options);
  disk.Attach(&host, nullptr);
  auto file = MustOpen(&disk, "f");
  MustWrite(file.get(), 0, std::string(65536, 'A'));
  EXPECT_TRUE(file->Fsync().ok());
  MustWrite(file.get(), 0, std::string(65536, 'B'));
  disk.PowerLoss();
  std::vector<uint64_t> hashes;
  for (const char* scope : {"w0/h0/i0", "w0/h0/i0", "w0/f1/h0/i0"}) {
    FakeHost child(7, scope);
    std::unique_ptr<Disk> copy = disk.Clone();
    copy->Attach(&child, nullptr);
    copy->Freeze();
    hashes.push_back(copy->ContentHash());
  }
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_NE(hashes[0], hashes[2]);
}

TEST(VersionChain, StaysBoundedAndKeepsTheDurableVersion) {
  VersionChain chain;
  PageBlocks blocks;
  ReplaceBytes(&blocks[0], std::string(kBlockBytes, 'A').data());
  for (uint64_t seq = 1; seq <= 100; ++seq) {
    PushUndo(&chain, blocks, seq, UndoKind::kWrite, SlotBit(seq % 3), 0);
    BoundChain(&chain, 0);
    SetSlot(blocks, static_cast<int>(seq % 3),
            std::string(kSlotBytes, 'B').data());
  }
  EXPECT_EQ(chain.undos.size(), kMaxUndos);
  for (int slot = 0; slot < 3; ++slot) {
    auto first = std::find_if(
        chain.undos.begin(), chain.undos.end(),
        [&](const Undo& undo) { return (undo.live & SlotBit(slot)) != 0; });
    ASSERT_NE(first, chain.undos.end());
    char bytes[kSlotBytes];
    CopyBefore(*first, slot, bytes);
    EXPECT_EQ(std::string(bytes, kSlotBytes), std::string(kSlotBytes, 'A'));
  }
}

TEST(VersionChain, WritesUnderAFlushAreNotMerged) {
  VersionChain chain;
  PageBlocks blocks;
  for (uint64_t seq = 1; seq <= 20; ++seq) {
    PushUndo(&chain, blocks, seq, UndoKind::kWrite, 1, 0);
    BoundChain(&chain, /*floor=*/10);
  }
  size_t flushing = 0;
  for (const Undo& undo : chain.undos) flushing += undo.seq <= 10 ? 1 : 0;
  EXPECT_EQ(flushing, 10u);
  CoverChain(&chain, 0, 10, kAllSlots, nullptr);
  EXPECT_GT(chain.undos.front().seq, 10u);
}

TEST(DurabilityStamps, NoticeALostByteInAPartlyOverwrittenSector) {
  PageBlocks blocks;
  ReplaceBytes(&blocks[0], std::string(kBlockBytes, 'A').data());
  StampRef stamp = MakeStamp(blocks, 100, kAllSlots);
  StrikeOut(&stamp, 60, 700);
  MutableBytes(&blocks[0])[60] = 'x';
  EXPECT_TRUE(StampHolds(*stamp, blocks, kAllSlots));
  MutableBytes(&blocks[0])[59] = 'x';
  EXPECT_FALSE(StampHolds(*stamp, blocks, kAllSlots));
  StrikeOut(&stamp, 0, 60);
  EXPECT_FALSE(static_cast<bool>(stamp));
}

TEST(CrashImage, PathKeysAreScopeKeys) {
  Scope host = Scope::FromPath("w0/h0/i2");
  EXPECT_EQ(PathKey(host.key(), "base/1/16384"),
            Scope::FromPath("w0/h0/i2/base/1/16384").key());
}

TEST(CrashImage, AnOverrideChoosesASector) {
  DiskOptions options;
  options.biased_images = false;
  FakeHost host(3);
  host.choices().AddOverride(
      Override::Parse("crash-image w0/h0/i0/f sector 1 = 1").value());
  host.choices().AddOverride(
      Override::Parse("crash-image w0/h0/i0/f sector 0 = 0").value());
  Disk disk(options);
  disk.Attach(&host, nullptr);
  auto file = MustOpen(&disk, "f");
  MustWrite(file.get(), 0, std::string(1024, 'A'));
  EXPECT_TRUE(file->Fsync().ok());
  MustWrite(file.get(), 0, std::string(1024, 'B'));
  disk.PowerLoss();
  disk.Freeze();
  EXPECT_EQ(disk.VisibleFile("f"),
            std::string(512, 'B') + std::string(512, 'A'));
  EXPECT_TRUE(host.choices().UnmatchedOverrides().empty());
}

// A disk made from an image shows bytes of that image in sectors that a crash
// left unwritten, and logs them.
TEST(Disk, StaleBytesComeFromTheDevicesFormerLife) {
  DiskOptions options;
  options.fill = Fill::kStale;
  options.biased_images = false;
  Disk before(options);
  MustWrite(MustOpen(&before, "old").get(), 0, std::string(kPageBytes, 'o'));
  bool shown = false;
  for (uint64_t seed = 0; seed < 100 && !shown; ++seed) {
    FakeHost host(seed);
    std::unique_ptr<Disk> disk = before.ImageCopy();
    disk->Attach(&host, nullptr);
    {
      std::unique_ptr<env::File> file = MustOpen(disk.get(), "new");
      EXPECT_TRUE(file->Fsync().ok());
      MustWrite(file.get(), 0, std::string(kPageBytes, 'n'));
    }
    disk->PowerLoss();
    std::unique_ptr<env::File> file = MustOpen(disk.get(), "new");
    std::string bytes(static_cast<size_t>(*file->Size()), '\0');
    EXPECT_TRUE(file->Pread(0, bytes).ok());
    EXPECT_EQ(bytes.find_first_not_of(std::string("on\0", 3)),
              std::string::npos);
    std::vector<FaultRecord> faults = disk->FaultsIn("new", 0, kPageBytes);
    EXPECT_EQ(bytes.find('o') != std::string::npos, !faults.empty());
    for (const FaultRecord& fault : faults) {
      EXPECT_EQ(fault.damage, Damage::kStaleFill);
      EXPECT_TRUE(fault.seen);
      EXPECT_EQ(bytes[static_cast<size_t>(fault.offset)], 'o');
    }
    shown = !faults.empty();
  }
  EXPECT_TRUE(shown);
}

TEST(CrashImage, RulesSayWhatSurvivesAndTheLastThatFitsDecides) {
  FakeHost host(3);
  Disk disk((DiskOptions()));
  disk.Attach(&host, nullptr);
  auto f = MustOpen(&disk, "f");
  auto g = MustOpen(&disk, "g");
  for (env::File* file : {f.get(), g.get()}) {
    MustWrite(file, 0, std::string(1536, 'A'));
    EXPECT_TRUE(file->Fsync().ok());
  }
  EXPECT_TRUE(disk.FsyncDir("").ok());
  MustWrite(f.get(), 0, std::string(2048, 'B'));
  MustWrite(g.get(), 0, std::string(2048, 'B'));
  auto h = MustOpen(&disk, "h");
  ImageRule all;
  ImageRule names{false, ImageRule::What::kNames, "", 0, UINT64_MAX};
  ImageRule sector{false, ImageRule::What::kFile, "f", 1, 1};
  disk.PowerLoss({all, names, sector});
  disk.Freeze();
  EXPECT_EQ(
      disk.VisibleFile("f"),
      std::string(512, 'A') + std::string(512, 'B') + std::string(512, 'A'));
  EXPECT_EQ(disk.VisibleFile("g"), std::string(1536, 'A'));
  EXPECT_TRUE(disk.PeekExists("h"));
}

TEST(CrashImage, WithoutAFittingRuleEverythingSurvives) {
  FakeHost host(3);
  Disk disk((DiskOptions()));
  disk.Attach(&host, nullptr);
  auto f = MustOpen(&disk, "f");
  MustWrite(f.get(), 0, std::string(700, 'A'));
  disk.PowerLoss({{true, ImageRule::What::kFile, "other", 0, UINT64_MAX}});
  disk.Freeze();
  EXPECT_EQ(disk.VisibleFile("f"), std::string(700, 'A'));
}

}  // namespace
}  // namespace sim
