// RunDriver: one run from prepared parts to outcome.
//
//        set-up            work                         final
//   start -> inspect -> set-up SQL -> clients -> ... -> inspect -> shutdown
//               ^                        |
//               +------ recovery <- crash+
//
// Inspection: clients are held, nothing may crash, a session of the driver's
// own reads every table; then the oracles see a frozen copy of the disk. It
// follows every recovery, including the restarts that a node does by itself.
#ifndef MUSTH_PROPERTIES_RUN_DRIVER_H_
#define MUSTH_PROPERTIES_RUN_DRIVER_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/node/node.h"
#include "engine/sql/ast.h"
#include "faults/atlas.h"
#include "faults/crash_faults.h"
#include "faults/disk_faults.h"
#include "faults/fault_plan.h"
#include "faults/instants.h"
#include "faults/media_faults.h"
#include "faults/stage.h"
#include "faults/swarm.h"
#include "properties/client.h"
#include "properties/fan_out.h"
#include "properties/judge.h"
#include "properties/outcome_ledger.h"
#include "properties/plan.h"
#include "properties/run.h"
#include "properties/run_recorder.h"
#include "properties/second_recovery.h"
#include "sim/disk.h"
#include "sim/trace.h"
#include "sim/world.h"

namespace properties {

// What a run is made of; built by Run() from a RunSpec.
struct RunParts {
  sim::Choices* choices = nullptr;
  faults::Knobs knobs;
  faults::FaultPlan fault_plan;
  engine::Config config;
  sim::WorldOptions world;
  std::vector<uint8_t> planted;
  std::unique_ptr<sim::Disk> disk;
  Plan plan;
  // What the recipe demands in words.
  faults::Directions directions;
  FanOutSpec fan_out;
  Books books = Books::kNone;
  // Null, or where the event trace goes.
  sim::EventSubscriber* trace = nullptr;
  // Who else looks on.
  std::vector<sim::EventSubscriber*> observers;
  // The driver's own statements, parsed once and kept for later runs; null:
  // parsed in every run.
  std::map<std::string, engine::Statement>* statements = nullptr;
  // Statements are named as in directions: the sessions are written by hand.
  bool by_session = false;
  // Null, or who writes down what happens; outlives the run.
  RunRecorder* recorder = nullptr;
  // Keep a copy of what each crash leaves.
  bool keep_crashed = false;
};

class RunDriver : public sim::EventSubscriber, public ClientObserver {
 public:
  explicit RunDriver(RunParts parts);
  ~RunDriver() override;

  // Runs to the end. Call once.
  RunOutcome Drive();

  // Why the user's set-up SQL failed, with file and line; OK if it did not.
  const env::Status& setup_status() const { return setup_status_; }
  // The disk after Drive: as the run left it, or a frozen copy of what the
  // last crash left (null if none happened).
  const sim::Disk& disk() const { return *parts_.disk; }
  const sim::Disk* crashed_disk() const { return crashed_disk_.get(); }
  // What struck, for the contract's rows.
  faults::Evidence evidence() const;

  void OnEvent(const env::Event& event) override;
  void OnStatementSent(const PlanStatement& statement) override;
  void OnStatementResult(
      const PlanStatement& statement,
      const std::vector<engine::StatementResult>& results) override;

 private:
  enum class Stage : uint8_t { kSetup, kWork, kFinal, kShutdown };
  enum class StopCause : uint8_t {
    kNone,
    kInspected,
    kSetupDone,
    kWorkDone,
    kNodeEnded,
    kBroken,
  };

