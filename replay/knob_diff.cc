#include "replay/knob_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "replay/user_files.h"
#include "sim/trace.h"

namespace replay {
namespace {

using env::EventKind;
using properties::RunOutcome;
using properties::TimelineEntry;

// Answers that are shown one by one; the rest is counted.
constexpr size_t kShownAnswers = 12;
constexpr int kNameWidth = 28;
constexpr int kValueWidth = 24;

struct Side {
  std::string trace_path;
  WorkTally tally;
  RunOutcome outcome;
};

class Table {
 public:
  explicit Table(std::FILE* out) : out_(out) {}
  void Row(std::string_view name, std::string_view left,
           std::string_view right) {
    fmt::print(out_, "{:<{}} {:<{}} {}\n", name, kNameWidth, left, kValueWidth,
               right);
  }
  // Only if they differ.
  void Difference(std::string_view name, uint64_t left, uint64_t right) {
    if (left == right) return;
    std::string change =
        left == 0
            ? ""
            : fmt::format(" ({:+}%)", (static_cast<int64_t>(right) -
                                       static_cast<int64_t>(left)) *
                                          100 / static_cast<int64_t>(left));
    Row(name, fmt::to_string(left), fmt::format("{}{}", right, change));
  }

 private:
  std::FILE* out_;
};

// The recipe's own lines that the run has no use for do not matter here: under
// another setting some usually have none.
env::Status RunSide(const properties::RunSpec& spec, const Runner& runner,
                    Side* side) {
  // An empty file first: makes the directories, and says early if it cannot.
  RETURN_IF_ERROR(WriteFile(side->trace_path, ""));
  properties::RunOptions options;
  options.trace_path = side->trace_path;
  options.observers = {&side->tally};
  options.record = true;
  ASSIGN_OR_RETURN(side->outcome, runner(spec, options));
  return env::Status();
}

std::string VerdictOf(const RunOutcome& outcome) {
  if (!outcome.harness_failure.empty()) return "harness failure";
  if (outcome.broken.empty()) return "kept";
  return outcome.broken.front().promise + " broken";
}

// Statement by statement, what its client was told last.
std::map<std::string, std::string> AnswersOf(const RunOutcome& outcome) {
  std::map<std::string, std::string> answers;
  if (outcome.record == nullptr) return answers;
  for (const TimelineEntry& entry : outcome.record->timeline) {
    if (entry.kind == TimelineEntry::Kind::kSent) {
      answers.emplace(entry.label, "no answer");
    } else if (entry.kind == TimelineEntry::Kind::kAnswered) {
      answers[entry.label] = entry.text;
    }
  }
  return answers;
}

std::vector<std::string> CrashesOf(const RunOutcome& outcome) {
  std::vector<std::string> crashes;
  if (outcome.record == nullptr) return crashes;
  for (const TimelineEntry& entry : outcome.record->timeline) {
    if (entry.kind == TimelineEntry::Kind::kCrash)
      crashes.push_back(entry.text);
  }
  return crashes;
}

void PrintKnobs(const Side& left, const Side& right, Table* table) {
  if (left.outcome.record == nullptr || right.outcome.record == nullptr) return;
  // A record leaves out what has its simplest value.
  std::map<std::string, std::pair<std::string, std::string>> knobs;
  for (const auto& [name, value] : left.outcome.record->knobs) {
    knobs[name].first = value;
  }
  for (const auto& [name, value] : right.outcome.record->knobs) {
    knobs[name].second = value;
  }
  for (const auto& [name, values] : knobs) {
    if (values.first == values.second) continue;
    auto shown = [](const std::string& value) {
      return value.empty() ? std::string("simplest") : value;
    };
    table->Row(name, shown(values.first), shown(values.second));
  }
}

void PrintAnswers(const Side& left, const Side& right, std::FILE* out) {
  std::map<std::string, std::string> a = AnswersOf(left.outcome);
  std::map<std::string, std::string> b = AnswersOf(right.outcome);
  std::map<std::string, std::pair<std::string, std::string>> all;
  for (const auto& [label, text] : a) all[label] = {text, "not sent"};
  for (const auto& [label, text] : b) {
    auto [at, fresh] = all.try_emplace(label, "not sent", text);
    if (!fresh) at->second.second = text;
  }
  size_t differ = 0;
  for (const auto& [label, texts] : all) {
    if (texts.first == texts.second) continue;
    if (++differ > kShownAnswers) continue;
    fmt::print(out, "{}\n  < {}\n  > {}\n", label, texts.first, texts.second);
  }
  fmt::print(out, "{} of {} statements are answered differently\n", differ,
             all.size());
}

void PrintCrashes(const Side& left, const Side& right, Table* table) {
  std::vector<std::string> a = CrashesOf(left.outcome);
  std::vector<std::string> b = CrashesOf(right.outcome);
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    std::string_view none = "-";
    table->Row(fmt::format("crash {}", i + 1),
               i < a.size() ? std::string_view(a[i]) : none,
               i < b.size() ? std::string_view(b[i]) : none);
  }
}

void PrintWork(const Side& left, const Side& right, Table* table) {
  const properties::RunStats& a = left.outcome.stats;
  const properties::RunStats& b = right.outcome.stats;
  table->Difference("scheduling steps", a.steps, b.steps);
  table->Difference("virtual microseconds",
                    static_cast<uint64_t>(a.virtual_ns / 1000),
                    static_cast<uint64_t>(b.virtual_ns / 1000));
  table->Difference("recoveries", a.recoveries, b.recoveries);
  table->Difference("commits acknowledged", a.acked_commits, b.acked_commits);
  auto rows = left.tally.Rows();
  auto others = right.tally.Rows();
  for (size_t i = 0; i < rows.size(); ++i) {
    table->Difference(rows[i].first, rows[i].second, others[i].second);
  }
}

env::Status PrintParting(const Side& left, const Side& right, std::FILE* out) {
  ASSIGN_OR_RETURN(sim::TraceDiff diff,
                   sim::CompareTraces(left.trace_path, right.trace_path));
  if (diff.same) {
    fmt::print(out, "the setting changes no event: {} are equal\n", diff.index);
    return env::Status();
  }
  fmt::print(out, "the runs part at event {}\n", diff.index);
  for (const std::string& line : diff.before) fmt::print(out, "    {}\n", line);
  fmt::print(out, "  < {}\n  > {}\n", diff.left, diff.right);
  return env::Status();
}

ExitCode CodeOf(const Side& left, const Side& right) {
  for (const Side* side : {&left, &right}) {
    if (!side->outcome.harness_failure.empty()) return kExitHarness;
  }
  bool kept = left.outcome.broken.empty() && right.outcome.broken.empty();
  return kept ? kExitKept : kExitBroken;
}

ExitCode Failed(const env::Status& status) {
  fmt::print(stderr, "musth: {}\n", status.message());
  return status.code() == env::Code::kInvalid ? kExitUsage : kExitHarness;
}

void PrintVerdict(char side, const RunOutcome& outcome, std::FILE* out) {
  if (!outcome.harness_failure.empty()) {
    fmt::print(out, "{} {}\n", side, outcome.harness_failure);
  } else if (!outcome.broken.empty()) {
    fmt::print(out, "{} {}\n", side, outcome.broken.front().ToString());
  }
}

}  // namespace

