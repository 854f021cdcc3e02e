#include "replay/campaign.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <set>
#include <utility>

#include "replay/interrupt_fd.h"
#include "replay/outcome_codec.h"
#include "replay/recipe.h"
#include "replay/shrink.h"
#include "replay/user_files.h"
#include "sim/events.h"

namespace replay {
namespace {

// Jobs are indexes of seeds; the second run of one carries this bit.
constexpr uint64_t kSecondRun = uint64_t{1} << 63;
// So many are shown in full, in one line, and written as recipes.
constexpr uint64_t kFullReports = 3;
constexpr uint64_t kShortReports = 25;
constexpr uint64_t kRecipes = 1000;
// Between two writes of the state's file.
constexpr double kStatePeriodS = 5;
// Kinds of findings that are shrunk.
constexpr size_t kShrunkKinds = 8;
// A campaign with so many harness failures says nothing about the engine.
constexpr uint64_t kMaxHarnessFailures = 100;

double CpuSeconds() {
  double seconds = 0;
  for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage;
    if (getrusage(who, &usage) != 0) continue;
    for (const timeval& t : {usage.ru_utime, usage.ru_stime}) {
      seconds +=
          static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    }
  }
  return seconds;
}

}  // namespace

Campaign::Campaign(const CampaignOptions& options, Runner runner)
    : options_(options),
      runner_(std::move(runner)),
      progress_(options.out, options.tty, SeedCount()) {
  state_.summary.build = BuildId();
  state_.summary.profile = options_.spec.profile;
  state_.summary.parts = {Part()};
}

// Two campaigns of the same part run the same runs.
SeedPart Campaign::Part() const {
  Recipe recipe;
  recipe.spec = SpecOf(0);
  SeedPart part;
  part.profile = options_.spec.profile;
  part.spec = fmt::format("{:016x}", sim::HashBytes(FormatRecipe(recipe)));
  part.first_seed = options_.first_seed;
  part.last_seed = options_.last_seed;
  part.shard_index = options_.shard_index;
  part.shard_count = options_.shard_count;
  return part;
}

env::Status Campaign::GoOn() {
  if (options_.state_file.empty()) return {};
  env::Result<std::string> text = ReadFile(UserPath(options_.state_file));
  // The first sitting: better to learn now that the file cannot be written.
  if (!text.ok() && text.status().code() == env::Code::kNotFound) {
    return SaveState();
  }
  RETURN_IF_ERROR(text.status());
  ASSIGN_OR_RETURN(CampaignState state, ParseState(*text, options_.state_file));
  env::Status same = CheckSameCampaign(state, BuildId(), Part());
  if (!same.ok()) {
    return {env::Code::kInvalid,
            fmt::format("{}: {}", options_.state_file, same.message())};
  }
  state_ = std::move(state);
  progress_.GoOn(state_.summary.seeds);
  return {};
}

env::Status Campaign::SaveState() {
  if (options_.state_file.empty()) return {};
  saved_at_s_ = progress_.elapsed_s();
  CampaignState state = state_;
  state.summary.wall_s += progress_.elapsed_s();
  state.summary.cpu_s += CpuSeconds();
  return ReplaceFile(UserPath(options_.state_file), FormatState(state));
}

uint64_t Campaign::SeedCount() const {
  uint64_t all = options_.last_seed - options_.first_seed + 1;
  uint64_t shards = options_.shard_count;
  return all / shards + (options_.shard_index < all % shards ? 1 : 0);
}

uint64_t Campaign::Place(uint64_t index) const {
  return options_.order == SeedOrder::kBackward ? SeedCount() - 1 - index
                                                : index;
}

uint64_t Campaign::SeedOf(uint64_t index) const {
  return options_.first_seed + options_.shard_index +
         Place(index) * options_.shard_count;
}

properties::RunSpec Campaign::SpecOf(uint64_t seed) const {
  properties::RunSpec spec = options_.spec;
  spec.seed = seed;
  return spec;
}

// In a worker.
WorkerPool::Answer Campaign::Work(uint64_t job) {
  properties::RunOptions run_options;
  run_options.poison = options_.poison;
  env::Result<properties::RunOutcome> outcome =
      runner_(SpecOf(SeedOf(job & ~kSecondRun)), run_options);
  bool distrust = !outcome.ok() || !outcome.value().harness_failure.empty();
  return {EncodeOutcome(outcome), distrust};
}

