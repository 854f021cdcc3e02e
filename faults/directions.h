// Directions: what a recipe written by hand demands, in words.
//
//   crash power-loss at commit_record_flushed          any process, first time
//   crash process-crash s1 at wal_after_copy 3         session 1, third time
//   crash power-loss s1 at step 17 during s1.q2        counted from its sending
//   crash power-loss after s1.q2                       its answer has arrived
//   crash power-loss at end                            the clients are done
//   crash power-loss in recovery at recovery_after_record 2
//   image lose base/5/16384 0..7      of the crash above: what is pending in
//   image keep pg_wal/...             these sectors, or all, is lost or kept
//   image lose names | all            directory entries | everything
//   fail fsync base/5/16384 2         the second fsync of the file
//   fail extend base/5/16384          its first growth finds the disk full
//   fail write base/5/16384 3         the third write to it moves half of it
//   hold s1 at wal_after_copy 2 until checkpointer at checkpoint_before_sync
//   hold before s2.q1 until after s1.q2 or s1 at xact_wait
//   hold checkpointer at fsync-done 3 until after inspection
//
// Places are the names of engine/sites.def, the steps of a device (write,
// fsync-start, fsync-middle, fsync-done, metadata) and, for crashes, `step`:
// any scheduling point. Processes are named as in traces: s1, checkpointer,
// bgwriter, walwriter. Statements are those of the recipe's own sessions.
// Counting begins when the sessions start (or, for a crash in recovery, when
// recovery does). A hold at a place that only planted bugs pass ("planted bugs
// only" in engine/sites.def) may come to nothing.
#ifndef MUSTH_FAULTS_DIRECTIONS_H_
#define MUSTH_FAULTS_DIRECTIONS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/disk.h"
#include "sim/env/site.h"
#include "sim/env/status.h"
#include "sim/fault_hooks.h"

namespace faults {

// "s1.q2": the second statement of session 1's text.
struct StatementRef {
  uint32_t session = 0;
  uint32_t number = 0;
  bool operator==(const StatementRef&) const = default;
};

// Something that happens in a run.
struct Moment {
  enum class Kind : uint8_t {
    kSite,        // a process passes a place of the node
    kDeviceStep,  // a device call of a process gets somewhere
    kStep,        // a process reaches a scheduling point
    kStatement,   // a statement is about to be sent, or was answered
    kEnd,         // the clients are done
    kInspection,  // the driver has read everything, and is about to judge it
  };
  Kind kind = Kind::kEnd;
  std::string task;  // kSite, kDeviceStep, kStep; empty: any
  env::SiteId site = 0;
  sim::DeviceStep step = sim::DeviceStep::kPlain;
  uint64_t nth = 1;
  StatementRef statement;
  // Of crashes: counting begins when this statement is sent. Session 0: it
  // begins when sessions do.
  StatementRef during;

  // kSite, kDeviceStep, kStep: whether this point is one of those that are
  // counted.
  bool Counts(const sim::CrashPoint& point) const;
};

struct DirectedCrash {
  sim::CrashKind kind = sim::CrashKind::kPowerLoss;
  bool in_recovery = false;
  Moment at;
  sim::ImageRules image;
  std::string text;  // the direction itself, for reports
};

// at: of a named task a kSite or the end of an fsync, before the caller hears
// of it; or kStatement: before it is sent. Ends at the first of the moments. An
// inspection counts if the process is held by then.
struct DirectedHold {
  Moment at;
  std::vector<Moment> until;
  bool optional = false;  // a place that only planted bugs pass
  std::string text;
};

struct DirectedFailure {
  enum class What : uint8_t { kSync, kExtend, kWrite };
  What what = What::kSync;
  std::string path;
  uint64_t nth = 1;
  std::string text;
};

struct Directions {
  std::vector<DirectedCrash> crashes;
  std::vector<DirectedHold> holds;
  std::vector<DirectedFailure> failures;
};

// Whether lines that begin with this word are directions.
bool IsDirectionWord(std::string_view word);

// Adds what the line says. sites is the node's table.
// Errors: kInvalid, saying what was expected and what was found.
env::Status AddDirection(std::string_view line, env::SiteTable sites,
                         Directions* directions);

}  // namespace faults

#endif  // MUSTH_FAULTS_DIRECTIONS_H_
