// Whole runs: whatever the seed, the profile and the plan's shape, every
// promise is kept.
//
// A failure shrinks by dropping sessions and transactions from the plan, then
// prints the line that runs the smallest spec again:
//   bazel test //properties:run_property_test
//     --test_arg="--replay=seed=5;profile=strict;drop s2"
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "faults/profile.h"
#include "properties/run.h"

namespace properties {

// One line that ParseSpec reads back.
std::string SpecToText(const RunSpec& spec) {
  std::string out = fmt::format("seed={};profile={}", spec.seed, spec.profile);
  if (spec.base == sim::Base::kZero) out += ";base=zero";
  for (const ScriptSource& script : spec.scripts) {
    out += ";script=" + script.name;
  }
  for (const auto& [name, value] : spec.knobs) {
    out += fmt::format(";knob {}={}", name, value);
  }
  for (const std::string& edit : spec.plan_edits) out += ";" + edit;
  return out;
}

// Errors: kInvalid, naming the part that is none.
env::Result<RunSpec> ParseSpec(std::string_view text) {
  RunSpec spec;
  while (!text.empty()) {
    size_t end = text.find(';');
    std::string part(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    size_t equals = part.find('=');
    std::string value =
        equals == std::string::npos ? "" : part.substr(equals + 1);
    if (part.rfind("seed=", 0) == 0) {
      spec.seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (part.rfind("profile=", 0) == 0) {
      spec.profile = value;
    } else if (part == "base=zero") {
      spec.base = sim::Base::kZero;
    } else if (part.rfind("script=", 0) == 0) {
      spec.scripts.push_back({value, "", 1});
    } else if (part.rfind("knob ", 0) == 0 && equals != std::string::npos) {
      spec.knobs.emplace_back(part.substr(5, equals - 5), value);
    } else if (part.rfind("drop ", 0) == 0) {
      spec.plan_edits.push_back(part);
    } else {
      return env::Status(
          env::Code::kInvalid,
          fmt::format("\"{}\": expected seed=N, profile=NAME, base=zero, "
                      "script=NAME, knob NAME=VALUE or drop sN[.tN[.qN]]",
                      part));
    }
  }
  return spec;
}

void showValue(const RunSpec& spec, std::ostream& os) {
  os << "bazel test //properties:run_property_test --test_arg=\"--replay="
     << SpecToText(spec) << "\"";
}

namespace {

constexpr uint32_t kSessions = 4;
constexpr uint32_t kTransactions = 8;

// Smaller specs: one more session or transaction left out.
rc::Seq<RunSpec> Smaller(const RunSpec& spec) {
  std::vector<RunSpec> out;
  auto add = [&](std::string edit) {
    for (const std::string& had : spec.plan_edits) {
      // "drop s2" makes "drop s2.t1" pointless.
      if (edit == had || edit.rfind(had + ".", 0) == 0) return;
    }
    RunSpec smaller = spec;
    smaller.plan_edits.push_back(std::move(edit));
    out.push_back(std::move(smaller));
  };
  for (uint32_t s = kSessions; s >= 1; --s) add(fmt::format("drop s{}", s));
  for (uint32_t s = 1; s <= kSessions; ++s) {
    for (uint32_t t = kTransactions; t >= 1; --t) {
      add(fmt::format("drop s{}.t{}", s, t));
    }
  }
  return rc::seq::fromContainer(std::move(out));
}

rc::Gen<RunSpec> Specs(const std::string& profile) {
  auto plain = rc::gen::map(
      rc::gen::tuple(rc::gen::noShrink(rc::gen::arbitrary<uint64_t>()),
                     rc::gen::just(profile),
                     rc::gen::weightedElement<std::string>(
                         {{6, ""}, {1, "tpcb-like"}, {1, "simple-update"}})),
      [](const std::tuple<uint64_t, std::string, std::string>& t) {
        RunSpec spec;
        spec.seed = std::get<0>(t);
        spec.profile = std::get<1>(t);
        if (!std::get<2>(t).empty()) {
          spec.scripts.push_back({std::get<2>(t), "", 1});
        }
        return spec;
      });
  return rc::gen::shrink(rc::gen::noShrink(plain),
                         [](const RunSpec& spec) { return Smaller(spec); });
}

RunContext& SharedContext() {
  static RunContext context;
  return context;
}
// Shares no template and no stack with the other one.
RunContext& SecondContext() {
  static RunContext context;
  return context;
}

// Empty if every promise was kept.
std::string WhatBroke(const RunSpec& spec) {
  env::Result<RunOutcome> outcome = Run(SharedContext(), spec, RunOptions());
  if (!outcome.ok()) return outcome.status().ToString();
  if (!outcome->harness_failure.empty()) return outcome->harness_failure;
  std::string out;
  for (const Verdict& verdict : outcome->broken) {
    out += verdict.ToString() + "\n";
  }
  return out;
}

// Once for every profile of faults.
class DurabilityProperty : public ::testing::TestWithParam<std::string> {};

TEST_P(DurabilityProperty, EveryPromiseSurvivesCrashes) {
  rc::detail::checkGTest([] {
    RunSpec spec = *Specs(GetParam());
    std::string broke = WhatBroke(spec);
    if (!broke.empty()) RC_FAIL(broke);
  });
}

std::vector<std::string> ProfileNames() {
  std::vector<std::string> names;
  for (const faults::Profile& profile : faults::Profiles()) {
    names.emplace_back(profile.name);
  }
  return names;
}

// gtest's names hold letters and digits only.
std::string TestName(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::erase_if(name, [](char c) { return c == '-'; });
  return name;
}

INSTANTIATE_TEST_SUITE_P(Profile, DurabilityProperty,
                         ::testing::ValuesIn(ProfileNames()), TestName);

RC_GTEST_PROP(DeterminismProperty, SameSpecSameHash, ()) {
  RunSpec spec = *Specs("mix");
  env::Result<RunOutcome> first = Run(SharedContext(), spec, RunOptions());
  RunOptions poisoned;
  poisoned.poison = 0xFF;
  env::Result<RunOutcome> second = Run(SecondContext(), spec, poisoned);
  RC_ASSERT(first.ok());
  RC_ASSERT(second.ok());
  RC_ASSERT(first->hash == second->hash);
  RC_ASSERT(first->stats.steps == second->stats.steps);
}

TEST(RunSpecText, ParsesBack) {
  RunSpec spec;
  spec.seed = 18446744073709551615u;
  spec.profile = "strict";
  spec.base = sim::Base::kZero;
  spec.scripts.push_back({"tpcb-like", "", 1});
  spec.knobs.emplace_back("shared_buffers", "8");
  spec.plan_edits = {"drop s1", "drop s2.t3.q1"};
  std::string text = SpecToText(spec);
  env::Result<RunSpec> parsed = ParseSpec(text);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(SpecToText(*parsed), text);
  EXPECT_FALSE(ParseSpec("sede=5").ok());
}

}  // namespace

// Runs one spec and says what broke. Returns the exit code.
int Replay(std::string_view text) {
  env::Result<RunSpec> spec = ParseSpec(text);
  if (!spec.ok()) {
    std::cerr << "--replay: " << spec.status().message() << "\n";
    return 2;
  }
  std::string broke = WhatBroke(*spec);
  std::cout << (broke.empty() ? "all promises kept\n" : broke);
  return broke.empty() ? 0 : 1;
}

}  // namespace properties

int main(int argc, char** argv) {
  constexpr std::string_view kReplay = "--replay=";
  for (int i = 1; i < argc; ++i) {
    std::string_view arg = argv[i];
    if (arg.rfind(kReplay, 0) == 0) {
      return properties::Replay(arg.substr(kReplay.size()));
    }
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