ExitCode Campaign::Run() {
  InterruptFd interrupt;
  env::Status status = GoOn();
  if (!status.ok()) usage_error_ = status.message();
  std::fflush(nullptr);
  {
    WorkerPool pool(
        {options_.workers, options_.seeds_per_worker, options_.timeout_s},
        [this](uint64_t job) { return Work(job); });
    for (;;) {
      if (!usage_error_.empty()) break;
      SubmitMore(pool);
      if (pool.pending() == 0 || interrupt.Interrupted()) break;
      std::optional<WorkerPool::Result> result = pool.Wait(200, interrupt.fd());
      if (result.has_value()) Take(pool, *result);
      progress_.Update(state_.summary);
      if (progress_.elapsed_s() - saved_at_s_ < kStatePeriodS) continue;
      status = SaveState();
      if (!status.ok()) usage_error_ = status.message();
    }
  }
  if (options_.shrink && usage_error_.empty()) {
    ShrinkFindings([&interrupt] { return interrupt.Interrupted(); });
  }
  return Finish(interrupt.Interrupted());
}

void Campaign::SubmitMore(WorkerPool& pool) {
  uint64_t total = SeedCount();
  while (!stopping_ && submitted_ < total && pool.pending() < pool.appetite()) {
    uint64_t job = submitted_++;
    if (state_.done.Has(Place(job))) continue;
    pool.Submit(job, options_.order == SeedOrder::kFresh);
  }
}

void Campaign::Take(WorkerPool& pool, const WorkerPool::Result& result) {
  uint64_t index = result.job & ~kSecondRun;
  if (index == result.job) {
    TakeFirst(pool, index, result);
  } else {
    TakeSecond(index, result);
  }
  if (options_.stop_after > 0 &&
      state_.summary.findings >= options_.stop_after) {
    stopping_ = true;
  }
  if (state_.summary.harness_failures >= kMaxHarnessFailures && !stopping_) {
    progress_.Print(fmt::format("stopping after {} harness failures\n",
                                state_.summary.harness_failures));
    stopping_ = true;
  }
}

void Campaign::TakeFirst(WorkerPool& pool, uint64_t index,
                         const WorkerPool::Result& result) {
  uint64_t seed = SeedOf(index);
  if (!result.death.empty()) {
    suspects_[index].death = result.death;
    pool.Submit(kSecondRun | index, true);
    return;
  }
  env::Result<properties::RunOutcome> outcome = DecodeOutcome(result.bytes);
  if (!outcome.ok()) {
    if (outcome.status().code() == env::Code::kInvalid) {
      usage_error_ = outcome.status().message();
      return;
    }
    ++state_.summary.seeds;
    ReportHarnessFailure(seed, outcome.status().ToString());
    Done(index);
    return;
  }
  if (!options_.hashes_file.empty()) hashes_[seed] = outcome->hash;
  if (outcome->harness_failure.empty() && !outcome->broken.empty()) {
    suspects_[index].outcome = std::move(outcome).value();
    pool.Submit(kSecondRun | index, true);
    return;
  }
  state_.summary.Add(outcome->stats);
  if (!outcome->harness_failure.empty()) {
    ReportHarnessFailure(seed, outcome->harness_failure);
  }
  Done(index);
}

void Campaign::Done(uint64_t index) { state_.done.Add(Place(index)); }

void Campaign::TakeSecond(uint64_t index, const WorkerPool::Result& result) {
  uint64_t seed = SeedOf(index);
  Suspect suspect = std::move(suspects_[index]);
  suspects_.erase(index);
  Done(index);
  if (suspect.outcome.has_value()) {
    state_.summary.Add(suspect.outcome->stats);
  } else {
    ++state_.summary.seeds;
  }
  if (!suspect.death.empty()) {
    ReportHarnessFailure(
        seed, fmt::format("the worker was {}; alone it {}", suspect.death,
                          result.death.empty()
                              ? "runs, so earlier seeds of that worker matter"
                              : "is as well: " + result.death));
    return;
  }
  if (!result.death.empty()) {
    ReportHarnessFailure(
        seed, fmt::format("broke a promise, but died when it was run again: {}",
                          result.death));
    return;
  }
  env::Result<properties::RunOutcome> again = DecodeOutcome(result.bytes);
  if (!again.ok() || again->hash != suspect.outcome->hash ||
      again->broken.empty()) {
    ReportHarnessFailure(
        seed,
        fmt::format("broke {}, but did not do so when it was run again: hash "
                    "{:016x}, then {}",
                    suspect.outcome->broken.front().promise,
                    suspect.outcome->hash,
                    again.ok() ? fmt::format("{:016x}", again->hash)
                               : again.status().ToString()));
    return;
  }
  ReportFinding(seed, *again);
}

