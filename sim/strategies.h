// Strategies: who runs next.
//
// At every scheduling point ("sync operation") of a task the scheduler asks
// its strategy two questions: does the earliest timer fire now, and which
// task goes on. Keeping the running task is the simplest answer. Every answer
// is addressed by (task scope, the task's own n-th sync operation) and names
// tasks by scope, never by an index into the set of runnable tasks, so that an
// edit elsewhere in the plan moves no other decision.
#ifndef MUSTH_SIM_STRATEGIES_H_
#define MUSTH_SIM_STRATEGIES_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/choices.h"
#include "sim/env/ids.h"
#include "sim/env/status.h"
#include "sim/env/tasks.h"
#include "sim/pilot.h"

namespace sim {

struct Task;

enum class StrategyKind : uint8_t {
  kRandomWalk,  // switches with a fixed chance, to any runnable task
  kRoundRobin,  // switches after every `quantum` operations, in id order
  kPos,         // partial-order sampling          sim/priority_strategies.h
  kPct,         // probabilistic concurrency testing           the same file
  kSurw,        // uniform over interleavings               sim/surw.h
  kDelay,       // runs to the block, but for a few delays
                //                                  sim/deviation_strategies.h
  kStarve,      // random walk in which one task stands still  the same file
  kStall,       // random walk in which who comes by a few places stands still
                //                                             the same file
  kRecorded,    // follows a schedule; elsewhere keeps running
};
inline constexpr int kStrategyKinds =
    static_cast<int>(StrategyKind::kRecorded) + 1;

// What a schedule names where a timer fires.
inline constexpr std::string_view kTimerName = "timer";

// At task's n-th sync operation, counted since the mark (Scheduler::Mark) or
// since its start, `next` goes on (or a timer fires).
struct ScheduleEntry {
  std::string task;  // scope path
  uint64_t n = 0;
  std::string next;  // scope path, or kTimerName
  std::string mark;  // empty: none

  // "w0/h0/i0/a 17 -> w0/h0/i0/b", "w0/h0/i0/a@s1.q2 17 -> timer".
  std::string ToString() const;
  bool operator==(const ScheduleEntry&) const = default;
  // Errors: kInvalid, naming what was expected.
  static env::Result<ScheduleEntry> Parse(std::string_view text);
};

struct StrategyOptions {
  StrategyKind kind = StrategyKind::kRandomWalk;
  // kRandomWalk: the chance to leave a task that could go on, and the chance
  // that the earliest timer fires although a task could go on. A denominator
  // is at least 1; callers draw the fractions per seed (1/1 .. 1/32).
  uint32_t switch_numerator = 1;
  uint32_t switch_denominator = 4;
  uint32_t timer_numerator = 1;
  uint32_t timer_denominator = 128;
  // kRoundRobin: operations before a switch.
  uint32_t quantum = 1;
  // kPct: the depth of the bugs that are looked for. kDelay: how many delays.
  // kStall: how few places count, a 4 * 2^depth-th of all. At least 1.
  uint32_t depth = 3;
  // The groups (1 << env::AccessGroup) whose points count: kPct and kDelay
  // deviate at them only, kSurw samples their interleavings.
  uint32_t groups = kAllAccessGroups;
  // kPct, kDelay, kSurw: what a run of the same plan did before.
  PilotCounts pilot;
  // Fairness of every kind: after so many operations in a row of one task
  // while others could run, the next one in id order runs; after so many
  // operations of any task while a timer is pending, it fires. They keep a
  // poller from stopping the others, or time.
  uint32_t max_run = 1000;
  uint32_t max_ops_without_timer = 5000;
  // kRecorded.
  std::vector<ScheduleEntry> schedule;
};

// One runnable task as strategies see it.
struct Candidate {
  uint64_t key;  // its scope's key
  env::TaskId id;
  Task* task;
  uint64_t role;  // of its name alone: equal in every incarnation
};

// One scheduling point.
struct SchedulePoint {
  uint64_t scope_key = 0;  // of the task that reached it
  uint64_t n = 0;          // its n-th sync operation
  // kNoTask: nobody can keep running (parked, exited).
  env::TaskId current = env::kNoTask;
  env::TaskId last = env::kNoTask;  // who reached the point
  uint64_t site_key = 0;            // where: the hash of its site's name
  env::Access access;               // what it does next
  // Who can run unless a timer fires, sorted by id.
  std::span<const Candidate> runnable;
  // With marks: the key of the one that its operations are counted from (0:
  // none), and how many there were since.
  uint64_t mark_key = 0;
  uint64_t mark_n = 0;
};

// Answers "keep running", or the default successor when nobody can.
inline constexpr size_t kKeepRunning = SIZE_MAX;

class Strategy {
 public:
  virtual ~Strategy() = default;

  // Does the earliest timer fire although a task could go on? Called exactly
  // once per point, before Next. earliest_ns is its deadline, kForever if no
  // timer is pending; the answer is of no account then.
  virtual bool Begin(const SchedulePoint& point, env::TimeNs earliest_ns) = 0;

  // The index into candidates (sorted by id) of who goes on, or kKeepRunning.
  // Requires: at least one candidate differs from point.current.
  virtual size_t Next(const SchedulePoint& point,
                      std::span<const Candidate> candidates) = 0;

  // `task` keeps running, and fairness gives the turn to another one: it has
  // had max_run operations in a row.
  virtual void TurnTaken(env::TaskId /*task*/) {}

  // If true, Begin is called at points without a choice, too, and Runs at all.
  virtual bool watches() const { return false; }
  // After the decision: this task goes on.
  virtual void Runs(const Candidate& /*task*/) {}
  // Not null: is told what tasks touch. Asked once.
  virtual env::AccessLog* access_log() { return nullptr; }

  // Entries of a recorded schedule that named a task that could not run.
  virtual uint64_t misses() const { return 0; }
  // Entries of it, by index, that decided nothing.
  virtual std::vector<size_t> Unused() const { return {}; }
};

// A threshold t so that a uniform 32-bit word is >= t with the given chance.
uint64_t ChanceThreshold(uint32_t numerator, uint32_t denominator);

// choices outlives the strategy; kRoundRobin and kRecorded draw nothing. What
// belongs to no task is drawn in the world's scope.
std::unique_ptr<Strategy> MakeStrategy(const StrategyOptions& options,
                                       Choices* choices,
                                       const Scope& world_scope);

// The candidate after `id` in id order, wrapping around; never `id` itself
// unless it is alone. Requires: candidates not empty, sorted by id.
size_t Successor(std::span<const Candidate> candidates, env::TaskId id);

}  // namespace sim

#endif  // MUSTH_SIM_STRATEGIES_H_
