#include "replay/shrink_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "replay/recipe.h"
#include "replay/sql_pieces.h"
#include "sim/env/site.h"

namespace replay {
namespace {

using properties::RecordedCrash;
using properties::RecordedStatement;
using properties::RunRecord;
using properties::RunSpec;

// Knobs that a written plan and a written schedule leave nothing to say.
constexpr std::array<std::string_view, 9> kSaidOtherwise = {
    "rows",
    "sessions",
    "strategy",
    "strategy_depth",
    "strategy_set",
    "switch_denominator",
    "synchronous_commit_percent",
    "timer_denominator",
    "txns"};

bool SaidOtherwise(std::string_view knob) {
  return std::find(kSaidOtherwise.begin(), kSaidOtherwise.end(), knob) !=
         kSaidOtherwise.end();
}

std::string CrashLine(const RecordedCrash& crash) {
  std::string line = "crash " + crash.kind;
  if (crash.at_end) return line + " at end";
  if (crash.in_recovery) line += " in recovery";
  line += " " + crash.task;
  line += crash.place.empty()
              ? fmt::format(" at step {}", crash.nth_step)
              : fmt::format(" at {} {}", crash.place, crash.nth);
  if (!crash.during.empty()) line += " during " + crash.during;
  return line;
}

// Replaces whole words that are labels.
void Rename(const std::map<std::string, std::string>& labels,
            std::string* line) {
  std::string out;
  size_t at = 0;
  while (at <= line->size()) {
    size_t end = std::min(line->find(' ', at), line->size());
    std::string word = line->substr(at, end - at);
    auto renamed = labels.find(word);
    if (!out.empty()) out += ' ';
    out += renamed == labels.end() ? word : renamed->second;
    at = end + 1;
  }
  *line = std::move(out);
}

// Several statements that are sent as one query stay one.
std::string AsOneQuery(const std::string& sql) {
  std::string out;
  size_t at = 0;
  for (const SqlPiece& piece : SqlPieces(sql)) {
    if (piece.kind != SqlPiece::Kind::kMark || sql[piece.from] != ';') continue;
    out += sql.substr(at, piece.from - at) + "\\";
    at = piece.from;
  }
  return out + sql.substr(at);
}

// Draws that are a fault by themselves, each of which strikes.
bool IsFault(const sim::Override& draw) {
  static constexpr std::array<std::string_view, 7> kSites = {
      "sync_failure",        "lying_flush",          "read_error", "misread",
      "short_transfer.read", "short_transfer.write", "latency"};
  return draw.stream == sim::Stream::kDiskFault &&
         std::find(kSites.begin(), kSites.end(), draw.site) != kSites.end();
}

// Labels of the statements of ToSpec(state).
std::map<std::string, std::string> NewLabels(const ShrinkState& state) {
  std::map<std::string, std::string> labels;
  std::map<uint32_t, uint32_t> counts;
  for (const ShrinkStatement& s : state.statements) {
    labels[s.label] = fmt::format("s{}.q{}", s.session, ++counts[s.session]);
  }
  return labels;
}

}  // namespace

bool IsImageDraw(const sim::Override& draw) {
  return draw.stream == sim::Stream::kCrashImage &&
         draw.scope_path.find("/writeback") == std::string::npos;
}

ShrinkState StateOf(const RunSpec& spec, const RunRecord& record) {
  ShrinkState state;
  state.base.seed = spec.seed;
  state.base.base = sim::Base::kZero;
  state.base.mode = spec.mode;
  state.base.profile = record.profile;
  state.base.planted = spec.planted;
  state.base.books = record.books;
  std::map<std::string, std::string> labels;
  std::map<uint32_t, uint32_t> counts;
  for (const RecordedStatement& s : record.statements) {
    std::string label = fmt::format("s{}.q{}", s.session, ++counts[s.session]);
    labels[s.label] = label;
    state.statements.push_back(
        {state.next_part++, s.session, label, s.sql, s.sleep_ns});
  }
  for (const auto& [name, value] : record.knobs) {
    if (SaidOtherwise(name)) continue;
    state.knobs.push_back({state.next_part++, name, value});
  }
  for (const sim::Override& draw : record.draws) {
    state.draws.push_back({state.next_part++, draw});
  }
  for (sim::ScheduleEntry entry : record.schedule) {
    auto label = labels.find(entry.mark);
    if (label != labels.end()) entry.mark = label->second;
    state.schedule.push_back({state.next_part++, std::move(entry)});
  }
  for (const RecordedCrash& crash : record.crashes) {
    ShrinkDirection direction;
    direction.part = state.next_part++;
    RecordedCrash renamed = crash;
    if (!crash.during.empty()) renamed.during = labels[crash.during];
    direction.line = CrashLine(renamed);
    direction.incarnation = crash.incarnation;
    direction.image = crash.image;
    direction.tasks = crash.tasks;
    std::sort(direction.tasks.begin(), direction.tasks.end());
    state.directions.push_back(std::move(direction));
  }
  // What was said in words stays: images belong to the crash above them.
  size_t crash = SIZE_MAX;
  for (const std::string& line : spec.directions) {
    if (line.rfind("crash ", 0) == 0) {
      ++crash;
    } else if (line.rfind("image ", 0) != 0) {
      ShrinkDirection direction;
      direction.part = state.next_part++;
      direction.line = line;
      // Its statements may be numbered anew already: some may be left out.
      Rename(labels, &direction.line);
      state.directions.push_back(std::move(direction));
    } else if (crash < record.crashes.size()) {
      state.directions[crash].image_lines.emplace_back(state.next_part++, line);
    }
  }
  return state;
}

RunSpec ToSpec(const ShrinkState& state) {
  RunSpec spec = state.base;
  std::map<std::string, std::string> labels = NewLabels(state);
  std::map<uint32_t, std::string> texts;
  for (const ShrinkStatement& s : state.statements) {
    std::string& text = s.session == 0 ? spec.setup_sql : texts[s.session];
    if (s.sleep_ns > 0) {
      text += fmt::format("\\sleep {} us\n", s.sleep_ns / 1000);
    } else {
      text += AsOneQuery(s.sql) + ";\n";
    }
  }
  for (const auto& [number, text] : texts) {
    spec.sessions.push_back({number, text});
  }
  // Without any session there would be a generated workload.
  if (spec.sessions.empty()) spec.sessions.push_back({1, "\n"});
  for (const ShrinkKnob& knob : state.knobs) {
    spec.knobs.emplace_back(knob.name, knob.value);
  }
  for (const ShrinkDraw& draw : state.draws) {
    spec.overrides.push_back(draw.draw);
  }
  for (const ShrinkEntry& e : state.schedule) {
    sim::ScheduleEntry entry = e.entry;
    auto label = labels.find(entry.mark);
    if (label != labels.end()) entry.mark = label->second;
    spec.schedule.push_back(std::move(entry));
  }
  for (const ShrinkDirection& direction : state.directions) {
    std::string line = direction.line;
    Rename(labels, &line);
    spec.directions.push_back(std::move(line));
    for (const auto& [part, image] : direction.image_lines) {
      spec.directions.push_back(image);
    }
  }
  return spec;
}

ShrinkState Pruned(ShrinkState state, const properties::RunOutcome& outcome) {
  std::set<uint64_t> unused(outcome.unused_schedule.begin(),
                            outcome.unused_schedule.end());
  std::vector<ShrinkEntry> schedule;
  for (size_t i = 0; i < state.schedule.size(); ++i) {
    if (unused.count(i) == 0) schedule.push_back(std::move(state.schedule[i]));
  }
  state.schedule = std::move(schedule);
  std::set<std::string> unmatched;
  for (const sim::Override& o : outcome.unmatched_overrides) {
    unmatched.insert(o.ToString());
  }
  std::erase_if(state.draws, [&](const ShrinkDraw& d) {
    return unmatched.count(d.draw.ToString()) != 0;
  });
  return state;
}

ShrinkSize SizeOf(const ShrinkState& state) {
  ShrinkSize size;
  size.statements = state.statements.size();
  size.preemptions = state.schedule.size();
  for (const ShrinkDirection& direction : state.directions) {
    bool hold = direction.line.rfind("hold ", 0) == 0;
    ++(hold ? size.preemptions : size.faults);
  }
  for (const ShrinkDraw& d : state.draws)
    size.faults += IsFault(d.draw) ? 1 : 0;
  return size;
}

uint64_t KeyOf(const ShrinkState& state) {
  Recipe recipe;
  recipe.spec = ToSpec(state);
  return env::SiteHash(FormatRecipe(recipe));
}

}  // namespace replay
