// Atlas: the contract, row by row, and which crashes are legal where.
//
// The matrix C1..C23 says for every fault what an engine owes under each
// profile: to survive it, to detect it, to refuse and name it, or nothing. Rows
// that PostgreSQL itself leaves open name the engine option that closes them: a
// run that breaks such a row, whose fault struck, and that keeps every promise
// with the option on, is a "known PostgreSQL gap" and not a finding.
// FAULT_MODEL.md restates the table; a test holds the two together.
#ifndef MUSTH_FAULTS_ATLAS_H_
#define MUSTH_FAULTS_ATLAS_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "faults/profile.h"
#include "sim/env/site.h"
#include "sim/fault_hooks.h"
#include "sim/fault_log.h"

namespace faults {

enum class Requirement : uint8_t {
  kNotDrawn,         // the profile does not have the fault
  kSurvive,          // no client notices more than a statement error or a crash
  kSurviveOrRefuse,  // ... or a refusal that names the fault
  kDetect,           // the damage is noticed before anything wrong is told
  kRefuse,           // the node says no and names the fault
  kOutside,          // nothing is demanded, outcomes are counted
};
// "survive"
const char* RequirementName(Requirement requirement);

// The columns of the matrix.
enum class ProfileColumn : uint8_t { kPgContract, kStrict, kMedia, kBeyond };
inline constexpr int kProfileColumns = 4;

// What a file is to the engine.
enum class FileClass : uint8_t { kData, kWal, kClog, kControl, kOther };
inline constexpr int kFileClasses = 5;
FileClass FileClassOf(std::string_view path);

// The family that does such damage.
Family FamilyOf(sim::Damage damage);
// Whether what the family does is in the fault log, record by record.
bool LeavesDamage(Family family);

// What struck in one run.
struct Evidence {
  bool measured = false;  // the profile demands nothing of rows outside
  bool weak_metadata = false;
  uint64_t entries_lost = 0;   // directory operations taken back
  uint64_t sync_failures = 0;  // fsyncs that failed
  uint64_t late_failures = 0;  // ... of which the caller was not told
  // Damaged pages of main forks that were read as nothing but zeros.
  uint64_t zeros_read = 0;
  // Records of the fault log, by kind and place.
  std::array<std::array<uint64_t, kFileClasses>, sim::kDamageCount> damage = {};

  void Add(const sim::FaultRecord& record);
  // Adds what struck in another world.
  void Merge(const Evidence& other);
  uint64_t Count(std::initializer_list<sim::Damage> kinds,
                 FileClass where) const;
  uint64_t Count(std::initializer_list<sim::Damage> kinds) const;
};

struct ContractRow {
  std::string_view name;  // "C5"
  std::string_view fault;
  std::array<Requirement, kProfileColumns> required;
  // Bits 1 << Family of what brings it about.
  uint32_t families = 0;
  // What PostgreSQL does where that is less; empty: the same.
  std::string_view postgres = {};
  // The knob of the engine option that closes the gap; empty: there is none,
  // and breaking the row is a finding.
  std::string_view option = {};
  // Whether the row's own fault struck. Null: nothing depends on it, as the row
  // has no gap and no profile leaves it outside.
  bool (*struck)(const Evidence& evidence) = nullptr;

  bool IsKnownGap() const { return !option.empty(); }
  bool IsOutside(ProfileColumn profile) const {
    return required[static_cast<size_t>(profile)] == Requirement::kOutside;
  }
};

// C1 to C23, in order.
std::span<const ContractRow> Contract();
// Null if there is no such row.
const ContractRow* FindRow(std::string_view name);

// A pair of crash point and crash kind that cannot or must not happen.
struct Exclusion {
  std::string_view point;
  sim::CrashKind kind;
  std::string_view reason;
};
std::span<const Exclusion> IllegalCrashes();
// Null if the crash is legal.
const Exclusion* FindExclusion(std::string_view point, sim::CrashKind kind);

// Kinds that a crash plan draws.
inline constexpr std::array<sim::CrashKind, 3> kCrashKinds = {
    sim::CrashKind::kTaskKill, sim::CrashKind::kProcess,
    sim::CrashKind::kPowerLoss};
// Names of all places where a crash may strike: the node's injection points,
// device steps, "step" and "end of plan"; sorted.
std::vector<std::string> CrashPointNames(env::SiteTable sites);

}  // namespace faults

#endif  // MUSTH_FAULTS_ATLAS_H_
