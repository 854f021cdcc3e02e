#include "replay/shrink_passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "replay/shrink_parts.h"
#include "replay/shrink_text.h"

namespace replay {
namespace {

// ---- Faults

Parts FaultParts(const ShrinkState& state) {
  Parts parts;
  for (const ShrinkDraw& d : state.draws) {
    if (!IsImageDraw(d.draw)) parts.push_back(d.part);
  }
  for (const ShrinkDirection& d : state.directions) {
    if (d.line.rfind("fail ", 0) == 0) parts.push_back(d.part);
  }
  return parts;
}

// What goes by its number alone.
States WithoutParts(const ShrinkState& state, const Parts& parts) {
  PartSet set(parts);
  ShrinkState next = state;
  auto goes = [&set](const auto& item) { return set.Has(item.part); };
  std::erase_if(next.knobs, goes);
  std::erase_if(next.draws, goes);
  std::erase_if(next.schedule, goes);
  std::erase_if(next.directions, goes);
  return {std::move(next)};
}

// ---- Crashes

Parts CrashParts(const ShrinkState& state) {
  Parts parts;
  for (const ShrinkDirection& d : state.directions) {
    if (d.IsCrash()) parts.push_back(d.part);
  }
  return parts;
}

// "w0/h0/i3/..." with a smaller incarnation.
void LowerIncarnation(std::string* path, uint64_t by, uint64_t above) {
  constexpr std::string_view kHost = "w0/h0/i";
  if (path->rfind(kHost, 0) != 0) return;
  size_t end = path->find('/', kHost.size());
  if (end == std::string::npos) end = path->size();
  uint64_t i = 0;
  std::from_chars(path->data() + kHost.size(), path->data() + end, i);
  if (i <= above || i < by) return;
  *path = fmt::format("{}{}{}", kHost, i - by, path->substr(end));
}

// What happens after a crash that is left out keeps its place.
void Lower(ShrinkState* state, uint64_t above) {
  for (ShrinkEntry& e : state->schedule) {
    LowerIncarnation(&e.entry.task, 1, above);
    LowerIncarnation(&e.entry.next, 1, above);
  }
  for (ShrinkDraw& d : state->draws) {
    LowerIncarnation(&d.draw.scope_path, 1, above);
  }
}

States WithoutCrashes(const ShrinkState& state, const Parts& parts) {
  PartSet set(parts);
  ShrinkState plain = state;
  ShrinkState lowered = state;
  uint64_t crash = 0;
  uint64_t gone = 0;
  for (const ShrinkDirection& d : state.directions) {
    if (!d.IsCrash()) continue;
    if (set.Has(d.part)) Lower(&lowered, crash - gone++);
    ++crash;
  }
  States out;
  for (ShrinkState* next : {&lowered, &plain}) {
    std::erase_if(next->directions,
                  [&](const ShrinkDirection& d) { return set.Has(d.part); });
    out.push_back(std::move(*next));
  }
  return out;
}

// ---- Moments of crashes

enum class MomentRank { kEnd, kAfter, kPlace, kStep };

MomentRank RankOf(const std::string& line) {
  if (line.find(" at end") != std::string::npos) return MomentRank::kEnd;
  if (line.find(" after ") != std::string::npos) return MomentRank::kAfter;
  if (line.find(" at step ") != std::string::npos) return MomentRank::kStep;
  return MomentRank::kPlace;
}

Parts MomentParts(const ShrinkState& state) {
  Parts parts;
  for (const ShrinkDirection& d : state.directions) {
    if (d.IsCrash() && RankOf(d.line) > MomentRank::kEnd) {
      parts.push_back(d.part);
    }
  }
  return parts;
}

// "power-loss" of "crash power-loss ...", as a crash of the whole host if it
// is at the end.
std::string KindOf(const std::string& line, bool host) {
  size_t from = std::string_view("crash ").size();
  std::string kind = line.substr(from, line.find(' ', from) - from);
  return host && kind == "task-kill" ? "process-crash" : kind;
}

// The count of "... at PLACE N [during L]", and where its digits are.
std::optional<uint64_t> CountIn(const std::string& line, size_t* from,
                                size_t* to) {
  size_t at = line.find(" at ");
  if (at == std::string::npos) return std::nullopt;
  size_t place_end = line.find(' ', at + 4);
  if (place_end == std::string::npos) return std::nullopt;
  *from = place_end + 1;
  *to = std::min(line.find(' ', *from), line.size());
  uint64_t n = 0;
  auto [end, error] =
      std::from_chars(line.data() + *from, line.data() + *to, n);
  if (error != std::errc() || end != line.data() + *to) return std::nullopt;
  return n;
}

// All that a single crash can be instead, the simplest first.
States SimplerMoments(const ShrinkState& state, const Parts& parts) {
  States out;
  if (parts.size() != 1) return out;
  for (size_t i = 0; i < state.directions.size(); ++i) {
    const ShrinkDirection& d = state.directions[i];
    if (d.part != parts[0]) continue;
    auto add = [&](std::string line) {
      out.push_back(state);
      out.back().directions[i].line = std::move(line);
    };
    add(fmt::format("crash {} at end", KindOf(d.line, true)));
    if (RankOf(d.line) <= MomentRank::kAfter) break;
    if (d.line.find(" in recovery ") == std::string::npos) {
      for (size_t k = state.statements.size(); k-- > 0;) {
        const ShrinkStatement& s = state.statements[k];
        if (s.session == 0 || s.sleep_ns > 0) continue;
        add(fmt::format("crash {} after {}", KindOf(d.line, false), s.label));
      }
    }
    size_t from = 0;
    size_t to = 0;
    std::optional<uint64_t> n = CountIn(d.line, &from, &to);
    if (!n.has_value() || *n < 2) break;
    for (uint64_t less : {uint64_t{1}, *n / 2, *n - 1}) {
      if (less == 0 || less >= *n) continue;
      std::string line = d.line;
      add(line.replace(from, to - from, fmt::format("{}", less)));
    }
  }
  return out;
}

// ---- The schedule

Parts ScheduleParts(const ShrinkState& state) {
  Parts parts = PartsOf(state.schedule);
  for (const ShrinkDirection& d : state.directions) {
    if (d.line.rfind("hold ", 0) == 0) parts.push_back(d.part);
  }
  return parts;
}

// ---- Crash images

Parts ImageParts(const ShrinkState& state) {
  Parts parts;
  for (const ShrinkDraw& d : state.draws) {
    if (IsImageDraw(d.draw)) parts.push_back(d.part);
  }
  for (const ShrinkDirection& d : state.directions) {
    for (const auto& [part, line] : d.image) parts.push_back(part);
  }
  return parts;
}

States WithoutImage(const ShrinkState& state, const Parts& parts) {
  PartSet set(parts);
  ShrinkState next = state;
  std::erase_if(next.draws,
                [&](const ShrinkDraw& d) { return set.Has(d.part); });
  for (ShrinkDirection& d : next.directions) {
    std::erase_if(d.image,
                  [&](const auto& line) { return set.Has(line.first); });
  }
  States out = {next};
  // What a power loss took at random, it may as well take altogether.
  bool any_draws = false;
  for (const ShrinkDraw& d : state.draws) any_draws |= set.Has(d.part);
  if (!any_draws || parts.size() != ImageParts(state).size()) return out;
  for (size_t i = next.directions.size(); i-- > 0;) {
    if (next.directions[i].line.rfind("crash power-loss", 0) != 0) continue;
    out.push_back(next);
    out.back().directions[i].image = {
        {out.back().next_part++, "image lose all"}};
  }
  return out;
}

// ---- Sessions and statements

// Words of schedule lines and directions that name this statement.
bool Names(const std::string& line, const std::string& label) {
  size_t at = line.find(label);
  while (at != std::string::npos) {
    size_t end = at + label.size();
    bool whole = (at == 0 || line[at - 1] == ' ') &&
                 (end == line.size() || line[end] == ' ');
    if (whole) return true;
    at = line.find(label, end);
  }
  return false;
}

// The labels nearest to what is left out, in the session that it was in.
struct Neighbours {
  std::string before;
  std::string after;
};

Neighbours NeighboursOf(const ShrinkState& state, const PartSet& gone,
                        const std::string& label) {
  Neighbours out;
  bool passed = false;
  uint32_t session = 0;
  for (const ShrinkStatement& s : state.statements) {
    if (s.label == label) session = s.session;
  }
  for (const ShrinkStatement& s : state.statements) {
    if (s.label == label) passed = true;
    if (s.session != session || gone.Has(s.part)) continue;
    if (!passed) out.before = s.label;
    if (passed && out.after.empty()) out.after = s.label;
  }
  return out;
}

// Other ways to say when a crash is whose statement is left out.
std::vector<std::string> OtherMoments(const ShrinkState& state,
                                      const PartSet& gone,
                                      const std::string& line,
                                      const std::string& label) {
  std::vector<std::string> lines;
  Neighbours near = NeighboursOf(state, gone, label);
  std::string kind = KindOf(line, false);
  size_t during = line.find(" during ");
  lines.push_back(fmt::format("crash {} at end", KindOf(line, true)));
  if (!near.before.empty()) {
    lines.push_back(fmt::format("crash {} after {}", kind, near.before));
  }
  if (during == std::string::npos) return lines;
  for (const std::string& other : {near.after, near.before}) {
    if (other.empty()) continue;
    lines.push_back(line.substr(0, during) + " during " + other);
  }
  lines.push_back(line.substr(0, during));
  return lines;
}

States WithoutStatements(const ShrinkState& state, const Parts& parts) {
  PartSet gone(parts);
  ShrinkState next = state;
  std::erase_if(next.statements,
                [&](const ShrinkStatement& s) { return gone.Has(s.part); });
  std::set<std::string> labels;
  for (const ShrinkStatement& s : state.statements) {
    if (gone.Has(s.part)) labels.insert(s.label);
  }
  std::erase_if(next.schedule, [&](const ShrinkEntry& e) {
    return labels.count(e.entry.mark) != 0;
  });
  States out;
  // One crash at most is given several other moments; the rest go to the end.
  std::vector<std::string> choices;
  size_t chosen = SIZE_MAX;
  for (size_t i = 0; i < next.directions.size(); ++i) {
    ShrinkDirection& d = next.directions[i];
    for (const std::string& label : labels) {
      if (!Names(d.line, label)) continue;
      if (!d.IsCrash()) {
        d.line.clear();
        break;
      }
      std::vector<std::string> other = OtherMoments(state, gone, d.line, label);
      d.line = other.front();
      if (chosen == SIZE_MAX) {
        choices = std::move(other);
        chosen = i;
      }
      break;
    }
  }
  if (chosen == SIZE_MAX) choices = {""};
  for (const std::string& line : choices) {
    out.push_back(next);
    if (chosen != SIZE_MAX) out.back().directions[chosen].line = line;
    std::erase_if(out.back().directions,
                  [](const ShrinkDirection& d) { return d.line.empty(); });
  }
  return out;
}

Parts SessionParts(const ShrinkState& state) {
  std::set<uint64_t> sessions;
  for (const ShrinkStatement& s : state.statements) {
    if (s.session != 0) sessions.insert(s.session);
  }
  return Parts(sessions.begin(), sessions.end());
}

States WithoutSessions(const ShrinkState& state, const Parts& sessions) {
  PartSet set(sessions);
  Parts parts;
  for (const ShrinkStatement& s : state.statements) {
    if (s.session != 0 && set.Has(s.session)) parts.push_back(s.part);
  }
  return WithoutStatements(state, parts);
}

Parts StatementParts(const ShrinkState& state) {
  Parts parts = PartsOf(state.statements);
  // From the last one: what follows depends on what came before.
  std::reverse(parts.begin(), parts.end());
  return parts;
}

Parts BlockParts(const ShrinkState& state) {
  Parts parts;
  for (const ShrinkStatement& s : state.statements) {
    if (StartsWith(s.sql, "BEGIN")) parts.push_back(s.part);
  }
  return parts;
}

// BEGIN, COMMIT and what is set for the transaction go, its statements stay.
States WithoutBlocks(const ShrinkState& state, const Parts& begins) {
  PartSet set(begins);
  Parts parts;
  std::map<uint32_t, bool> open;
  for (const ShrinkStatement& s : state.statements) {
    if (set.Has(s.part)) {
      open[s.session] = true;
      parts.push_back(s.part);
    } else if (open[s.session] && StartsWith(s.sql, "SET LOCAL")) {
      parts.push_back(s.part);
    } else if (open[s.session] &&
               (StartsWith(s.sql, "COMMIT") || StartsWith(s.sql, "ROLLBACK"))) {
      open[s.session] = false;
      parts.push_back(s.part);
    }
  }
  return WithoutStatements(state, parts);
}

}  // namespace

std::vector<ShrinkPass> ShrinkPasses() {
  std::vector<ShrinkPass> passes = {
      {"faults", FaultParts, WithoutParts},
      {"crashes", CrashParts, WithoutCrashes},
      {"preemptions", ScheduleParts, WithoutParts},
      {"crash images", ImageParts, WithoutImage},
      {"sessions", SessionParts, WithoutSessions},
      {"statements", StatementParts, WithoutStatements},
      {"blocks", BlockParts, WithoutBlocks},
      {"moments", MomentParts, SimplerMoments},
  };
  for (ShrinkPass& pass : ShrinkTextPasses()) passes.push_back(std::move(pass));
  auto knobs = [](const ShrinkState& state) { return PartsOf(state.knobs); };
  passes.push_back({"knobs", knobs, WithoutParts});
  return passes;
}

}  // namespace replay
