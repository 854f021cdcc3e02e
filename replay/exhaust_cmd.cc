#include "replay/exhaust_cmd.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "replay/interrupt_fd.h"
#include "replay/outcome_codec.h"
#include "replay/recipe.h"
#include "replay/small_scopes.h"
#include "replay/user_files.h"
#include "replay/worker_pool.h"

namespace replay {
namespace {

using properties::RunOutcome;

// Columns of the table: what the run counts, and how it is headed.
constexpr std::pair<const char*, const char*> kColumns[] = {
    {"fan-out: instants", "instants"},
    {"fan-out: images tried", "images"},
    {"fan-out: distinct states", "distinct"},
    {"fan-out: process crashes", "process"},
    {"fan-out: instants of recoveries", "in redo"},
    {"fan-out: second crashes", "second"},
    {"fan-out: states of equal content", "equal"},
    {"fan-out: instants cut short", "cut"},
};
constexpr int kNameWidth = 16;
constexpr int kCountWidth = 10;

class Exhaust {
 public:
  Exhaust(const ExhaustOptions& options, const Runner& runner)
      : options_(options), runner_(runner) {}

  ExitCode Run() {
    for (const std::string& name : options_.scopes) {
      if (FindSmallScope(name) != nullptr) continue;
      fmt::print(stderr,
                 "musth: exhaust: unknown scope \"{}\", expected one of {}\n",
                 name, KnownSmallScopes());
      return kExitUsage;
    }
    Choose();
    std::fflush(nullptr);
    InterruptFd interrupt;
    WorkerPool pool({options_.workers, 1, options_.timeout_s},
                    [this](uint64_t job) { return Work(job); });
    for (size_t job = 0; job < scopes_.size(); ++job) pool.Submit(job);
    Head();
    // Rows come in the order of the scopes, whoever is done first.
    std::map<uint64_t, WorkerPool::Result> results;
    size_t shown = 0;
    while (pool.pending() > 0 && !interrupt.Interrupted()) {
      std::optional<WorkerPool::Result> result = pool.Wait(200, interrupt.fd());
      if (!result.has_value()) continue;
      results.emplace(result->job, std::move(*result));
      for (; results.count(shown) != 0; ++shown) Show(results.at(shown));
    }
    if (shown < scopes_.size()) fmt::print(options_.out, "interrupted\n");
    return code_;
  }

 private:
  void Choose() {
    for (const SmallScope& scope : SmallScopes()) {
      bool wanted = options_.scopes.empty();
      for (const std::string& name : options_.scopes) {
        wanted |= name == scope.name;
      }
      if (wanted) scopes_.push_back(&scope);
    }
  }

  properties::RunSpec Spec(uint64_t job) const {
    properties::RunSpec spec = SpecOf(*scopes_[job]);
    spec.planted = options_.planted;
    return spec;
  }

  // In a worker.
  WorkerPool::Answer Work(uint64_t job) {
    return {EncodeOutcome(runner_(Spec(job), properties::RunOptions())), true};
  }

  void Head() {
    fmt::print(options_.out, "{:<{}}", "scope", kNameWidth);
    for (const auto& [key, head] : kColumns) {
      fmt::print(options_.out, "{:>{}}", head, kCountWidth);
    }
    fmt::print(options_.out, "\n");
  }

  void Show(const WorkerPool::Result& result) {
    std::string name(scopes_[result.job]->name);
    env::Result<RunOutcome> outcome =
        result.death.empty()
            ? DecodeOutcome(result.bytes)
            : env::Result<RunOutcome>(env::Status(
                  env::Code::kIo, "the worker was " + result.death));
    if (!outcome.ok() || !outcome->harness_failure.empty()) {
      fmt::print(options_.out, "HARNESS FAILURE {}: {}\n", name,
                 outcome.ok() ? outcome->harness_failure
                              : std::string(outcome.status().message()));
      code_ = kExitHarness;
      return;
    }
    fmt::print(options_.out, "{:<{}}", name, kNameWidth);
    for (const auto& [key, head] : kColumns) {
      auto it = outcome->stats.judged.find(key);
      uint64_t count = it == outcome->stats.judged.end() ? 0 : it->second;
      fmt::print(options_.out, "{:>{}}", count, kCountWidth);
    }
    fmt::print(options_.out, "\n");
    if (!outcome->broken.empty()) Report(result.job, name, *outcome);
    std::fflush(options_.out);
  }

  void Report(uint64_t job, const std::string& name,
              const RunOutcome& outcome) {
    if (code_ == kExitKept) code_ = kExitBroken;
    properties::RunSpec spec = Spec(job);
    Recipe recipe = RecipeOfFinding(spec, outcome);
    std::string path = fmt::format("{}/{}-{}.recipe", options_.out_dir,
                                   outcome.broken.front().promise, name);
    env::Status status = WriteFile(UserPath(path), FormatRecipe(recipe));
    if (!status.ok()) {
      fmt::print(stderr, "musth: {}\n", status.message());
      code_ = kExitUsage;
    }
    fmt::print(options_.out, "FINDING {}replay: {}\n\n",
               DescribeBroken(spec, outcome),
               ReplayCommand(options_.invocation, recipe.spec, path));
  }

  const ExhaustOptions& options_;
  const Runner& runner_;
  std::vector<const SmallScope*> scopes_;
  ExitCode code_ = kExitKept;
};

}  // namespace

ExitCode RunExhaust(const ExhaustOptions& options, const Runner& runner) {
  return Exhaust(options, runner).Run();
}

}  // namespace replay
