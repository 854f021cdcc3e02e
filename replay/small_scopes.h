// Small scopes: scripts so short that all of their crash states can be seen.
//
// One to three transactions on one table of one or two pages; no session is
// preempted. `musth exhaust` crashes them at every durability event, with every
// image that the disk may be left with, and once more in each recovery
// (properties/fan_out.h).
#ifndef MUSTH_REPLAY_SMALL_SCOPES_H_
#define MUSTH_REPLAY_SMALL_SCOPES_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "properties/run.h"

namespace replay {

struct SmallScope {
  std::string_view name;
  std::string_view about;
  std::string_view setup;
  // The sessions' texts, from session 1 on.
  std::vector<std::string_view> sessions;
  // "NAME=VALUE" where a knob is not the simplest.
  std::vector<std::string_view> knobs;
};

std::span<const SmallScope> SmallScopes();
// Null: there is none of this name.
const SmallScope* FindSmallScope(std::string_view name);
// "insert, update-twice, ...".
std::string KnownSmallScopes();
// The scope as a run, with nothing planted.
properties::RunSpec SpecOf(const SmallScope& scope);

}  // namespace replay

#endif  // MUSTH_REPLAY_SMALL_SCOPES_H_
