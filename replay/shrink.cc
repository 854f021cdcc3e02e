#include "replay/shrink.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "replay/minimize.h"
#include "replay/outcome_codec.h"
#include "replay/replay_cmd.h"
#include "replay/script.h"
#include "replay/shrink_passes.h"
#include "replay/user_files.h"
#include "sim/env/check.h"

namespace replay {
namespace {

using properties::RunOutcome;
using properties::RunSpec;

constexpr uint64_t kRunsPerWorker = 2000;
constexpr char kRecord = 'r';
constexpr char kPlain = '-';
// properties/tpcb_oracle.h
constexpr std::string_view kBooksOracle = "tpcb";

int64_t CpuNs() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

bool TimedOut(const env::Result<RunOutcome>& outcome) {
  return !outcome.ok() && outcome.status().code() == env::Code::kInterrupted;
}

// "1 part", "2 parts".
std::string Counted(uint64_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::string Describe(const ShrinkSize& size) {
  return fmt::format("{} statements, {} preemptions, {} faults",
                     size.statements, size.preemptions, size.faults);
}

}  // namespace

Shrinker::Shrinker(const ShrinkOptions& options, Runner runner)
    : options_(options), runner_(std::move(runner)) {
  WorkerPool::Options pool;
  pool.workers = options_.workers;
  pool.jobs_per_worker = kRunsPerWorker;
  pool.timeout_s = options_.timeout_s;
  pool_ = std::make_unique<WorkerPool>(
      pool,
      WorkerPool::TextWork([this](uint64_t /*job*/, const std::string& text) {
        return Work(text);
      }));
}

Shrinker::~Shrinker() = default;

// In a worker. The answer begins with the CPU time that the run took.
WorkerPool::Answer Shrinker::Work(const std::string& text) {
  SIM_CHECK(!text.empty());
  int64_t begin_ns = CpuNs();
  properties::RunOptions run_options;
  run_options.record = text[0] == kRecord;
  env::Result<Recipe> recipe = ParseRecipe(text.substr(1), "candidate");
  env::Result<RunOutcome> outcome =
      recipe.ok() ? runner_(recipe->spec, run_options)
                  : env::Result<RunOutcome>(recipe.status());
  bool distrust = !outcome.ok() || !outcome->harness_failure.empty();
  std::string bytes = EncodeOutcome(outcome);
  int64_t cpu_ns = CpuNs() - begin_ns;
  std::string head(sizeof(cpu_ns), '\0');
  std::memcpy(head.data(), &cpu_ns, sizeof(cpu_ns));
  return {head + bytes, distrust};
}

std::string Shrinker::JobText(const RunSpec& spec, bool record) const {
  Recipe recipe;
  recipe.spec = spec;
  return std::string(1, record ? kRecord : kPlain) + FormatRecipe(recipe);
}

env::Result<RunOutcome> Shrinker::Take(const WorkerPool::Result& result) {
  ++result_.runs;
  int64_t cpu_ns = 0;
  if (result.timed_out) {
    ++result_.timeouts;
    runs_cpu_s_ += options_.timeout_s;
    return env::Status(env::Code::kInterrupted,
                       "the worker was " + result.death);
  }
  if (result.bytes.size() < sizeof(cpu_ns)) {
    // A run that kills its worker has cost no less than a usual one.
    runs_cpu_s_ += 0.01;
    return env::Status(env::Code::kIo, "the worker was " + result.death);
  }
  std::memcpy(&cpu_ns, result.bytes.data(), sizeof(cpu_ns));
  runs_cpu_s_ += static_cast<double>(cpu_ns) / 1e9;
  return DecodeOutcome(std::string_view(result.bytes).substr(sizeof(cpu_ns)));
}

env::Result<RunOutcome> Shrinker::RunOne(const RunSpec& spec, bool record) {
  pool_->Submit(0, false, JobText(spec, record));
  for (;;) {
    std::optional<WorkerPool::Result> result = pool_->Wait(200);
    if (result.has_value()) return Take(*result);
  }
}

bool Shrinker::SameFailure(const env::Result<RunOutcome>& outcome) const {
  if (!outcome.ok() || !outcome->harness_failure.empty()) return false;
  return outcome->unmet_directions.empty() && Breaks(*outcome);
}

bool Shrinker::Breaks(const RunOutcome& outcome) const {
  return std::any_of(outcome.broken.begin(), outcome.broken.end(),
                     [this](const properties::Verdict& verdict) {
                       return verdict.promise == promise_ &&
                              verdict.oracle == oracle_;
                     });
}

// The workers' runs, and what this process did itself.
double Shrinker::CpuSeconds() const {
  return runs_cpu_s_ + static_cast<double>(CpuNs() - begin_ns_) / 1e9;
}

// Runs them all at once, as far as there are workers; the first counts.
MinimizeJudgement<ShrinkState> Shrinker::Judge(
    const std::vector<ShrinkState>& candidates) {
  auto workers = static_cast<size_t>(options_.workers);
  MinimizeJudgement<ShrinkState> out;
  std::map<size_t, env::Result<RunOutcome>> outcomes;
  size_t submitted = 0;
  size_t decided = 0;
  auto searching = [&] {
    return !out.failing.has_value() && decided < candidates.size() &&
           !Exhausted();
  };
  // Jobs under way when the answer is known are waited for, and ignored.
  while (pool_->pending() > 0 || searching()) {
    while (searching() && submitted < candidates.size() &&
           pool_->pending() < workers) {
      pool_->Submit(submitted, false,
                    JobText(ToSpec(candidates[submitted]), false));
      ++submitted;
    }
    std::optional<WorkerPool::Result> result = pool_->Wait(200);
    if (!result.has_value()) continue;
    outcomes.emplace(result->job, Take(*result));
    for (auto it = outcomes.find(decided);
         !out.failing.has_value() && it != outcomes.end();
         it = outcomes.find(++decided)) {
      const env::Result<RunOutcome>& outcome = it->second;
      if (TimedOut(outcome)) out.undecided.insert(decided);
      if (!SameFailure(outcome)) continue;
      out.failing.emplace(decided, Pruned(candidates[decided], *outcome));
      break;
    }
  }
  return out;
}

std::optional<ExitCode> Shrinker::RunOriginal(RunOutcome* outcome) {
  const RunSpec& spec = options_.recipe.spec;
  env::Result<RunOutcome> first = RunOne(spec, true);
  if (!first.ok()) {
    fmt::print(stderr, "musth: {}\n", first.status().message());
    return first.status().code() == env::Code::kInvalid ? kExitUsage
                                                        : kExitHarness;
  }
  std::string unmatched = DescribeUnmatched(spec, *first);
  if (!unmatched.empty()) {
    fmt::print(options_.out, "{}: the recipe no longer fits\n{}",
               options_.target, unmatched);
    return kExitNoFit;
  }
  if (!first->harness_failure.empty()) {
    fmt::print(options_.out, "HARNESS FAILURE seed {}: {}\n", spec.seed,
               first->harness_failure);
    return kExitHarness;
  }
  if (first->broken.empty()) {
    fmt::print(options_.out,
               "{}: every promise was kept, there is nothing to shrink\n",
               options_.target);
    return kExitNoFit;
  }
  *outcome = std::move(first).value();
  promise_ = outcome->broken.front().promise;
  oracle_ = outcome->broken.front().oracle;
  return std::nullopt;
}

env::Result<ShrinkState> Shrinker::Start(const RunOutcome& outcome) {
  if (outcome.record == nullptr) {
    return env::Status(env::Code::kIo, "it was not recorded");
  }
  ShrinkState state = StateOf(options_.recipe.spec, *outcome.record);
  // Only who adds up the books wants whole transactions.
  if (oracle_ != kBooksOracle) state.base.books = properties::Books::kNone;
  env::Result<RunOutcome> again = RunOne(ToSpec(state), false);
  if (SameFailure(again)) return Pruned(std::move(state), *again);
  if (!again.ok()) return again.status();
  std::string why = again->harness_failure;
  if (why.empty() && !again->unmet_directions.empty()) {
    why = "not carried out: " + again->unmet_directions.front();
  }
  if (why.empty() && !again->broken.empty()) {
    why = fmt::format("{} is, seen by {}", again->broken.front().promise,
                      again->broken.front().oracle);
  }
  if (why.empty()) why = "every promise is kept";
  return env::Status(env::Code::kIo, why);
}

ShrinkState Shrinker::Minimize(ShrinkState start) {
  using Pass = MinimizePass<ShrinkState>;
  Minimizer<ShrinkState>::Options options;
  options.key = KeyOf;
  options.judge = [this](const std::vector<ShrinkState>& candidates) {
    return Judge(candidates);
  };
  options.exhausted = [this] { return Exhausted(); };
  options.width = static_cast<size_t>(options_.workers);
  size_t before = 0;
  uint64_t runs_before = 0;
  options.on_begin = [&](const Pass& pass, const ShrinkState& state) {
    before = pass.parts(state).size();
    runs_before = result_.runs;
  };
  options.on_end = [&](const Pass& pass, const ShrinkState& state) {
    if (!options_.show_passes || result_.runs == runs_before) return;
    fmt::print(options_.out, "  {:<12} {:>5} -> {:<5} {:>5} runs   {}\n",
               pass.name, before, pass.parts(state).size(),
               result_.runs - runs_before, Describe(SizeOf(state)));
    std::fflush(options_.out);
  };
  Minimizer<ShrinkState> minimizer(std::move(options));
  ShrinkState state = minimizer.Run(std::move(start), ShrinkPasses());
  result_.one_minimal = minimizer.one_minimal();
  result_.undecided = minimizer.undecided();
  return state;
}

std::string Shrinker::NameOfTarget() const {
  const std::string& target = options_.target;
  if (target.find_first_not_of("0123456789") == std::string::npos) {
    return fmt::format("{}-{}", promise_, target);
  }
  size_t slash = target.rfind('/');
  std::string name =
      slash == std::string::npos ? target : target.substr(slash + 1);
  size_t dot = name.rfind(".recipe");
  return name.substr(0, dot);
}

// The promise that was shrunk for is the one to report.
void Shrinker::PutFirst(std::vector<properties::Verdict>* verdicts) const {
  auto ours = std::find_if(
      verdicts->begin(), verdicts->end(), [this](const auto& verdict) {
        return verdict.promise == promise_ && verdict.oracle == oracle_;
      });
  std::rotate(verdicts->begin(), ours, ours + 1);
}

ExitCode Shrinker::Write(const ShrinkState& state) {
  RunSpec spec = ToSpec(state);
  env::Result<RunOutcome> outcome = RunOne(spec, true);
  env::Result<RunOutcome> again = RunOne(spec, false);
  if (!SameFailure(outcome) || !SameFailure(again) ||
      outcome->hash != again->hash) {
    fmt::print(options_.out,
               "{}: the shrunk recipe does not break {} when it is run again\n",
               options_.target, promise_);
    return kExitHarness;
  }
  PutFirst(&outcome->broken);
  Recipe recipe = RecipeOfFinding(spec, *outcome);
  recipe.expect_promise = promise_;
  std::string name = fmt::format("{}/{}", options_.out_dir, NameOfTarget());
  result_.recipe_path = name + ".shrunk.recipe";
  result_.script_path = name + ".script";
  std::string script = ScriptOf(spec, *outcome);
  for (const auto& [path, text] :
       {std::make_pair(result_.recipe_path, FormatRecipe(recipe)),
        std::make_pair(result_.script_path, script)}) {
    env::Status status = WriteFile(UserPath(path), text);
    if (status.ok()) continue;
    fmt::print(stderr, "musth: {}\n", status.message());
    return kExitUsage;
  }
  result_.size = SizeOf(state);
  RunControl(spec);
  result_.cpu_s = CpuSeconds();
  Report();
  fmt::print(options_.out, "script: {}\nreplay: {}\n", result_.script_path,
             ReplayCommand(options_.invocation, spec, result_.recipe_path));
  return kExitBroken;
}

void Shrinker::RunControl(const RunSpec& spec) {
  if (spec.planted.empty()) return;
  RunSpec control = spec;
  control.planted.clear();
  env::Result<RunOutcome> outcome = RunOne(control, false);
  std::string said;
  if (!outcome.ok() || !outcome->harness_failure.empty()) {
    said = fmt::format("does not run: {}", outcome.ok()
                                               ? outcome->harness_failure
                                               : outcome.status().message());
  } else {
    result_.control_kept = outcome->broken.empty();
    said = "keeps every promise";
    if (!outcome->broken.empty()) {
      said =
          fmt::format("breaks {}, too",
                      Breaks(*outcome) ? promise_ : outcome->broken[0].promise);
    }
    if (!outcome->unmet_directions.empty()) {
      said += "; not carried out: " + outcome->unmet_directions.front();
    }
  }
  fmt::print(options_.out, "control: without the planted bug it {}\n", said);
}

void Shrinker::Report() {
  std::string timeouts;
  if (result_.timeouts > 0) {
    timeouts = fmt::format("; {} ran out of time",
                           Counted(result_.timeouts, "candidate"));
  }
  fmt::print(options_.out, "{}: {} still broken with {}; {}, {:.1f} s{}\n",
             options_.target, promise_, Describe(result_.size),
             Counted(result_.runs, "run"), result_.cpu_s, timeouts);
  std::string why =
      fmt::format("the budget of {} s ran out", options_.budget_s);
  if (options_.stop && options_.stop()) why = "interrupted";
  if (result_.undecided > 0) {
    why = fmt::format("without {} a run takes more than {} s",
                      Counted(result_.undecided, "part"), options_.timeout_s);
  }
  fmt::print(options_.out, "{}\n",
             result_.one_minimal ? "1-minimal: no single part can be left out"
                                 : "not 1-minimal: " + why);
}

ExitCode Shrinker::Run() {
  std::fflush(nullptr);
  begin_ns_ = CpuNs();
  RunOutcome outcome;
  std::optional<ExitCode> stop = RunOriginal(&outcome);
  if (stop.has_value()) return *stop;
  env::Result<ShrinkState> start = Start(outcome);
  if (!start.ok()) {
    fmt::print(options_.out,
               "{}: {} is broken (seen by {}), but not any more when the run "
               "is written out without its seed ({}); it cannot be shrunk\n",
               options_.target, promise_, oracle_, start.status().message());
    return kExitBroken;
  }
  if (options_.show_passes) {
    fmt::print(options_.out, "{}: {} broken, seen by {}; {}\n", options_.target,
               promise_, oracle_, Describe(SizeOf(*start)));
  }
  return Write(Minimize(std::move(*start)));
}

}  // namespace replay