void Campaign::ReportFinding(uint64_t seed,
                             const properties::RunOutcome& outcome) {
  ++state_.summary.findings;
  properties::RunSpec spec = SpecOf(seed);
  const properties::Verdict& verdict = outcome.broken.front();
  std::string path =
      fmt::format("{}/{}-{}.recipe", options_.out_dir, verdict.promise, seed);
  if (state_.summary.findings <= kRecipes) {
    env::Status status =
        WriteFile(UserPath(path), FormatRecipe(RecipeOfFinding(spec, outcome)));
    if (!status.ok()) {
      progress_.Print(
          fmt::format("cannot write the recipe: {}\n", status.message()));
    }
  }
  NoteIncident({seed, verdict.promise, verdict.oracle, verdict.subject,
                verdict.message, path, false});
  if (state_.summary.findings <= kFullReports) {
    progress_.Print(
        fmt::format("FINDING {}replay: {}\n\n", DescribeBroken(spec, outcome),
                    ReplayCommand(options_.invocation, spec, path)));
  } else if (state_.summary.findings <= kShortReports) {
    progress_.Print(fmt::format("FINDING seed {}: {} broken for {}, see {}\n",
                                seed, verdict.promise, verdict.subject, path));
  }
}

// The first finding of each kind by seed, so that the choice depends neither on
// workers nor on the order of seeds nor on sittings.
void Campaign::ShrinkFindings(const std::function<bool()>& stop) {
  std::map<uint64_t, Incident*> by_seed;
  for (Incident& incident : state_.incidents) {
    if (!incident.harness()) by_seed[incident.seed] = &incident;
  }
  std::set<std::pair<std::string, std::string>> kinds;
  for (const auto& [seed, finding] : by_seed) {
    if (stop() || kinds.size() >= kShrunkKinds) return;
    bool first = kinds.emplace(finding->promise, finding->oracle).second;
    if (!first || finding->shrunk) continue;
    progress_.Clear();
    ShrinkOne(*finding, stop);
    // Half a shrinking is none.
    finding->shrunk = !stop();
  }
}

void Campaign::ShrinkOne(const Incident& finding,
                         const std::function<bool()>& stop) {
  fmt::print(options_.out, "SHRINKING {}\n", finding.recipe);
  env::Result<Recipe> recipe = LoadRecipe(finding.recipe);
  if (!recipe.ok()) {
    fmt::print(options_.out, "cannot be shrunk: {}\n\n",
               recipe.status().message());
    return;
  }
  ShrinkOptions options;
  options.target = finding.recipe;
  options.recipe = std::move(recipe).value();
  options.out_dir = options_.out_dir;
  options.workers = options_.workers;
  options.budget_s = options_.shrink_budget_s;
  options.timeout_s = options_.timeout_s;
  options.show_passes = false;
  options.stop = stop;
  options.invocation = options_.invocation;
  options.out = options_.out;
  Shrinker(options, runner_).Run();
  fmt::print(options_.out, "\n");
}

void Campaign::ReportHarnessFailure(uint64_t seed, std::string_view why) {
  ++state_.summary.harness_failures;
  properties::RunSpec spec = SpecOf(seed);
  Recipe recipe;
  recipe.build = BuildId();
  recipe.spec = spec;
  recipe.comments.push_back(fmt::format(" harness failure: {}", why));
  std::string path =
      fmt::format("{}/harness-{}.recipe", options_.out_dir, seed);
  env::Status status = WriteFile(UserPath(path), FormatRecipe(recipe));
  NoteIncident({seed, "", "", "", std::string(why), path, false});
  progress_.Print(
      fmt::format("HARNESS FAILURE seed {}: {}\nreplay: {}\n", seed, why,
                  status.ok() ? ReplayCommand(options_.invocation, spec, path)
                              : std::string(status.message())));
}

void Campaign::NoteIncident(Incident incident) {
  if (state_.incidents.size() < kRecipes) {
    state_.incidents.push_back(std::move(incident));
  }
}

ExitCode Campaign::Finish(bool interrupted) {
  progress_.Clear();
  env::Status saved = usage_error_.empty() ? SaveState() : env::Status();
  if (!saved.ok()) usage_error_ = saved.message();
  if (!usage_error_.empty()) {
    fmt::print(stderr, "musth: {}\n", usage_error_);
    return kExitUsage;
  }
  state_.summary.wall_s += progress_.elapsed_s();
  state_.summary.cpu_s += CpuSeconds();
  std::string text = state_.summary.ToText();
  if (interrupted) {
    text = fmt::format("interrupted; {} of {} seeds ran\n{}",
                       state_.summary.seeds, SeedCount(), text);
  }
  progress_.Print(text);
  if (!options_.hashes_file.empty()) {
    std::string lines;
    for (const auto& [seed, hash] : hashes_) {
      lines += fmt::format("{} {:016x}\n", seed, hash);
    }
    env::Status status = WriteFile(UserPath(options_.hashes_file), lines);
    if (!status.ok()) {
      fmt::print(stderr, "musth: {}\n", status.message());
      return kExitUsage;
    }
  }
  return ExitCodeOf(state_.summary);
}

}  // namespace replay
