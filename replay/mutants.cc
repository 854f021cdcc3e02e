#include "replay/mutants.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "replay/outcome_codec.h"
#include "replay/recipe.h"
#include "replay/scenes.h"
#include "replay/shrink.h"
#include "replay/user_files.h"

namespace replay {
namespace {

double OwnCpuSeconds() {
  rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  double seconds = 0;
  for (const timeval& t : {usage.ru_utime, usage.ru_stime}) {
    seconds +=
        static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  }
  return seconds;
}

// An answer is the run's CPU time, then its outcome.
WorkerPool::Answer Encode(const env::Result<properties::RunOutcome>& outcome,
                          double cpu_s) {
  std::string bytes(sizeof cpu_s, '\0');
  std::memcpy(bytes.data(), &cpu_s, sizeof cpu_s);
  bool distrust = !outcome.ok() || !outcome->harness_failure.empty();
  return {bytes + EncodeOutcome(outcome), distrust};
}

void AddAnswer(const WorkerPool::Result& result, MutantTally* tally) {
  double cpu_s = 0;
  std::string_view bytes = result.bytes;
  if (!result.death.empty() || bytes.size() < sizeof cpu_s) {
    tally->Add(env::Status(env::Code::kIo, result.death), 0);
    return;
  }
  std::memcpy(&cpu_s, bytes.data(), sizeof cpu_s);
  tally->Add(DecodeOutcome(bytes.substr(sizeof cpu_s)), cpu_s);
}

// What a measurement that goes on must have in common with its first part.
std::string Describe(const MutantOptions& options) {
  std::string text = "Profile " + options.spec.profile;
  for (const auto& [knob, value] : options.spec.knobs) {
    text += fmt::format(", {}={}", knob, value);
  }
  for (const properties::ScriptSource& script : options.spec.scripts) {
    text += fmt::format(", script {}", script.name);
  }
  text += fmt::format("; for each bug at most {} seeds, until {} fail",
                      options.seeds, options.enough);
  if (!options.schedulers.empty()) {
    text += fmt::format(" (at most {} seeds with one scheduler alone{})",
                        options.scheduler_seeds,
                        options.scenes.empty() ? "" : ", in scenes");
  }
  if (options.budget_s > 0) {
    text += fmt::format(" or {} s of CPU time are spent", options.budget_s);
  }
  return text;
}

}  // namespace

Mutants::Mutants(const MutantOptions& options, Runner runner)
    : options_(options), runner_(std::move(runner)) {
  table_.build = BuildId();
  table_.spec = Describe(options_);
  for (const std::string& bug : options_.bugs) {
    table_.tallies.emplace_back().bug = bug;
    if (!options_.scenes.empty() && !options_.scenes.contains(bug)) continue;
    for (const std::string& scheduler : options_.schedulers) {
      MutantTally& tally = table_.tallies.emplace_back();
      tally.bug = bug;
      tally.scheduler = scheduler;
    }
  }
  wanted_ = table_.tallies.size();
}

env::Status Mutants::GoOn() {
  if (options_.state_file.empty()) return {};
  env::Result<std::string> text = ReadFile(UserPath(options_.state_file));
  if (!text.ok() && text.status().code() == env::Code::kNotFound) {
    return SaveState();
  }
  RETURN_IF_ERROR(text.status());
  ASSIGN_OR_RETURN(MutantTable table,
                   MutantTable::FromJson(*text, options_.state_file));
  if (table.build != table_.build || table.spec != table_.spec) {
    return {env::Code::kInvalid,
            fmt::format("{}: a measurement by build \"{}\" of \"{}\", expected "
                        "build \"{}\" and \"{}\"",
                        options_.state_file, table.build, table.spec,
                        table_.build, table_.spec)};
  }
  std::map<std::pair<std::string, std::string>, MutantTally> before;
  for (MutantTally& tally : table.tallies) {
    before[{tally.bug, tally.scheduler}] = std::move(tally);
  }
  for (MutantTally& tally : table_.tallies) {
    auto found = before.find({tally.bug, tally.scheduler});
    if (found == before.end()) continue;
    tally = std::move(found->second);
    before.erase(found);
  }
  // What was measured without being asked for now is not thrown away.
  for (auto& [key, tally] : before) table_.tallies.push_back(std::move(tally));
  return {};
}

env::Status Mutants::SaveState() const {
  if (options_.state_file.empty()) return {};
  return ReplaceFile(UserPath(options_.state_file), table_.ToJson());
}

properties::RunSpec Mutants::SpecOf(const MutantTally& tally,
                                    uint64_t seed) const {
  properties::RunSpec spec = options_.spec;
  auto scene = options_.scenes.find(tally.bug);
  if (!tally.scheduler.empty() && scene != options_.scenes.end()) {
    spec = scene->second;
    SetSceneSeed(seed, &spec);
  }
  spec.seed = seed;
  spec.planted = {tally.bug};
  if (!tally.scheduler.empty()) {
    spec.knobs.emplace_back("strategy", tally.scheduler);
  }
  return spec;
}

// In a worker.
WorkerPool::Answer Mutants::Work(const MutantTally& tally, uint64_t seed) {
  double before_s = OwnCpuSeconds();
  env::Result<properties::RunOutcome> outcome =
      runner_(SpecOf(tally, seed), properties::RunOptions());
  return Encode(outcome, OwnCpuSeconds() - before_s);
}

void Mutants::Shrink(MutantTally* tally) {
  if (options_.shrink_budget_s <= 0 || !tally->first_seed.has_value() ||
      !tally->scheduler.empty() || tally->shrunk.has_value()) {
    return;
  }
  ShrinkOptions options;
  options.target = tally->bug + ".recipe";
  options.recipe.spec = SpecOf(*tally, *tally->first_seed);
  options.out_dir = options_.out_dir;
  options.workers = options_.workers;
  options.budget_s = options_.shrink_budget_s;
  options.timeout_s = options_.timeout_s;
  options.show_passes = false;
  options.stop = [this] { return interrupt_.Interrupted(); };
  options.invocation = options_.invocation;
  options.out = options_.out;
  Shrinker shrinker(options, runner_);
  // Half a shrinking is none.
  if (shrinker.Run() != kExitBroken || interrupt_.Interrupted()) return;
  const ShrinkResult& result = shrinker.result();
  if (!result.shrunk()) return;
  tally->shrunk = {result.size.statements, result.size.preemptions,
                   result.size.faults, result.cpu_s, result.one_minimal};
}

uint64_t Mutants::MostSeeds(const MutantTally& tally) const {
  return tally.scheduler.empty() ? options_.seeds : options_.scheduler_seeds;
}

bool Mutants::Enough(const MutantTally& tally) const {
  return tally.seeds >= MostSeeds(tally) || tally.failing >= options_.enough ||
         (options_.budget_s > 0 && tally.cpu_s >= options_.budget_s);
}

bool Mutants::RunBatch(MutantTally* tally) {
  uint64_t first = tally->seeds;
  uint64_t last = std::min(first + kBatch, MostSeeds(*tally));
  WorkerPool pool({options_.workers, kBatch, options_.timeout_s},
                  [&](uint64_t seed) { return Work(*tally, seed); });
  for (uint64_t seed = first; seed < last; ++seed) pool.Submit(seed);
  std::map<uint64_t, WorkerPool::Result> results;
  while (pool.pending() > 0) {
    if (interrupt_.Interrupted()) return false;
    std::optional<WorkerPool::Result> result = pool.Wait(200, interrupt_.fd());
    if (result.has_value()) results.emplace(result->job, std::move(*result));
  }
  for (const auto& [seed, result] : results) AddAnswer(result, tally);
  return true;
}

bool Mutants::Measure(MutantTally* tally) {
  while (!Enough(*tally)) {
    if (!RunBatch(tally)) return false;
    tally->finished = Enough(*tally);
    env::Status status = SaveState();
    if (!status.ok()) fmt::print(stderr, "musth: {}\n", status.message());
  }
  tally->finished = true;
  std::string name = tally->bug;
  if (!tally->scheduler.empty()) name += " with " + tally->scheduler;
  fmt::print(options_.out, "{}: {} of {} seeds fail, first {}, {:.1f} s CPU\n",
             name, tally->failing, tally->seeds,
             tally->first_seed.has_value()
                 ? fmt::format("{}", *tally->first_seed)
                 : "none",
             tally->cpu_s);
  Shrink(tally);
  std::fflush(options_.out);
  return !interrupt_.Interrupted();
}

ExitCode Mutants::Run() {
  env::Status status = GoOn();
  if (!status.ok()) {
    fmt::print(stderr, "musth: {}\n", status.message());
    return kExitUsage;
  }
  std::fflush(nullptr);
  for (size_t i = 0; i < wanted_; ++i) {
    if (!Measure(&table_.tallies[i])) {
      fmt::print(options_.out, "interrupted at {}\n", table_.tallies[i].bug);
      break;
    }
  }
  if (options_.table_file.empty()) {
    fmt::print(options_.out, "\n{}", table_.ToMarkdown());
  } else {
    status = WriteFile(UserPath(options_.table_file), table_.ToMarkdown());
  }
  if (status.ok()) status = SaveState();
  if (!status.ok()) {
    fmt::print(stderr, "musth: {}\n", status.message());
    return kExitUsage;
  }
  for (const MutantTally& tally : table_.tallies) {
    if (tally.harness_failures > 0) return kExitHarness;
  }
  return kExitKept;
}

}  // namespace replay
