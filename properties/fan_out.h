// FanOut: many crashes at one instant of a run, of which the run knows nothing.
//
//   run ──● instant ─────────────────────────────────────► goes on
//         │ clone of the disk, fork of the judge
//         ├── fork 1: power loss ─► image ─► recovery in a world of its own ─►
//         │                                  acknowledged commits, content,
//         │                                  structure, redo, log, sanitizer
//         ├── fork 2: ... reads what fork 1 read: the same state, not run again
//         └── ...
//
// The run's own hash cannot change: the disk is cloned, the judge is copied,
// nothing is drawn from a scope of the run's world (a child's images are drawn
// below "wN", N its fork), its tasks stand still, and its events are not those
// of the children, whose worlds have hubs of their own.
//
// A child's schedule keeps the running task running; it draws nothing. What a
// recovery does is then a function of the cells that it reads (sim/
// image_search.h): ImageTree recognises images that are the same state, and
// ImageEnumerator has them all. What recovery leaves unread is drawn when the
// judges look; whether it may be left is judged by DurabilitySanitizer, which
// does not depend on what was drawn, for every page of a live relation.
//
// Exhaustive: at every durability event of the run a power loss with all
// images, and a process crash; in each recovery the same once more (second
// crash). Power losses right after a write are left out: their images are among
// those of the next fsync step, which can only have promised more.
#ifndef MUSTH_PROPERTIES_FAN_OUT_H_
#define MUSTH_PROPERTIES_FAN_OUT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "faults/atlas.h"
#include "faults/instants.h"
#include "properties/fan_out_spec.h"
#include "properties/judge.h"
#include "properties/recovery_world.h"
#include "properties/verdict.h"
#include "sim/choices.h"
#include "sim/disk.h"
#include "sim/image_search.h"

namespace properties {

struct FanOutStats {
  uint64_t instants = 0;
  uint64_t images = 0;     // crash states tried
  uint64_t distinct = 0;   // recovered and judged
  uint64_t memo_hits = 0;  // read the same as an earlier one of the instant
  uint64_t process_crashes = 0;  // among images
  uint64_t second_instants = 0;  // durability events of recoveries
  uint64_t second_images = 0;    // among images
  uint64_t equal_states = 0;     // of cells, left out: same content
  uint64_t bounded = 0;          // instants of which not all images were tried
};

struct FanOutOptions {
  FanOutSpec spec;
  RecoveryWorldOptions world;
  uint64_t seed = 0;
  // Exhaustive: so many images at most of one instant of the run, and of one
  // instant of a recovery.
  uint64_t max_images = 20'000;
  uint64_t max_second_images = 500;
};

class FanOut {
 public:
  explicit FanOut(FanOutOptions options);

  // A moment of the run. The disk is as it is, the judge has seen every event
  // so far. Requires: no task of that world runs.
  struct Moment {
    uint64_t step = 0;
    std::string point;
    uint64_t events = 0;  // of the run so far
    bool write = false;   // see faults::Instant
  };
  void Explore(const sim::Disk& disk, const Judge& judge, const Moment& moment);

  // After the first broken promise nothing more is explored.
  bool found() const { return !verdicts_.empty() || !harness_failure_.empty(); }
  std::vector<Verdict> TakeVerdicts() { return std::move(verdicts_); }
  const FanOutAddress& address() const { return address_; }
  // A check of Musth's own, or a child that depends on more than it reads.
  const std::string& harness_failure() const { return harness_failure_; }
  // What struck in the children that broke a promise.
  const faults::Evidence& evidence() const { return evidence_; }
  const FanOutStats& stats() const { return stats_; }
  // kReplay: whether its state came about.
  bool replayed() const { return replayed_; }

 private:
  // One level: the run, or the recovery from a crash of the run.
  struct Base {
    const sim::Disk* disk = nullptr;
    const Judge* judge = nullptr;
    Moment moment;
    sim::CrashKind kind = sim::CrashKind::kPowerLoss;
    FanOutAddress before;  // crashes that led here
  };
  // What is to become of one crash state.
  struct Child {
    uint64_t fork = 1;
    bool quiet = false;  // whatever breaks
    // What the image's cells were, so far.
    std::function<sim::ImagePath()> path;
    // Recovery has read all that it reads.
    std::function<void()> on_recovered;
    // Where the recovery is stopped, if on_instant is there. False: this child
    // is not to go on.
    faults::Instants::Which instants = faults::Instants::Which::kDurability;
    uint64_t instant_step = 0;
    std::function<bool(const Base&)> on_instant;
  };

  void Sample(const Base& base);
  void EnumerateAll(const Base& base);
  void Enumerate(const Base& base, uint64_t max_images);
  void Replay(const Base& base);
  // The base's disk as the crash leaves it, attached to host.
  std::unique_ptr<sim::Disk> Crashed(const Base& base, sim::DeviceHost* host,
                                     sim::ImageTap* tap,
                                     const sim::ImageSource* source) const;
  void Run(const Base& base, const Child& child, sim::Disk* disk);
  void JudgeChild(RecoveryWorld* world, sim::World::StopReason reason,
                  Judge* judge, sim::Disk* disk);
  void Broken(const Base& base, const Child& child, const sim::Disk& disk,
              std::vector<Verdict> verdicts);
  sim::Scope ScopeOf(uint64_t fork) const;

  FanOutOptions options_;
  sim::Choices choices_;
  uint64_t forks_ = 0;
  FanOutStats stats_;
  std::vector<Verdict> verdicts_;
  FanOutAddress address_;
  std::string harness_failure_;
  faults::Evidence evidence_;
  bool replayed_ = false;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_FAN_OUT_H_