  void BuildFaults(sim::DeviceHost* device_host);
  // Has the world ask these hooks about crashes.
  void Ask(sim::CrashHooks* hooks);
  void BuildFanOut();
  // Looks at crash states of this moment, if the world stopped for that.
  bool ExploreInstant();
  void Explore(const faults::Instant& instant);
  sim::DiskFaultHooks* DiskHooks();
  void SetPhase(faults::Phase phase);
  void StartNode();
  void Crash(sim::CrashKind kind);
  void OnStopped();
  void OnNodeEnded();
  // A statement's answer came in: perhaps it is time to stop the node.
  void MaybeStopNode();
  // The node has stopped because MaybeStopNode asked it to: judges the stop and
  // starts it again.
  void OnNodeStopped();
  // Starts a new node on what the host's end left.
  void Restart(sim::CrashKind kind);
  void OnAccepting();
  void OnReady();
  void OnInspected();
  void BeginWork();
  void OnWorkDone();
  void Inspect(engine::Session& session);
  const engine::Statement& Parsed(const std::string& sql);
  // Runs one SELECT; again if a fault that the node may answer with an error
  // struck meanwhile.
  engine::StatementResult Look(engine::Session& session,
                               const std::string& sql);
  // What the media did to the place that a refusal or PANIC names.
  enum class Blame : uint8_t { kNone, kPassing, kLasting };
  // Notes what it finds as detected.
  Blame BlameOf(const env::Status& status);
  bool NamesDamage(const env::Status& status) {
    return BlameOf(status) != Blame::kNone;
  }
  // Tells the recorder that the host is started again.
  void NoteRestart(std::string why);
  // The host goes down and comes up again; its page cache is lost.
  void Reboot();
  // Faults so far that make a statement fail which may succeed again.
  uint64_t FaultsTold() const {
    return counters_.Refusals() +
           counters_.of(faults::Family::kReadError).injected +
           counters_.of(faults::Family::kMisread).injected;
  }
  // A fault without a place that the node may answer with an error, a PANIC or
  // by not starting struck since this node was started.
  bool Excused() const {
    return sync_failed_ || counters_.Refusals() > refusals_at_start_;
  }
  // A frozen copy of the disk without what the media did to it.
  std::unique_ptr<sim::Disk> WhatWasWritten() const;
  void JudgeInspection();
  void TakeVerdicts();
  void StopFaults();
  void CheckProgress();
  void Stop(StopCause cause);
  void Break(std::string promise, std::string subject, std::string message);
  void Fail(std::string why);
  void CheckLegality();
  void FillStats();
  std::string SchedulerName() const;
  void TakeFanOut();

  RunParts parts_;
  faults::FaultCounters counters_;
  OutcomeLedger ledger_;
  sim::World world_;
  env::HostId host_ = 0;
  std::unique_ptr<faults::DiskFaults> disk_faults_;
  std::unique_ptr<faults::CrashFaults> crash_faults_;
  std::unique_ptr<faults::MediaFaults> media_faults_;
  std::unique_ptr<faults::BackgroundDisk> background_disk_;
  std::unique_ptr<faults::Stage> stage_directions_;  // null: none
  std::unique_ptr<Judge> judge_;
  std::unique_ptr<SecondRecovery> second_recovery_;
  std::unique_ptr<FanOut> fan_out_;             // null: off
  std::unique_ptr<faults::Instants> instants_;  // null: off
  std::unique_ptr<engine::Node> node_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::map<std::string, engine::Statement> own_statements_;
  // What the inspector's scans returned, by table.
  std::vector<std::pair<std::string, engine::StatementResult>> scans_;
  std::unique_ptr<sim::Disk> crashed_disk_;

  Stage stage_ = Stage::kSetup;
  StopCause stop_cause_ = StopCause::kNone;
  bool inspecting_ = false;  // an inspector is registered with this node
  bool recovered_ = false;   // the next inspection follows a recovery
  bool clients_added_ = false;
  bool faults_stopped_ = false;
  bool finished_ = false;
  int64_t answers_ = 0;            // to clients, in all
  bool stopping_node_ = false;     // this node was asked to stop amid the work
  bool redo_is_needless_ = false;  // the last node was shut down cleanly
  int node_starts_ = 0;
  uint64_t refusals_at_start_ = 0;
  // An fsync has failed since the start; with data=journal the fault that
  // caused it may have struck before.
  bool sync_failed_ = false;
  uint64_t damage_at_start_ = 0;  // records of the disk's fault log
  // Damage that justified refusals, by its record's id.
  std::set<uint64_t> detected_;
  uint64_t task_kills_at_start_ = 0;
  int recoveries_begun_ = 0;   // since the last crash
  uint64_t recovery_end_ = 0;  // of the last one
  std::string last_panic_;
  bool panicked_ = false;  // and has not accepted sessions since
  // A node that does not end for a failed fsync is judged all the same.
  static constexpr int kMaxReinspections = 20;
  bool sync_failed_since_ready_ = false;
  int reinspections_ = 0;
  uint64_t progress_step_ = 0;  // when a statement or a recovery last ended
  env::Status setup_status_;
  RunOutcome outcome_;
  sim::TraceTail tail_;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_RUN_DRIVER_H_
