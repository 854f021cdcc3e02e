// The litmus suite of FAULT_MODEL SFM-36. Every case lists all states that a
// script may end in; the enumeration must find these and no others.
#include "sim/litmus.h"

#include <gtest/gtest.h>

#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace sim {
namespace {

struct Case {
  const char* name;
  DiskOptions options;
  const char* script;
  std::set<std::string> states;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.script; }

DiskOptions Plain() {
  DiskOptions options;
  options.biased_images = false;
  return options;
}
DiskOptions Weak() {
  DiskOptions options = Plain();
  options.meta = MetaMode::kWeak;
  return options;
}
DiskOptions Split(DiskOptions options) {
  options.rename_split = true;
  return options;
}
DiskOptions Sectors(int bytes) {
  DiskOptions options = Plain();
  options.sector_bytes = bytes;
  return options;
}
DiskOptions Atomic8k() {
  DiskOptions options = Plain();
  options.atomic8k = true;
  return options;
}
DiskOptions WithFill(Fill fill) {
  DiskOptions options = Plain();
  options.fill = fill;
  return options;
}
DiskOptions WithMix(ImageMix mix) {
  DiskOptions options = Plain();
  options.mix = mix;
  return options;
}

class Litmus : public testing::TestWithParam<Case> {};

TEST_P(Litmus, ReachesExactlyTheLegalStates) {
  EXPECT_EQ(LitmusStates(GetParam().options, GetParam().script),
            GetParam().states);
}

// f holds one sector of A, durable, and is open.
#define ONE_A "create f; write f 0 512 A; settle; open f; "
#define TWO_A "create f; write f 0 1024 A; settle; open f; "

const std::vector<Case>& DataCases() {
  static const std::vector<Case> kCases = {
      {"AppendWithoutFsync",
       Plain(),
       "create f; settle; open f; write f 0 512 A; crash",
       {"f=", "f=.512", "f=A512"}},
      {"AppendWithFsync",
       Plain(),
       "create f; settle; open f; write f 0 512 A; fsync f; crash",
       {"f=A512"}},
      {"SizeAndDataHaveNoOrder",
       Plain(),
       ONE_A "write f 512 512 B; crash",
       {"f=A512", "f=A512.512", "f=A512B512"}},
      {"AppendInsideASector",
       Plain(),
       "create f; write f 0 100 A; settle; open f; write f 100 100 B; crash",
       {"f=A100", "f=A100.100", "f=A100B100"}},
      {"OverwriteTwice",
       Plain(),
       ONE_A "write f 0 512 B; write f 0 512 C; crash",
       {"f=A512", "f=B512", "f=C512"}},
      {"SectorsAreIndependent",
       Plain(),
       TWO_A "write f 0 1024 B; crash",
       {"f=A1024", "f=A512B512", "f=B512A512", "f=B1024"}},
      {"LaterWriteMayOvertake",
       Plain(),
       TWO_A "write f 0 512 B; write f 512 512 C; crash",
       {"f=A1024", "f=B512A512", "f=A512C512", "f=B512C512"}},
      {"FsyncCoversOtherHandles",
       Plain(),
       ONE_A "open g=f; write f 0 512 B; fsync g; crash",
       {"f=B512"}},
      {"WriteDuringFsyncStaysPending",
       Plain(),
       ONE_A "write f 0 512 B; during write f 0 512 C; fsync f; crash",
       {"f=B512", "f=C512"}},
      {"AppendDuringFsyncStaysPending",
       Plain(),
       ONE_A "write f 0 512 B; during write f 512 512 C; fsync f; crash",
       {"f=B512", "f=B512.512", "f=B512C512"}},
      {"TruncateDuringFsyncStaysPending",
       Plain(),
       ONE_A "write f 0 512 B; during truncate f 0; fsync f; crash",
       {"f=B512", "f="}},
      {"CrashInsideFsync",
       Plain(),
       TWO_A "write f 0 1024 B; cut; fsync f; crash",
       {"f=A1024", "f=A512B512", "f=B512A512", "f=B1024"}},
      {"FsyncOfCleanFile", Plain(), ONE_A "fsync f; crash", {"f=A512"}},
      {"DsyncWriteIsDurable",
       Plain(),
       "create f; write f 0 512 A; settle; opend f; write f 0 512 B; crash",
       {"f=B512"}},
      {"DsyncAppendIsDurable",
       Plain(),
       "create f; write f 0 512 A; settle; opend f; write f 512 512 B; crash",
       {"f=A512B512"}},
      {"DsyncWriteTears",
       Plain(),
       "create f; write f 0 1024 A; settle; opend f; cut; "
       "write f 0 1024 B; crash",
       {"f=A1024", "f=A512B512", "f=B512A512", "f=B1024"}},
      {"DsyncCoversItsRangeAlone",
       Plain(),
       TWO_A "write f 0 512 B; opend g=f; write g 512 512 C; crash",
       {"f=A512C512", "f=B512C512"}},
      {"FourKiloSectorsDoNotTear",
       Sectors(4096),
       "create f; write f 0 8192 A; settle; open f; write f 0 8192 B; crash",
       {"f=A8192", "f=A4096B4096", "f=B4096A4096", "f=B8192"}},
      {"PartialWriteOfALargeSector",
       Sectors(4096),
       "create f; write f 0 4096 A; settle; open f; write f 0 512 B; "
       "write f 512 512 C; crash",
       {"f=A4096", "f=B512A3584", "f=B512C512A3072"}},
      {"EightKiloSectors",
       Sectors(8192),
       "create f; write f 0 8192 A; settle; open f; write f 0 8192 B; crash",
       {"f=A8192", "f=B8192"}},
      {"AtomicPages",
       Atomic8k(),
       "create f; write f 0 16384 A; settle; open f; "
       "write f 0 16384 B; crash",
       {"f=A16384", "f=A8192B8192", "f=B8192A8192", "f=B16384"}},
      {"PrefixImagesKeepIssueOrder",
       WithMix(ImageMix::kPrefix),
       TWO_A "write f 0 512 B; write f 512 512 C; crash",
       {"f=A1024", "f=B512A512", "f=B512C512"}},
      {"SnapshotsMixAdjacentInstants",
       WithMix(ImageMix::kPageSnapshot),
       TWO_A "write f 0 512 B; write f 512 512 C; write f 0 512 D; crash",
       {"f=A1024", "f=B512A512", "f=B512C512", "f=D512C512"}},
      {"WritebackIsAlwaysAllowed",
       Plain(),
       ONE_A "write f 0 512 B; writeback; write f 0 512 C; crash",
       {"f=A512", "f=B512", "f=C512"}},
  };
  return kCases;
}

const std::vector<Case>& SizeCases() {
  static const std::vector<Case> kCases = {
      {"TruncateExtends",
       Plain(),
       ONE_A "truncate f 1024; crash",
       {"f=A512", "f=A512.512"}},
      {"TruncateExtendsDurably",
       Plain(),
       ONE_A "truncate f 1024; fsync f; crash",
       {"f=A512.512"}},
      {"LostShrinkBringsBytesBack",
       Plain(),
       TWO_A "truncate f 512; crash",
       {"f=A1024", "f=A512"}},
      {"LostShrinkInsideASector",
       Plain(),
       ONE_A "truncate f 100; crash",
       {"f=A512", "f=A100"}},
      {"ShrinkWithFsync",
       Plain(),
       TWO_A "truncate f 512; fsync f; crash",
       {"f=A512"}},
      {"ShrinkThenExtendShowsZeros",
       Plain(),
       TWO_A "truncate f 512; truncate f 1024; crash",
       {"f=A1024", "f=A512", "f=A512.512"}},
      {"ShrinkThenExtendInsideASector",
       Plain(),
       ONE_A "truncate f 100; truncate f 512; crash",
       {"f=A512", "f=A100", "f=A100.412"}},
      {"TruncateThenWrite",
       Plain(),
       ONE_A "truncate f 0; write f 0 512 B; crash",
       {"f=A512", "f=", "f=.512", "f=B512"}},
      {"WriteThenTruncateInsideIt",
       Plain(),
       ONE_A "write f 0 512 B; truncate f 100; crash",
       {"f=A512", "f=B512", "f=A100", "f=B100"}},
      {"TruncateThenSmallerWrite",
       Plain(),
       TWO_A "truncate f 0; write f 0 512 B; crash",
       {"f=A1024", "f=", "f=.512", "f=B512"}},
      {"LostGrowthLeavesNothingBehind",
       Plain(),
       "create f; settle; open f; write f 0 512 A; crash; read f; open f; "
       "truncate f 1024",
       {"read: | f=.1024", "read:.512 | f=.1024", "read:A512 | f=A512.512"}},
      {"LostShrinkOverAHole",
       WithFill(Fill::kGarbage),
       "create f; truncate f 1024; settle; open f; truncate f 0; "
       "write f 512 512 B; crash",
       {"f=", "f=.1024", "f=.512?512", "f=.512B512", "f=?512.512", "f=?1024",
        "f=?512B512"}},
      {"HoleReadsZeros",
       Plain(),
       "create f; settle; open f; write f 1024 512 A; fsync f; crash",
       {"f=.1024A512"}},
      {"HoleWithoutFsync",
       Plain(),
       "create f; settle; open f; write f 1024 512 A; crash",
       {"f=", "f=.1536", "f=.1024A512"}},
      {"GarbageInUnwrittenSectors",
       WithFill(Fill::kGarbage),
       "create f; settle; open f; write f 0 512 A; crash",
       {"f=", "f=.512", "f=?512", "f=A512"}},
      {"GarbageInsideTheFileAlone",
       WithFill(Fill::kGarbage),
       "create f; settle; open f; write f 0 100 A; write f 0 600 A; fsync f; "
       "write f 600 100 B; crash",
       {"f=A600", "f=A600.100", "f=A600B100"}},
      {"StaleBytesOfAFreedFile",
       WithFill(Fill::kStale),
       "create f; create s; write s 0 4096 S; settle; unlink s; syncdir .; "
       "open f; write f 0 512 A; crash",
       {"f=", "f=.512", "f=S512", "f=A512"}},
      {"FsyncedZerosStayZeros",
       WithFill(Fill::kGarbage),
       "create f; settle; open f; truncate f 512; fsync f; crash",
       {"f=.512"}},
  };
  return kCases;
}

const std::vector<Case>& NameCases() {
  static const std::vector<Case> kCases = {
      {"CreateIsPending", Plain(), "create f; crash", {"", "f="}},
      {"CreateIsPendingWeak", Weak(), "create f; crash", {"", "f="}},
      {"FsyncOfANewFileKeepsItsName",
       Plain(),
       "create f; write f 0 512 A; fsync f; crash",
       {"f=A512"}},
      {"FsyncOfANewFileLosesItsNameWeak",
       Weak(),
       "create f; write f 0 512 A; fsync f; crash",
       {"", "f=A512"}},
      {"FsyncOfTheDirectoryWeak",
       Weak(),
       "create f; write f 0 512 A; fsync f; syncdir .; crash",
       {"f=A512"}},
      {"DirectoryFsyncIsNotFileFsync",
       Plain(),
       "create f; write f 0 512 A; syncdir .; crash",
       {"f=", "f=.512", "f=A512"}},
      {"DirectoryFsyncTakesAllEntries",
       Plain(),
       "create a; create b; syncdir .; crash",
       {"a= b="}},
      {"FsyncMayReachFurther",
       Plain(),
       "create a; create b; fsync a; crash",
       {"a=", "a= b="}},
      {"FsyncTakesEarlierOperations",
       Plain(),
       "create a; create b; fsync b; crash",
       {"a= b="}},
      {"CreatesAreUnorderedWeak",
       Weak(),
       "create a; create b; crash",
       {"", "a=", "b=", "a= b="}},
      {"ReplaceByRename",
       Plain(),
       ONE_A "create t; write t 0 512 B; fsync t; rename t f; syncdir .; crash",
       {"f=B512"}},
      {"ReplaceWithoutDirectoryFsync",
       Plain(),
       ONE_A "create t; write t 0 512 B; fsync t; rename t f; crash",
       {"f=A512 t=B512", "f=B512"}},
      {"ReplaceWithoutDirectoryFsyncWeak",
       Weak(),
       ONE_A "create t; write t 0 512 B; fsync t; rename t f; crash",
       {"f=A512", "f=A512 t=B512", "f=B512"}},
      {"ReplaceWithoutFileFsync",
       Plain(),
       ONE_A "create t; write t 0 512 B; rename t f; syncdir .; crash",
       {"f=", "f=.512", "f=B512"}},
      {"ReplaceWithoutAnyFsync",
       Plain(),
       ONE_A "create t; write t 0 512 B; rename t f; crash",
       {"f=A512", "f=A512 t=", "f=A512 t=.512", "f=A512 t=B512", "f=", "f=.512",
        "f=B512"}},
      {"RenameOverKeepsOldXorNewWeak",
       Weak(),
       "create f; write f 0 512 A; create g; write g 0 512 B; settle; "
       "rename f g; crash",
       {"f=A512 g=B512", "g=A512"}},
      {"RenameTwiceWeak",
       Weak(),
       "create f; settle; rename f g; rename g h; crash",
       {"f=", "g=", "h="}},
      {"SplitRename",
       Split(Plain()),
       "create f; write f 0 512 A; settle; rename f g; crash",
       {"f=A512", "f=A512 g=A512", "g=A512"}},
      {"SplitRenameWeak",
       Split(Weak()),
       "create f; write f 0 512 A; settle; rename f g; crash",
       {"", "f=A512", "f=A512 g=A512", "g=A512"}},
      {"RenameAcrossDirectories",
       Plain(),
       "mkdir a; mkdir b; create a/f; settle; rename a/f b/f; crash",
       {"a/ a/f= b/", "a/ b/ b/f="}},
      {"RenameAcrossDirectoriesWeak",
       Weak(),
       "mkdir a; mkdir b; create a/f; settle; rename a/f b/f; crash",
       {"a/ a/f= b/", "a/ b/ b/f=", "a/ a/f= b/ b/f=", "a/ b/"}},
      {"RenameAcrossWithOneFsyncWeak",
       Weak(),
       "mkdir a; mkdir b; create a/f; settle; rename a/f b/f; syncdir b; crash",
       {"a/ b/ b/f=", "a/ a/f= b/ b/f="}},
      {"UnlinkedFileMayReappear",
       Plain(),
       ONE_A "unlink f; crash",
       {"f=A512", ""}},
      {"UnlinkWithDirectoryFsync",
       Plain(),
       ONE_A "unlink f; syncdir .; crash",
       {""}},
      {"UnlinkAndRecreate",
       Plain(),
       ONE_A "close f; unlink f; create f; write f 0 512 B; crash",
       {"f=A512", "", "f=", "f=.512", "f=B512"}},
      {"UnlinkAndRecreateWithFsync",
       Plain(),
       ONE_A "close f; unlink f; create f; write f 0 512 B; fsync f; crash",
       {"f=B512"}},
      {"UnlinkAndRecreateWeak",
       Weak(),
       ONE_A "close f; unlink f; create f; crash",
       {"f=A512", "", "f="}},
      {"MakeDirectory",
       Plain(),
       "mkdir d; create d/x; crash",
       {"", "d/", "d/ d/x="}},
      {"MakeDirectoryWeak",
       Weak(),
       "mkdir d; create d/x; syncdir d; crash",
       {"", "d/ d/x="}},
      {"RemoveDirectory",
       Plain(),
       "mkdir d; create d/x; settle; unlink d/x; rmdir d; crash",
       {"d/ d/x=", "d/", ""}},
      {"RemoveDirectoryWeak",
       Weak(),
       "mkdir d; create d/x; settle; unlink d/x; rmdir d; syncdir .; crash",
       {""}},
      {"CrashInsideDirectoryFsync",
       Plain(),
       "create f; cut; syncdir .; crash",
       {"", "f="}},
  };
  return kCases;
}

const std::vector<Case>& CrashCases() {
  static const std::vector<Case> kCases = {
      {"ProcessCrashKeepsTheCache",
       Plain(),
       ONE_A "write f 0 512 B; create g; pcrash",
       {"f=B512 g="}},
      {"ProcessCrashThenPowerLoss",
       Plain(),
       ONE_A "write f 0 512 B; pcrash; crash",
       {"f=A512", "f=B512"}},
      {"ProcessCrashThenFsync",
       Plain(),
       ONE_A "write f 0 512 B; pcrash; open f; fsync f; crash",
       {"f=B512"}},
      {"SecondCrashBeforeAnyoneLooks",
       Plain(),
       ONE_A "write f 0 512 B; crash; crash",
       {"f=A512", "f=B512"}},
      {"OverwriteOfAnUndeterminedSector",
       Plain(),
       ONE_A "write f 0 512 B; crash; open f; write f 0 512 C; crash",
       {"f=A512", "f=B512", "f=C512"}},
      {"FsyncedOverwriteCloses",
       Plain(),
       ONE_A "write f 0 512 B; crash; open f; write f 0 512 C; fsync f; crash",
       {"f=C512"}},
      {"OverwriteDuringFsyncAfterCrash",
       Plain(),
       ONE_A "write f 0 512 B; crash; open f; during write f 0 512 C; fsync f;"
             "crash",
       {"f=A512", "f=B512", "f=C512"}},
      {"AReadFixesTheVersion",
       Plain(),
       ONE_A "write f 0 512 B; crash; read f; crash; read f",
       {"read:A512 read:A512 | f=A512", "read:B512 read:B512 | f=B512"}},
      {"AReadThenAWrite",
       Plain(),
       ONE_A "write f 0 512 B; crash; read f; open f; write f 0 512 C; crash",
       {"read:A512 | f=A512", "read:A512 | f=C512", "read:B512 | f=B512",
        "read:B512 | f=C512"}},
      {"PartialOverwriteDetermines",
       Plain(),
       ONE_A "write f 0 512 B; crash; open f; write f 0 256 C; crash",
       {"f=A512", "f=B512", "f=C256A256", "f=C256B256"}},
      {"TruncationOfAnUndeterminedSector",
       Plain(),
       ONE_A "write f 0 512 B; crash; open f; truncate f 0; crash",
       {"f=A512", "f=B512", "f="}},
      {"ThirdCrash",
       Plain(),
       ONE_A "write f 0 512 B; crash; open f; write f 0 512 C; crash; open f; "
             "write f 0 512 D; crash",
       {"f=A512", "f=B512", "f=C512", "f=D512"}},
  };
  return kCases;
}

const std::vector<Case>& FailureCases() {
  static const std::vector<Case> kCases = {
      {"FailedFsyncThenFsync",
       Plain(),
       ONE_A "write f 0 512 B; fail; fsync f; fsync f; crash",
       {"fsync:EIO fsync | f=A512"}},
      {"FailedFsyncLosesASubset",
       Plain(),
       TWO_A "write f 0 1024 B; fail; fsync f; fsync f; crash",
       {"fsync:EIO fsync | f=A1024", "fsync:EIO fsync | f=A512B512",
        "fsync:EIO fsync | f=B512A512"}},
      {"FailedFsyncThenCrash",
       Plain(),
       ONE_A "write f 0 512 B; fail; fsync f; crash",
       {"fsync:EIO | f=A512"}},
      {"TheCacheStillShowsTheNewBytes",
       Plain(),
       ONE_A "write f 0 512 B; fail; fsync f; read f; crash",
       {"fsync:EIO read:B512 | f=A512"}},
      {"EvictionAfterFailure",
       Plain(),
       ONE_A "write f 0 512 B; fail; fsync f; read f; evict; read f",
       {"fsync:EIO read:B512 read:A512 | f=A512"}},
      {"RewriteAfterFailure",
       Plain(),
       ONE_A "write f 0 512 B; fail; fsync f; write f 0 512 C; crash",
       {"fsync:EIO | f=A512", "fsync:EIO | f=C512"}},
      {"RewriteAndFsyncAfterFailure",
       Plain(),
       ONE_A "write f 0 512 B; fail; fsync f; write f 0 512 C; fsync f; crash",
       {"fsync:EIO fsync | f=C512"}},
      {"EveryOpenHandleIsToldOnce",
       Plain(),
       ONE_A "open g=f; write f 0 512 B; fail; fsync f; fsync g; fsync g",
       {"fsync:EIO fsync:EIO fsync | f=B512"}},
      {"AReopenedFileIsNotTold",
       Plain(),
       ONE_A "write f 0 512 B; fail; fsync f; close f; open f; fsync f; crash",
       {"fsync:EIO fsync | f=A512"}},
      {"ProcessCrashForgetsTheError",
       Plain(),
       ONE_A "write f 0 512 B; fail; fsync f; pcrash; open f; fsync f; crash",
       {"fsync:EIO fsync | f=A512"}},
      {"FailureOnAnUndeterminedSector",
       Plain(),
       ONE_A "write f 0 512 B; crash; open f; write f 0 512 C; fail; fsync f; "
             "crash",
       {"fsync:EIO | f=A512", "fsync:EIO | f=B512"}},
      {"EvictionUncoversAnUndeterminedSector",
       Plain(),
       ONE_A "write f 0 512 B; crash; open f; write f 0 512 C; fail; fsync f; "
             "evict; read f",
       {"fsync:EIO read:A512 | f=A512", "fsync:EIO read:B512 | f=B512"}},
  };
  return kCases;
}

const std::vector<Case>& LateAndBtrfsCases() {
  static const std::vector<Case> kCases = {
      {"LateFailureSucceedsNowAndLosesData",
       Plain(),
       ONE_A "write f 0 512 B; fail late; fsync f; read f; crash",
       {"read:B512 | f=A512"}},
      {"LateFailureIsToldByTheNextFsyncOnce",
       Plain(),
       ONE_A "write f 0 512 B; fail late; fsync f; fsync f; fsync f; crash",
       {"fsync:EIO fsync | f=A512"}},
      {"LateFailureIsToldToAHandleOpenedAfterIt",
       Plain(),
       ONE_A "write f 0 512 B; fail late; fsync f; close f; open f; fsync f",
       {"fsync:EIO | f=B512"}},
      {"LateFailureOutlivesTheProcess",
       Plain(),
       ONE_A "write f 0 512 B; fail late; fsync f; pcrash; open f; fsync f; "
             "crash",
       {"fsync:EIO | f=A512"}},
      {"LateFailureKeepsWhatItDidNotLose",
       Plain(),
       TWO_A "write f 0 1024 B; fail late; fsync f; crash",
       {"f=A1024", "f=A512B512", "f=B512A512"}},
      {"BtrfsShowsTheOldBytesAtOnce",
       Plain(),
       ONE_A "write f 0 512 B; fail btrfs; fsync f; read f; fsync f; crash",
       {"fsync:EIO read:A512 fsync | f=A512"}},
      {"BtrfsTakesBackAllVersions",
       Plain(),
       TWO_A "write f 0 1024 B; write f 0 512 C; fail btrfs; fsync f; crash",
       {"fsync:EIO | f=A1024"}},
      {"BtrfsLeavesALaterWrite",
       Plain(),
       ONE_A "write f 0 512 B; during write f 0 512 C; fail btrfs; fsync f; "
             "read f; crash",
       {"fsync:EIO read:C512 | f=A512", "fsync:EIO read:C512 | f=C512"}},
      {"BtrfsUncoversAnUndeterminedSector",
       Plain(),
       ONE_A "write f 0 512 B; crash; open f; write f 0 512 C; fail btrfs; "
             "fsync f; crash",
       {"fsync:EIO | f=A512", "fsync:EIO | f=B512"}},
  };
  return kCases;
}

DiskOptions Delayed() {
  DiskOptions options = Plain();
  options.delayed_allocation = true;
  return options;
}

const std::vector<Case>& TransferCases() {
  static const std::vector<Case> kCases = {
      {"ShortWriteWritesItsPartOnly",
       Plain(),
       ONE_A "short 100; write f 0 512 B; fsync f; crash",
       {"write:100 | f=B100A412"}},
      {"ShortWriteIsPendingForWhatItReported",
       Plain(),
       TWO_A "short 512; write f 0 1024 B; crash",
       {"write:512 | f=A1024", "write:512 | f=B512A512"}},
      {"InterruptedWriteWritesNothing",
       Plain(),
       ONE_A "eintr; write f 0 512 B; fsync f; crash",
       {"write:EINTR | f=A512"}},
      {"ShortReadReadsTheFront",
       Plain(),
       TWO_A "short 700; read f; eintr; read f; read f",
       {"read:A700 read:EINTR read:A1024 | f=A1024"}},
      {"FullDiskTakesWholeBlocks",
       Plain(),
       "create f; full 4096; write f 0 8192 A; write f 4096 4096 B",
       {"write:4096 write:ENOSPC | f=A4096"}},
      {"FullDiskStillOverwrites",
       Plain(),
       ONE_A "full 0; write f 0 512 B; write f 512 512 B; write f 512 4096 C",
       {"write:3584 | f=B512C3584"}},
      {"FullDiskCreatesNothing",
       Plain(),
       ONE_A "full 0; create g; unlink f",
       {"create:ENOSPC |"}},
      {"FreedSpaceIsUsedAgain",
       Plain(),
       ONE_A "create g; full 0; write g 0 512 B; close f; unlink f; "
             "write g 0 512 C",
       {"write:ENOSPC | g=C512"}},
      {"DelayedAllocationFailsTheFsync",
       Delayed(),
       ONE_A "full 0; write f 4096 512 B; fsync f; roomy; fsync f; read f; "
             "crash",
       {"fsync:ENOSPC fsync read:A512.3584B512 | f=A512.4096"}},
      {"DelayedAllocationSparesWhatIsAllocated",
       Delayed(),
       ONE_A "full 0; write f 0 512 C; write f 4096 512 B; fsync f; roomy; "
             "fsync f; crash",
       {"fsync:ENOSPC fsync | f=C512.4096"}},
  };
  return kCases;
}

const std::vector<Case>& MediaCases() {
  static const std::vector<Case> kCases = {
      {"DamageShowsUntilSomebodyWrites",
       Plain(),
       TWO_A "strike zeroed f 0 512; read f; read f; write f 0 512 B; read f",
       {"read:.512A512 read:.512A512 read:B512A512 | f=B512A512"}},
      {"GarbageIsTheSameOnEveryRead",
       Plain(),
       TWO_A "strike garbage f 512 512; read f; crash; read f",
       {"read:A512?512 read:A512?512 | f=A512?512"}},
      {"APowerLossKeepsDamage",
       Plain(),
       TWO_A "strike zeroed f 512 512; crash",
       {"f=A512.512"}},
      {"ALostOverwriteBringsDamageBack",
       Plain(),
       ONE_A "strike zeroed f 0 512; write f 0 512 B; crash",
       {"f=.512", "f=B512"}},
      {"APendingSectorIsNotStruck",
       Plain(),
       ONE_A "write f 0 512 B; strike zeroed f 0 512; read f; crash",
       {"missed read:B512 | f=A512", "missed read:B512 | f=B512"}},
      {"WhatIsMissingIsNotStruck",
       Plain(),
       ONE_A "strike zeroed g 0 512; strike zeroed f 512 512",
       {"missed missed | f=A512"}},
      {"RepairShowsWhatWasWritten",
       Plain(),
       TWO_A "strike zeroed f 0 1024; strike garbage f 0 512; repair; crash",
       {"f=A1024"}},
      {"RepairSparesWhatWasOverwritten",
       Plain(),
       ONE_A "strike zeroed f 0 512; write f 0 512 B; repair; fsync f; crash",
       {"f=B512"}},
      {"WritingWhatTheDamageShowsIsNoDamage",
       Plain(),
       "remember; create f; write f 0 512 A; settle; open f; write f 0 512 B; "
       "fsync f; lose f; write f 0 512 A; fsync f; repair; crash",
       {"f=A512"}},
      {"WritingBackTheDamageThatWasReadIsDamage",
       Plain(),
       "remember; create f; write f 0 512 A; settle; open f; write f 0 512 B; "
       "fsync f; lose f; read f; write f 0 512 A; fsync f; repair; crash",
       {"read:A512 | f=B512"}},
      {"AnUnreadableSectorIsReadableOnceRewritten",
       Plain(),
       ONE_A "strike unreadable f 0 512; read f; crash; read f; open f; "
             "write f 0 512 B; read f",
       {"read:EIO read:EIO read:B512 | f=B512"}},
      {"AnUnreadableSectorSparesTheOthers",
       Plain(),
       TWO_A "strike unreadable f 0 512; read f 512 512; repair; read f",
       {"read:A512 read:A1024 | f=A1024"}},
      {"AReadFailsOnce",
       Plain(),
       ONE_A "badread; read f; read f",
       {"read:EIO read:A512 | f=A512"}},
      {"AReadGoesAstrayOnce",
       Plain(),
       "create f; write f 0 8192 A; write f 8192 8192 B; settle; misread 1; "
       "read f 0 512; read f 0 512",
       {"read:B512 read:A512 | f=A8192B8192"}},
      {"ALostWriteKeepsTheOldBytes",
       Plain(),
       "remember; " TWO_A
       "write f 0 512 B; fsync f; read f; lose f; read f; crash",
       {"read:B512A512 read:A1024 | f=A1024"}},
      {"ALostExtensionReadsAsZeros",
       Plain(),
       "remember; " ONE_A "write f 512 512 B; fsync f; lose f; crash",
       {"f=A512.512"}},
      {"ALostWriteIsHealedByTheNext",
       Plain(),
       "remember; " TWO_A
       "write f 0 512 B; fsync f; lose f; write f 0 512 C; fsync f; crash",
       {"f=C512A512"}},
      {"RepairBringsALostWrite",
       Plain(),
       "remember; " TWO_A "write f 0 512 B; fsync f; lose f; repair; crash",
       {"f=B512A512"}},
      {"OnlyFlushedWritesAreLost",
       Plain(),
       "remember; " TWO_A
       "write f 0 512 B; lose f; fsync f; write f 0 512 C; lose f; crash",
       {"missed missed | f=B512A512", "missed missed | f=C512A512"}},
      {"AMisdirectedWriteLandsInTheSameFile",
       Plain(),
       "remember; create f; write f 0 8192 A; write f 8192 8192 B; settle; "
       "open f; write f 0 8192 C; fsync f; misdirect f f 8192 8192; crash",
       {"f=C16384"}},
      {"AMisdirectedWriteLandsInAnotherFile",
       Plain(),
       "remember; create g; write g 0 8192 B; " ONE_A
       "write f 0 8192 A; fsync f; misdirect f g 4096 4096; read g; repair; "
       "read g",
       {"read:B4096A4096 read:B8192 | f=A8192 g=B8192"}},
      {"AMisdirectedWriteMayMissItsPlaceToo",
       Plain(),
       "remember; create g; write g 0 8192 B; " ONE_A
       "write f 0 8192 C; fsync f; misdirect f g 0 8192; lose f; crash",
       {"f=A512.7680 g=C8192"}},
      {"AShornSectorHasTheHeadOfTheNewBytes",
       Plain(),
       ONE_A "write f 0 512 B; shear 255; crash; read f; repair; read f",
       {"read:B256A256 read:B512 | f=B512"}},
      {"OnlyAPendingSectorIsShorn",
       Plain(),
       ONE_A "shear 255; write f 0 512 B; fsync f; shear 255; crash",
       {"missed missed | f=B512"}},
      {"ALyingFlushHasFlushedNothing",
       Plain(),
       ONE_A "write f 0 512 B; fail lying; fsync f; crash",
       {"f=A512", "f=B512"}},
      {"AnHonestFlushAfterALyingOneHelps",
       Plain(),
       ONE_A "write f 0 512 B; fail lying; fsync f; fsync f; crash",
       {"f=B512"}},
      {"ALyingFlushKeepsNoEntries",
       Plain(),
       ONE_A "create g; write g 0 512 B; fail lying; fsync g; crash",
       {"f=A512", "f=A512 g=", "f=A512 g=.512", "f=A512 g=B512"}},
      {"AReadOnlyFileSystemStillReads",
       Plain(),
       ONE_A "readonly; write f 0 512 B; read f; create g; fsync f",
       {"write:EROFS read:A512 create:EROFS | f=A512"}},
      {"APendingWriteCannotBeFlushedAnyMore",
       Plain(),
       ONE_A "write f 0 512 B; readonly; fsync f; crash",
       {"fsync:EROFS | f=A512", "fsync:EROFS | f=B512"}},
      {"AStoppedFileSystemFailsEveryCall",
       Plain(),
       ONE_A "shutdown; write f 0 512 B; fsync f; create g",
       {"write:EIO fsync:EIO create:EIO | f=A512"}},
  };
  return kCases;
}

std::string CaseName(const testing::TestParamInfo<Case>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Data, Litmus, testing::ValuesIn(DataCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Size, Litmus, testing::ValuesIn(SizeCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Names, Litmus, testing::ValuesIn(NameCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Crashes, Litmus, testing::ValuesIn(CrashCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(LateAndBtrfs, Litmus,
                         testing::ValuesIn(LateAndBtrfsCases()), CaseName);
INSTANTIATE_TEST_SUITE_P(Transfers, Litmus, testing::ValuesIn(TransferCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Media, Litmus, testing::ValuesIn(MediaCases()),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Failures, Litmus, testing::ValuesIn(FailureCases()),
                         CaseName);

// The mixture of image styles must stay inside what even draws can reach, and
// in the end reach all of it.
TEST(BiasedImages, ReachExactlyTheLegalStates) {
  for (MetaMode meta : {MetaMode::kOrdered, MetaMode::kWeak}) {
    const char* script =
        "create f; write f 0 1024 A; create g; settle; open f; "
        "write f 0 1024 B; write f 512 512 C; create h; unlink g; crash";
    DiskOptions options = Plain();
    options.meta = meta;
    std::set<std::string> legal = LitmusStates(options, script);
    options.biased_images = true;
    EXPECT_EQ(LitmusSample(options, script, 2000), legal);
  }
}

// All styles over two power losses with a write in between.
TEST(BiasedImages, SurviveASecondCrash) {
  const char* script =
      ONE_A "write f 0 512 B; crash; open f; write f 0 512 C; crash";
  DiskOptions options = Plain();
  options.biased_images = true;
  EXPECT_EQ(LitmusSample(options, script, 500), LitmusStates(Plain(), script));
}

}  // namespace
}  // namespace sim
