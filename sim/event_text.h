// One line of text per event: what traces, reports and diffs print.
#ifndef MUSTH_SIM_EVENT_TEXT_H_
#define MUSTH_SIM_EVENT_TEXT_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "sim/env/event_sink.h"

namespace sim {

// "WalInsert"; "?" for a kind this build does not know.
const char* EventKindName(env::EventKind kind);

// Names of tasks, learnt from the kTaskStart events of a run.
class TaskNames {
 public:
  void Learn(const env::Event& event);
  // "backend[5]", "task[5]" for one that is not known, "-" for none.
  std::string Label(env::TaskId task) const;

 private:
  std::map<env::TaskId, std::string> names_;
};

// "     17       1.000500 h0 backend[5]  WalInsert start=0/16B3748 ...".
// Time is in virtual milliseconds.
std::string EventLine(const env::Event& event, const TaskNames& names);

}  // namespace sim

#endif  // MUSTH_SIM_EVENT_TEXT_H_
