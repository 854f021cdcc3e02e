// Stage: carries out what directions demand of the schedule and the device.
//
//   world ──point──► Stage ──► BackgroundDisk ──► CrashFaults
//   disk  ──fsync──► Stage ──► DiskFaults
//
// A hold begins when its process passes the place for the n-th time, unless
// what it waits for has happened already, and ends when that happens. One that
// outlasts the run's patience is let go: the recipe does not fit. A process
// that is held keeps its locks, so a hold can stop the very process that it
// waits for.
#ifndef MUSTH_FAULTS_STAGE_H_
#define MUSTH_FAULTS_STAGE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "faults/directions.h"
#include "faults/fault_plan.h"
#include "sim/env/ids.h"
#include "sim/fault_hooks.h"

namespace faults {

class Stage : public sim::CrashHooks,
              public sim::HoldHooks,
              public sim::DiskFaultHooks {
 public:
  struct Options {
    std::vector<DirectedHold> holds;
    std::vector<DirectedFailure> failures;
    // What a failed fsync leaves behind.
    sim::SyncFailure sync_failure = sim::SyncFailure::kExt4Ordered;
    // Who is asked next; outlive the stage.
    sim::CrashHooks* next_crash = nullptr;
    sim::DiskFaultHooks* next_disk = nullptr;
    FaultCounters* counters = nullptr;
    // Lets a held task go on.
    std::function<void(env::TaskId)> release;
  };
  explicit Stage(Options options);

  // Sessions run from now on, or stop running. Counting goes on where it was.
  void SetRunning(bool running) { running_ = running; }
  // The host crashed: its tasks are gone.
  void OnCrash();

  // The task is about to send the statement; true if it is held: it has to
  // yield now.
  bool OnSend(env::TaskId task, const StatementRef& statement);
  void OnAnswer(const StatementRef& statement);
  // The driver has read everything.
  void OnInspection();

  sim::CrashKind OnPoint(const sim::CrashPoint& point) override;
  bool Held(env::TaskId task) override;
  sim::TransferFault OnTransfer(sim::Transfer transfer, std::string_view path,
                                int64_t offset, int64_t length) override;
  sim::FsHealth Health(bool changes) override;
  int64_t Capacity(std::string_view path, int64_t used, int64_t more) override;
  sim::SyncFailure OnSync(std::string_view path, uint64_t inode) override;
  env::TimeNs Latency(sim::DeviceStep step, std::string_view path) override;

  // Directions that were not carried out.
  std::vector<std::string> Unmet() const;

 private:
  struct HoldState {
    uint64_t seen = 0;
    std::vector<uint64_t> until_seen;  // by moment
    bool until_met = false;
    bool begun = false;
    env::TaskId task = env::kNoTask;  // held now
    uint64_t since_step = 0;
  };

  void Begin(size_t i, env::TaskId task);
  void MeetUntil(size_t i);
  void Release(size_t i);
  // Whether a call on the file is the one that a direction lets fail.
  bool Fails(DirectedFailure::What what, std::string_view path);

  Options options_;
  std::vector<HoldState> holds_;
  std::vector<uint64_t> calls_;  // by failure: calls seen
  bool running_ = false;
  uint64_t step_ = 0;
};

}  // namespace faults

#endif  // MUSTH_FAULTS_STAGE_H_
