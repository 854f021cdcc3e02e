#include "replay/scenes.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "faults/profile.h"
#include "faults/swarm.h"
#include "sim/choices.h"
#include "sim/env/check.h"

namespace replay {
namespace {

constexpr std::array<std::string_view, 5> kSchedulerKnobs = {
    "strategy", "strategy_depth", "strategy_set", "switch_denominator",
    "timer_denominator"};

// "hold before s2.q1 until after s1.q3", and nothing else in it.
bool OrdersStatements(std::string_view hold) {
  constexpr std::string_view kUntil = " until after ";
  size_t until = hold.find(kUntil);
  return hold.starts_with("hold before ") && until != std::string_view::npos &&
         hold.find(' ', until + kUntil.size()) == std::string_view::npos;
}

}  // namespace

std::optional<properties::RunSpec> SceneOf(const properties::RunSpec& witness) {
  properties::RunSpec scene = witness;
  scene.base = sim::Base::kSchedule;
  scene.schedule.clear();
  size_t left_out =
      std::erase_if(scene.directions, [](const std::string& line) {
        return line.starts_with("hold ") && !OrdersStatements(line);
      });
  if (left_out == 0) return std::nullopt;
  return scene;
}

void SetSceneSeed(uint64_t seed, properties::RunSpec* scene) {
  scene->seed = seed;
  sim::Choices choices(seed);
  env::Result<faults::Knobs> knobs =
      faults::DrawKnobs(choices, faults::Profiles().front(), {});
  SIM_CHECK(knobs.ok());
  for (std::string_view name : kSchedulerKnobs) {
    scene->knobs.emplace_back(name, faults::GetKnob(*knobs, name).value());
  }
}

}  // namespace replay
