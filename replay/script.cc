#include "replay/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/env/check.h"

namespace replay {
namespace {

using properties::RecordedStatement;
using properties::TimelineEntry;
using Kind = TimelineEntry::Kind;

constexpr size_t kPageWidth = 100;
constexpr size_t kLeastColumn = 24;

// Breaks a text into pieces of at most `width`, at blanks where it can.
std::vector<std::string> Wrap(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  while (text.size() > width) {
    size_t cut = text.rfind(' ', width);
    if (cut == std::string_view::npos || cut < width / 2) cut = width;
    lines.emplace_back(text.substr(0, cut));
    text.remove_prefix(cut);
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  }
  lines.emplace_back(text);
  return lines;
}

class Script {
 public:
  Script(const properties::RunSpec& spec, const properties::RunOutcome& outcome)
      : outcome_(outcome), record_(*outcome.record) {
    for (const RecordedStatement& s : record_.statements) {
      by_label_[s.label] = &s;
      if (s.session != 0) sessions_.insert(s.session);
    }
    for (const sim::ScheduleEntry& entry : spec.schedule) {
      std::string text = entry.ToString();
      preemptions_.emplace(text.substr(0, text.rfind(" ->")),
                           entry.next == sim::kTimerName);
    }
    size_t columns = std::max<size_t>(1, sessions_.size());
    width_ = std::max(kLeastColumn, kPageWidth / columns - 2);
  }

  std::string Text() {
    Setup();
    Head();
    for (const TimelineEntry& entry : record_.timeline) Row(entry);
    Promise();
    return std::move(out_);
  }

 private:
  size_t ColumnOf(uint32_t session) const {
    size_t column = 0;
    for (uint32_t other : sessions_) {
      if (other < session) ++column;
    }
    return column;
  }

  void Cell(size_t column, std::string_view text) {
    for (const std::string& line : Wrap(text, width_ - 1)) {
      out_ += std::string(column * (width_ + 1), ' ') + line + "\n";
    }
  }

  void Mark(std::string_view text) { out_ += fmt::format("** {}\n", text); }

  void Setup() {
    out_ += "set-up\n";
    for (const RecordedStatement& s : record_.statements) {
      if (s.session != 0) continue;
      for (const std::string& line : Wrap(s.sql + ";", kPageWidth - 2)) {
        out_ += "  " + line + "\n";
      }
    }
    out_ += "\n";
  }

  void Head() {
    std::string names;
    std::string rule;
    for (uint32_t session : sessions_) {
      names +=
          fmt::format("{:<{}} ", fmt::format("session {}", session), width_);
      rule += std::string(width_, '-') + " ";
    }
    while (!names.empty() && names.back() == ' ') names.pop_back();
    if (!rule.empty()) rule.pop_back();
    out_ += names + "\n" + rule + "\n";
  }

  void SentRow(const TimelineEntry& entry) {
    auto statement = by_label_.find(entry.label);
    last_sent_ = entry.label;
    if (statement == by_label_.end()) return;
    const RecordedStatement& s = *statement->second;
    if (s.session != 0) Cell(ColumnOf(s.session), s.sql + ";");
  }

  // Told where it is not obvious: after an error, or after others.
  void AnswerRow(const TimelineEntry& entry) {
    auto statement = by_label_.find(entry.label);
    if (statement == by_label_.end()) return;
    uint32_t session = statement->second->session;
    bool error = entry.text.find("ERROR") != std::string::npos;
    if (session != 0 && (error || last_sent_ != entry.label)) {
      Cell(ColumnOf(session), "--> " + entry.text);
    }
  }

  void Row(const TimelineEntry& entry) {
    switch (entry.kind) {
      case Kind::kSent:
        SentRow(entry);
        break;
      case Kind::kAnswered:
        AnswerRow(entry);
        break;
      case Kind::kCrash:
        Mark("CRASH: " + entry.text);
        break;
      case Kind::kRestart:
        Mark("RESTART after " + entry.text);
        break;
      case Kind::kReady:
        if (ready_) Mark("the node has recovered and accepts sessions");
        ready_ = true;
        break;
      case Kind::kFault:
        Mark("FAULT: " + entry.text);
        break;
      case Kind::kSwitch:
        if (preemptions_.count({entry.label, false}) != 0) {
          Mark("SWITCH: " + entry.text);
        }
        break;
      case Kind::kTimer:
        if (preemptions_.count({entry.label, true}) != 0) {
          Mark("TIMER: " + entry.text);
        }
        break;
    }
  }

  void Promise() {
    SIM_CHECK(!outcome_.broken.empty());
    const properties::Verdict& verdict = outcome_.broken.front();
    out_ +=
        fmt::format("\n{} broken for {}\n", verdict.promise, verdict.subject);
    for (const std::string& line : Wrap(verdict.message, kPageWidth - 2)) {
      out_ += "  " + line + "\n";
    }
    out_ += fmt::format("  seen by {}\n", verdict.oracle);
  }

  const properties::RunOutcome& outcome_;
  const properties::RunRecord& record_;
  std::map<std::string, const RecordedStatement*> by_label_;
  std::set<uint32_t> sessions_;
  // Of the schedule: who stops where, and whether for a timer.
  std::set<std::pair<std::string, bool>> preemptions_;
  size_t width_ = kPageWidth;
  bool ready_ = false;
  std::string last_sent_;
  std::string out_;
};

}  // namespace

std::string ScriptOf(const properties::RunSpec& spec,
                     const properties::RunOutcome& outcome) {
  SIM_CHECK(outcome.record != nullptr);
  return Script(spec, outcome).Text();
}

}  // namespace replay
