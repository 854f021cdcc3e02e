// Script: what a shrunk run does, for a reader's eyes.
//
//   session 1                 session 2
//   ------------------------- -------------------------
//   UPDATE t SET v = 1 ...
//   ** s1 stops at commit_record_flushed, checkpointer goes on
//                             CHECKPOINT
//   ** CRASH power loss
//
// Sessions are columns, statements rows in the order in which they were sent;
// preemptions, faults and crashes have rows of their own; the broken promise
// comes last.
#ifndef MUSTH_REPLAY_SCRIPT_H_
#define MUSTH_REPLAY_SCRIPT_H_

#include <string>

#include "properties/run.h"

namespace replay {

// Requires: the outcome has a record of the run of spec, and broke something.
std::string ScriptOf(const properties::RunSpec& spec,
                     const properties::RunOutcome& outcome);

}  // namespace replay

#endif  // MUSTH_REPLAY_SCRIPT_H_
