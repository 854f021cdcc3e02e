// CrashFaults: when and how the host crashes.
//
// The whole crash plan of a run is drawn at the start: for each crash its
// kind, the phase it strikes in (while sessions run, or inside the recovery
// that follows the crash before it) and a place, counted since that phase of
// that incarnation began:
//
//   40 %  the n-th durability event: before, inside or just after an fsync, a
//         write or a metadata change
//   30 %  the n-th scheduling step
//   20 %  injection points: the n-th of any name, the m-th passing of the k-th
//         distinct one, or (most of them) of one that the plan names, which is
//         every other time one that few runs pass
//   10 %  inside recovery; after any crash a further 25 % of the next ones,
//         and 25 % of the process crashes are followed there by power loss
//
// A recipe may name its crashes instead (directions.h): no draw then.
//
// Crashes whose point does not come are not lost: the driver asks for them
// with ForcedCrash() when the workload is over. All draws are keyed
// (Stream::kCrashPoint; "w0/h0" crashes; "w0/h0/c2" for the third crash).
#ifndef MUSTH_FAULTS_CRASH_FAULTS_H_
#define MUSTH_FAULTS_CRASH_FAULTS_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "faults/directions.h"
#include "faults/fault_plan.h"
#include "sim/choices.h"
#include "sim/env/lookup_map.h"
#include "sim/env/site.h"
#include "sim/fault_hooks.h"

namespace faults {

const char* CrashKindName(sim::CrashKind kind);
// Names of the device steps as crash points, by sim::DeviceStep.
std::span<const char* const> DeviceStepNames();

// What the driver says the node is doing.
enum class Phase : uint8_t {
  kDone,      // nothing that may crash: set-up, the last phase of the run
  kRunning,   // sessions run
  kRecovery,  // from the node's start until it accepts sessions
};

struct PlannedCrash {
  enum class Place : uint8_t {
    kSyncEvent,       // an fsync's start, middle or end
    kDeviceChange,    // an fsync's steps, a write, a metadata change
    kStep,            // any scheduling step
    kInjection,       // an injection point
    kNewInjection,    // an injection point for the hits-th time, of the n-th
                      // name that this phase reached
    kNamedInjection,  // the injection point `point` for the hits-th time
    kMoment,          // what a direction names
  };
  sim::CrashKind kind = sim::CrashKind::kNone;
  // What a forced crash does instead of killing a task.
  sim::CrashKind forced_kind = sim::CrashKind::kNone;
  bool in_recovery = false;
  // Power loss right after a process crash, before recovery synced all.
  bool doubled = false;
  Place place = Place::kStep;
  uint64_t n = 1;     // counted from 1
  uint64_t hits = 1;  // kNewInjection, kNamedInjection
  std::string point;  // kNamedInjection
  // kMoment only.
  Moment moment;
  sim::ImageRules image;
  std::string direction;

  // "power loss at fsync event 12 while running".
  std::string ToString() const;
};

// Counts the events of a planned crash's place.
class PlaceCounter {
 public:
  void Clear();
  // True from the event on at which the crash is due. crash is the same at
  // every call between two Clear; not kMoment.
  bool Due(const PlannedCrash& crash, const sim::CrashPoint& point,
           env::SiteTable sites);

 private:
  uint64_t seen_ = 0;  // events of its place so far
  env::LookupMap<env::SiteId, uint64_t> site_hits_;
  uint64_t distinct_sites_ = 0;
  env::SiteId target_site_ = 0;  // of kNewInjection, once it is known
};

// "fsync middle", a site's name, "step".
std::string PointName(const sim::CrashPoint& point, env::SiteTable sites);

// Names of injection points that few runs pass; while sessions run, or in
// recovery.
std::span<const std::string_view> RarePoints(bool in_recovery);

// The crash plan of a run; empty if no crash family is on or none is drawn.
// host is the scope of the host without incarnation ("w0/h0"), sites the
// node's table. Requires: it has injection points.
std::vector<PlannedCrash> DrawCrashPlan(sim::Choices& choices,
                                        const sim::Scope& host,
                                        const FaultPlan& plan,
                                        env::SiteTable sites);

// count instants from the mixture that power losses are drawn from, the first
// at "w0/h0/f0". Their kind is of no account.
std::vector<PlannedCrash> DrawInstants(sim::Choices& choices,
                                       const sim::Scope& host, uint32_t count,
                                       env::SiteTable sites);

// The crash plan that directions name.
std::vector<PlannedCrash> DirectedCrashPlan(
    const std::vector<DirectedCrash>& crashes);

class CrashFaults : public sim::CrashHooks {
 public:
  // Enables the counters of the families that the crash plan has. sites is
  // the node's table, for names; it and counters outlive this.
  CrashFaults(std::vector<PlannedCrash> plan, env::SiteTable sites,
              FaultCounters* counters);

  // The node enters a phase: when it starts (or restarts after a panic), when
  // it accepts sessions, and when the faults are to stop. Counting begins anew.
  // A planned recovery crash that recovery did not reach strikes while sessions
  // run.
  void SetPhase(Phase phase);
  Phase phase() const { return phase_; }

  // A task that kTaskKill must spare: the postmaster, the driver's own.
  // Ids are never used twice, so there is no Unprotect.
  void ProtectTask(env::TaskId task);

  // A client sends the statement.
  void OnSend(const StatementRef& statement);
  // A client has the answer to the statement.
  void OnAnswer(const StatementRef& statement);

  // One of these when the next planned crash is due. The plan then moves on.
  sim::CrashKind OnPoint(const sim::CrashPoint& point) override;

  // The workload is over, or a crash was not due in time: the kind of the
  // next planned crash, which the driver carries out now; kNone if none is
  // left.
  sim::CrashKind ForcedCrash();

  // The crash that the last OnPoint or ForcedCrash answer belongs to struck
  // inside recovery.
  bool last_in_recovery() const { return last_in_recovery_; }
  // Where it struck: "fsync middle", a site's name, "step", "end of plan".
  const std::string& last_point() const { return last_point_; }

  // What the recipe says about its crash image; empty: to be drawn.
  const sim::ImageRules& last_image() const { return last_image_; }
  // Directions whose moment did not come.
  std::vector<std::string> Unmet() const;

  const std::vector<PlannedCrash>& plan() const { return plan_; }
  size_t crashes_left() const { return plan_.size() - next_; }
  // Crash point -> kind -> hits.
  const std::map<std::string, std::map<std::string, uint64_t>>& hits() const {
    return hits_;
  }

 private:
  bool Due(const sim::CrashPoint& point);
  void Count(sim::CrashKind kind, std::string point_name);
  void BeginCounting();

  std::vector<PlannedCrash> plan_;
  env::SiteTable sites_;
  FaultCounters* counters_;
  size_t next_ = 0;
  Phase phase_ = Phase::kDone;
  bool armed_ = false;  // the next crash may strike in this phase
  PlaceCounter counter_;
  uint64_t moments_ = 0;  // events of kMoment so far
  env::LookupMap<env::TaskId, bool> protected_;
  bool last_in_recovery_ = false;
  std::string last_point_;
  sim::ImageRules last_image_;
  bool answered_ = false;  // the statement that the next crash waits for
  bool counting_ = true;   // its `during` has been sent, if it has one
  std::vector<std::string> unmet_;
  std::map<std::string, std::map<std::string, uint64_t>> hits_;
};

}  // namespace faults

#endif  // MUSTH_FAULTS_CRASH_FAULTS_H_