void WorkTally::OnEvent(const env::Event& event) {
  ++events_[static_cast<size_t>(event.kind)];
  switch (event.kind) {
    case EventKind::kFileWrite:
      bytes_written_ += event.a[2];
      break;
    case EventKind::kFileRead:
      bytes_read_ += event.a[2];
      break;
    case EventKind::kFileSync:
      if (event.a[1] == 2) ++fsyncs_;
      break;
    case EventKind::kWalInsert:
      wal_bytes_ += event.a[1] - event.a[0];
      break;
    default:
      break;
  }
}

std::vector<std::pair<std::string, uint64_t>> WorkTally::Rows() const {
  auto of = [this](EventKind kind) {
    return events_[static_cast<size_t>(kind)];
  };
  return {
      {"WAL records", of(EventKind::kWalInsert)},
      {"WAL bytes", wal_bytes_},
      {"WAL flushes", of(EventKind::kWalFlush)},
      {"checkpoint phases", of(EventKind::kCheckpoint)},
      {"pages dirtied", of(EventKind::kPageDirty)},
      {"pages read", of(EventKind::kPageRead)},
      {"pages written", of(EventKind::kPageWrite)},
      {"file writes", of(EventKind::kFileWrite)},
      {"bytes written", bytes_written_},
      {"bytes read", bytes_read_},
      {"fsyncs", fsyncs_},
      {"directory operations", of(EventKind::kDirOp)},
      {"disk faults", of(EventKind::kFault)},
      {"records replayed", of(EventKind::kRedo)},
      {"waits for transactions", of(EventKind::kXactWait)},
      {"aborts", of(EventKind::kAbort)},
      {"switches", of(EventKind::kSwitch)},
  };
}

ExitCode RunKnobDiff(const KnobDiffOptions& options, const Runner& runner) {
  properties::RunSpec spec = options.recipe.spec;
  Side left;
  Side right;
  left.trace_path = UserPath(options.out_dir + "/as-it-is.trace");
  right.trace_path = UserPath(options.out_dir + "/against.trace");
  env::Status status = RunSide(spec, runner, &left);
  if (!status.ok()) return Failed(status);
  spec.knobs.insert(spec.knobs.end(), options.against.begin(),
                    options.against.end());
  status = RunSide(spec, runner, &right);
  if (!status.ok()) return Failed(status);

  std::string settings;
  for (const auto& [name, value] : options.against) {
    settings +=
        fmt::format("{}{}={}", settings.empty() ? "" : " ", name, value);
  }
  Table table(options.out);
  table.Row(fmt::format("seed {}", spec.seed), "as it is", settings);
  PrintKnobs(left, right, &table);
  table.Row("promises", VerdictOf(left.outcome), VerdictOf(right.outcome));
  PrintWork(left, right, &table);
  PrintCrashes(left, right, &table);
  PrintAnswers(left, right, options.out);
  PrintVerdict('<', left.outcome, options.out);
  PrintVerdict('>', right.outcome, options.out);
  status = PrintParting(left, right, options.out);
  if (!status.ok()) return Failed(status);
  return CodeOf(left, right);
}

}  // namespace replay
