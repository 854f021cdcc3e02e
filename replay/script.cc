#include "replay/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
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
      preemptions_.insert(text.substr(0, text.rfind(" ->")));
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

  void Row(const TimelineEntry& entry) {
    auto statement = by_label_.find(entry.label);
    bool known = statement != by_label_.end();
    if (known && statement->second->session == 0) return;
    switch (entry.kind) {
      case Kind::kSent:
        if (known) {
          Cell(ColumnOf(statement->second->session),
               statement->second->sql + ";");
        }
        last_sent_ = entry.label;
        break;
      case Kind::kAnswered:
        // Told where it is not obvious: after an error, or after others.
        if (known && (entry.text.find("ERROR") != std::string::npos ||
                      last_sent_ != entry.label)) {
          Cell(ColumnOf(statement->second->session), "--> " + entry.text);
        }
        break;
      case Kind::kCrash:
        Mark("CRASH: " + entry.text);
        break;
      case Kind::kReady:
        if (ready_) Mark("the node has recovered and accepts sessions");
        ready_ = true;
        break;
      case Kind::kFault:
        Mark("FAULT: " + entry.text);
        break;
      case Kind::kSwitch:
        if (preemptions_.count(entry.label) != 0) Mark("SWITCH: " + entry.text);
        break;
      case Kind::kTimer:
        if (preemptions_.count(entry.label) != 0) Mark("TIMER: " + entry.text);
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
  std::set<std::string> preemptions_;
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
