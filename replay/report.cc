#include "replay/report.h"

#include <fmt/format.h>

#include "sim/env/check.h"

namespace replay {

std::string ShellWord(const std::string& path) {
  static constexpr char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
      "_-./+@:,";
  if (!path.empty() && path.find_first_not_of(kPlain) == std::string::npos) {
    return path;
  }
  std::string quoted = "'";
  for (char c : path) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string ReplayCommand(const Invocation& invocation,
                          const properties::RunSpec& spec,
                          const std::string& recipe_path) {
  std::string command = ShellWord(invocation.program);
  if (invocation.under_bazel) {
#ifdef NDEBUG
    std::string config = " -c opt";
#else
    std::string config;
#endif
    if (!spec.planted.empty()) config += " --config=planted";
    command = fmt::format("./bazelw run{} //:musth --", config);
  }
  return fmt::format("{} replay {}", command, ShellWord(recipe_path));
}

std::string DescribeBroken(const properties::RunSpec& spec,
                           const properties::RunOutcome& outcome) {
  SIM_CHECK(!outcome.broken.empty());
  std::string text;
  for (size_t i = 0; i < outcome.broken.size(); ++i) {
    const properties::Verdict& verdict = outcome.broken[i];
    text += fmt::format("{}seed {}: {} broken for {}\n", i == 0 ? "" : "also ",
                        spec.seed, verdict.promise, verdict.subject);
    text += fmt::format("  {}\n  seen by {} after event {}\n", verdict.message,
                        verdict.oracle, verdict.event_seq);
  }
  for (const std::string& name : spec.planted) {
    text += fmt::format("planted: {}\n", name);
  }
  text += fmt::format("hash {:016x}, {} crashes, {} recoveries\n", outcome.hash,
                      outcome.stats.crashes, outcome.stats.recoveries);
  if (!outcome.last_events.empty()) text += "last events:\n";
  for (const std::string& event : outcome.last_events) {
    text += fmt::format("  {}\n", event);
  }
  return text;
}

Recipe RecipeOfFinding(const properties::RunSpec& spec,
                       const properties::RunOutcome& outcome) {
  Recipe recipe;
  recipe.build = BuildId();
  recipe.spec = spec;
  if (!outcome.fan_out.empty()) {
    recipe.spec.fan_out = properties::FanOutSpec();
    recipe.spec.fan_out.mode = properties::FanOutSpec::Mode::kReplay;
    recipe.spec.fan_out.address = outcome.fan_out;
  } else {
    // The run itself did it.
    recipe.spec.fan_out = properties::FanOutSpec();
  }
  recipe.expect_hash = outcome.hash;
  recipe.expect_promise = outcome.broken.front().promise;
  std::string text = DescribeBroken(spec, outcome);
  size_t at = 0;
  while (at < text.size()) {
    size_t end = text.find('\n', at);
    recipe.comments.push_back(" " + text.substr(at, end - at));
    at = end + 1;
  }
  return recipe;
}

}  // namespace replay
