// RunRecorder: writes a RunRecord while the run happens; changes nothing.
#ifndef MUSTH_PROPERTIES_RUN_RECORDER_H_
#define MUSTH_PROPERTIES_RUN_RECORDER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/sql/result.h"
#include "faults/swarm.h"
#include "properties/plan.h"
#include "properties/run_record.h"
#include "sim/choices.h"
#include "sim/disk.h"
#include "sim/env/site.h"
#include "sim/fault_hooks.h"
#include "sim/world.h"

namespace properties {

class RunRecorder : public sim::CrashHooks,
                    public sim::DrawLog,
                    public sim::EventSubscriber {
 public:
  // The node's sites.
  explicit RunRecorder(env::SiteTable sites) : sites_(sites) {}

  // What is known before the world starts.
  void OnPlan(const Plan& plan, bool by_session, Books books);
  void OnKnobs(const faults::Knobs& knobs, std::string_view profile);
  // next: who is asked about crashes. Both outlive the run.
  void OnWorld(sim::World* world, sim::CrashHooks* next);
  // What exists before the run, in the directory and below.
  void OnPaths(const sim::Disk& disk, const std::string& directory);

  // Counting of crash moments begins.
  void OnPhase(bool in_recovery);
  void OnSent(const std::string& label);
  void OnAnswered(const std::string& label,
                  const std::vector<engine::StatementResult>& results);
  // The clients were done, and this is about to strike.
  void OnForcedCrash(sim::CrashKind kind);
  // The host is about to be started again, though nothing planned struck it.
  void OnRestart(std::string why);

  sim::CrashKind OnPoint(const sim::CrashPoint& point) override;
  void OnDraw(sim::Stream stream, uint64_t scope_key, uint64_t site, uint64_t n,
              uint64_t bound, uint64_t value) override;
  void OnEvent(const env::Event& event) override;

  // Call once, when the run is over and its world still there.
  RunRecord Take();

 private:
  struct Point {
    env::TaskId task;
    sim::CrashPlace place;
    sim::DeviceStep step;
    bool node_site;
    env::SiteId site;
  };
  struct Draw {
    sim::Stream stream;
    uint64_t scope_key;
    uint64_t site;
    uint64_t n;
    uint64_t value;
  };
  void AddCrash(sim::CrashKind kind, const sim::CrashPoint& point);
  std::string PlaceOf(const Point& point) const;
  void NoteCrash(const RecordedCrash& crash);
  void AddSwitches(std::string_view woken);
  void OnFault(const env::Event& event);
  void OnPath(std::string_view path) { paths_.emplace(path); }
  void NameDraws();

  env::SiteTable sites_;
  sim::World* world_ = nullptr;
  sim::CrashHooks* next_ = nullptr;
  bool in_recovery_ = false;
  std::vector<Point> points_;  // since the phase began
  // Statements sent since the phase began: label and where in points_.
  std::vector<std::pair<std::string, size_t>> sent_;
  std::map<env::TaskId, std::string> last_of_task_;  // in sent_
  std::set<std::string> paths_;
  std::set<std::string> task_scopes_;
  std::map<uint64_t, std::string> inodes_;
  std::vector<Draw> draws_;
  size_t switches_ = 0;      // entries of the world's schedule seen so far
  bool restarting_ = false;  // what strikes the host next is no crash
  bool image_due_ = false;   // the last crash may still draw an image
  RunRecord record_;
};

// The statement's mark. by_session: as in directions, for sessions written by
// hand.
std::string LabelOf(const StatementId& id, bool by_session);

}  // namespace properties

#endif  // MUSTH_PROPERTIES_RUN_RECORDER_H_
