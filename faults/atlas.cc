#include "faults/atlas.h"

#include <algorithm>

#include "faults/crash_faults.h"

namespace faults {
namespace {

using enum Requirement;
using sim::CrashKind;
using sim::Damage;

constexpr uint32_t Bit(Family family) {
  return uint32_t{1} << static_cast<int>(family);
}
constexpr uint32_t kCrashes = Bit(Family::kProcessCrash) |
                              Bit(Family::kPowerLoss) | Bit(Family::kTaskKill);
constexpr uint32_t kPower = Bit(Family::kPowerLoss);

using Required = std::array<Requirement, kProfileColumns>;
constexpr Required kAlwaysSurvive = {kSurvive, kSurvive, kSurvive, kSurvive};

constexpr Required MediaOnly(Requirement requirement) {
  return {kNotDrawn, kNotDrawn, requirement, requirement};
}

// The columns: pg-contract, strict, media, beyond.
constexpr ContractRow kRows[] = {
    {"C1", "process or operating system crash, any image of SFM-15",
     kAlwaysSurvive, kCrashes},
    {"C2", "torn data page since the last checkpoint", kAlwaysSurvive, kPower},
    {"C3", "torn or reordered WAL tail, garbage or stale bytes behind it",
     kAlwaysSurvive, kPower},
    {"C4", "lost or reordered files and entries, ordered log", kAlwaysSurvive,
     kPower},
    {"C5",
     "lost or reordered entries, weakly ordered directories",
     {kNotDrawn, kSurvive, kNotDrawn, kNotDrawn},
     kPower,
     "does not fsync the directory of a new relation's file",
     "sync_new_file_directory",
     [](const Evidence& e) { return e.weak_metadata && e.entries_lost > 0; }},
    {"C6", "crash inside recovery; process crash, then power loss",
     kAlwaysSurvive, Bit(Family::kRecoveryCrash) | Bit(Family::kDoubleCrash)},
    {"C7", "short or interrupted transfer", kAlwaysSurvive,
     Bit(Family::kShortTransfer),
     "data files fail with an error on a short write, WAL writes go on"},
    {"C8", "no space for data", kAlwaysSurvive, Bit(Family::kDiskFull)},
    {"C9", "no space or an I/O error for WAL", kAlwaysSurvive,
     Bit(Family::kSyncFailure) | Bit(Family::kDiskFull)},
    {"C10", "fsync of a data file fails", kAlwaysSurvive,
     Bit(Family::kSyncFailure) | Bit(Family::kEviction)},
    {"C11", "fsync of WAL fails, then a restart with cached WAL",
     kAlwaysSurvive, Bit(Family::kSyncFailure) | Bit(Family::kEviction),
     "trusts visible WAL that never became durable", "rewrite_wal_before_trust",
     [](const Evidence& e) { return e.sync_failures > 0; }},
    {"C12",
     "a failed write is reported late",
     {kNotDrawn, kSurviveOrRefuse, kSurviveOrRefuse, kSurviveOrRefuse},
     Bit(Family::kSyncFailure),
     "believes the fsync that says it succeeded, as any program does",
     "prompt_sync_errors",
     [](const Evidence& e) { return e.late_failures > 0; }},
    {"C13",
     "the file system turns read-only or shuts down",
     {kNotDrawn, kNotDrawn, kRefuse, kRefuse},
     Bit(Family::kReadOnlyFs)},
    {"C14", "a data page cannot be read", MediaOnly(kRefuse),
     Bit(Family::kReadError)},
    {"C15",
     "garbage in a data page that no record of the log makes again",
     {kDetect, kDetect, kDetect, kDetect},
     Bit(Family::kFill) | Bit(Family::kBitRot) | Bit(Family::kGarbage) |
         Bit(Family::kZeroed) | Bit(Family::kMisread)},
    {"C16", "zeroed page inside a relation", MediaOnly(kDetect),
     Bit(Family::kZeroed), "takes a page of zeros for a new one",
     "detect_zeroed_pages", [](const Evidence& e) { return e.zeros_read > 0; }},
    {"C17", "misdirected write inside a relation", MediaOnly(kDetect),
     Bit(Family::kMisdirected)},
    {"C18", "misdirected write from the same block of another relation",
     MediaOnly(kDetect), Bit(Family::kMisdirected),
     "its checksum leaves the relation out", "checksum_relation",
     [](const Evidence& e) {
       return e.Count({Damage::kMisdirected}, FileClass::kData) > 0;
     }},
    {"C19",
     "a data page keeps an older version",
     {kNotDrawn, kNotDrawn, kNotDrawn, kOutside},
     Bit(Family::kLostWrite) | Bit(Family::kMisdirected),
     "an old page is as good as a new one",
     {},
     [](const Evidence& e) {
       return e.Count({Damage::kLostWrite, Damage::kMissedWrite}) > 0;
     }},
    {"C20", "a sector of the control file is damaged", MediaOnly(kRefuse),
     Bit(Family::kBitRot) | Bit(Family::kGarbage) | Bit(Family::kZeroed) |
         Bit(Family::kReadError)},
    {"C21", "WAL is damaged before the last acknowledged flush",
     MediaOnly(kDetect), 0, "takes damage for the end of the log",
     "wal_flush_watermark",
     [](const Evidence& e) {
       return e.Count({Damage::kReadError, Damage::kBitRot, Damage::kGarbage,
                       Damage::kZeroed, Damage::kMisread, Damage::kLostWrite,
                       Damage::kMisdirected, Damage::kMissedWrite},
                      FileClass::kWal) > 0;
     }},
    {"C22", "a page of the commit log is damaged", MediaOnly(kDetect), 0,
     "has no checksum there", "clog_checksums",
     [](const Evidence& e) {
       return e.Count(
                  {Damage::kBitRot, Damage::kGarbage, Damage::kZeroed,
                   Damage::kMisread, Damage::kMisdirected, Damage::kLostWrite},
                  FileClass::kClog) > 0;
     }},
    {"C23",
     "lying flush, shorn sector, double faults",
     {kNotDrawn, kNotDrawn, kNotDrawn, kOutside},
     Bit(Family::kLyingFlush) | Bit(Family::kShornSector),
     {},
     {},
     [](const Evidence& e) {
       return e.Count({Damage::kLyingFlush, Damage::kShorn}) > 0;
     }},
};

constexpr const char* kStartupOnly =
    "only the startup process passes it, whose death ends the postmaster: that "
    "is a process crash";

constexpr Exclusion kExclusions[] = {
    {"recovery_before_sync", CrashKind::kTaskKill, kStartupOnly},
    {"recovery_before_redo", CrashKind::kTaskKill, kStartupOnly},
    {"recovery_after_record", CrashKind::kTaskKill, kStartupOnly},
    {"recovery_before_tail_wipe", CrashKind::kTaskKill, kStartupOnly},
    {"recovery_before_checkpoint", CrashKind::kTaskKill, kStartupOnly},
    {"recovery_before_production", CrashKind::kTaskKill, kStartupOnly},
    {"end of plan", CrashKind::kTaskKill,
     "the driver asks for it when no task of a client is left to kill"},
};

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

}  // namespace

const char* RequirementName(Requirement requirement) {
  static constexpr std::array<const char*, 6> kNames = {
      "-", "survive", "survive or refuse", "detect", "refuse", "outside"};
  return kNames[static_cast<size_t>(requirement)];
}

FileClass FileClassOf(std::string_view path) {
  if (path == "global/pg_control") return FileClass::kControl;
  if (StartsWith(path, "pg_wal/")) return FileClass::kWal;
  if (StartsWith(path, "pg_xact/")) return FileClass::kClog;
  if (StartsWith(path, "base/") || StartsWith(path, "global/")) {
    size_t name = path.rfind('/') + 1;
    bool relation =
        name < path.size() && path[name] >= '0' && path[name] <= '9';
    return relation ? FileClass::kData : FileClass::kOther;
  }
  return FileClass::kOther;
}

Family FamilyOf(Damage damage) {
  switch (damage) {
    case Damage::kReadError:
      return Family::kReadError;
    case Damage::kBitRot:
      return Family::kBitRot;
    case Damage::kGarbage:
      return Family::kGarbage;
    case Damage::kZeroed:
      return Family::kZeroed;
    case Damage::kMisread:
      return Family::kMisread;
    case Damage::kMisdirected:
    case Damage::kMissedWrite:
      return Family::kMisdirected;
    case Damage::kLostWrite:
      return Family::kLostWrite;
    case Damage::kShorn:
      return Family::kShornSector;
    case Damage::kLyingFlush:
      return Family::kLyingFlush;
    default:
      return Family::kFill;
  }
}

bool LeavesDamage(Family family) {
  for (int i = 0; i < sim::kDamageCount; ++i) {
    if (FamilyOf(static_cast<Damage>(i)) == family) return true;
  }
  return false;
}

void Evidence::Merge(const Evidence& other) {
  weak_metadata |= other.weak_metadata;
  entries_lost += other.entries_lost;
  sync_failures += other.sync_failures;
  late_failures += other.late_failures;
  zeros_read += other.zeros_read;
  for (size_t kind = 0; kind < damage.size(); ++kind) {
    for (size_t where = 0; where < damage[kind].size(); ++where) {
      damage[kind][where] += other.damage[kind][where];
    }
  }
}

void Evidence::Add(const sim::FaultRecord& record) {
  ++damage[static_cast<size_t>(record.damage)]
          [static_cast<size_t>(FileClassOf(record.path))];
  bool main_fork = FileClassOf(record.path) == FileClass::kData &&
                   record.path.find('_') == std::string::npos;
  bool zeros = record.damage == Damage::kZeroed ||
               record.damage == Damage::kMisdirected ||
               record.damage == Damage::kMisread;
  if (main_fork && zeros && record.seen_as_zeros) ++zeros_read;
}

uint64_t Evidence::Count(std::initializer_list<sim::Damage> kinds,
                         FileClass where) const {
  uint64_t sum = 0;
  for (sim::Damage kind : kinds) {
    sum += damage[static_cast<size_t>(kind)][static_cast<size_t>(where)];
  }
  return sum;
}

uint64_t Evidence::Count(std::initializer_list<sim::Damage> kinds) const {
  uint64_t sum = 0;
  for (int i = 0; i < kFileClasses; ++i) {
    sum += Count(kinds, static_cast<FileClass>(i));
  }
  return sum;
}

std::span<const ContractRow> Contract() { return kRows; }

const ContractRow* FindRow(std::string_view name) {
  for (const ContractRow& row : kRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::span<const Exclusion> IllegalCrashes() { return kExclusions; }

const Exclusion* FindExclusion(std::string_view point, sim::CrashKind kind) {
  for (const Exclusion& exclusion : kExclusions) {
    if (exclusion.point == point && exclusion.kind == kind) return &exclusion;
  }
  return nullptr;
}

std::vector<std::string> CrashPointNames(env::SiteTable sites) {
  std::vector<std::string> names = {"step", "end of plan"};
  for (const char* step : DeviceStepNames()) names.emplace_back(step);
  for (const env::SiteInfo& site : sites) {
    if (site.kind == env::SiteKind::kInjection) names.emplace_back(site.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace faults
