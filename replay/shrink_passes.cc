#include "replay/shrink_passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "replay/shrink_crashes.h"
#include "replay/shrink_parts.h"
#include "replay/shrink_text.h"
#include "replay/sql_pieces.h"

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
    for (const auto& [part, line] : d.image_lines) parts.push_back(part);
  }
  return parts;
}

States WithoutImage(const ShrinkState& state, const Parts& parts) {
  PartSet set(parts);
  ShrinkState next = state;
  std::erase_if(next.draws,
                [&](const ShrinkDraw& d) { return set.Has(d.part); });
  for (ShrinkDirection& d : next.directions) {
    std::erase_if(d.image_lines,
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
    out.back().directions[i].image_lines = {
        {out.back().next_part++, "image lose all"}};
  }
  return out;
}

// ---- Sessions and statements

bool BeginsBlock(const std::string& sql) {
  return BeginsWith(sql, "BEGIN") || BeginsWith(sql, "START TRANSACTION");
}

bool EndsBlock(const std::string& sql) {
  return BeginsWith(sql, "COMMIT") || BeginsWith(sql, "END") ||
         BeginsWith(sql, "ABORT") ||
         (BeginsWith(sql, "ROLLBACK") && !BeginsWith(sql, "ROLLBACK TO"));
}

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
  std::string kind = CrashKindOf(line, false);
  size_t during = line.find(" during ");
  lines.push_back(fmt::format("crash {} at end", CrashKindOf(line, true)));
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

// Which transaction each statement belongs to, by its first one's part.
std::vector<uint64_t> TransactionsOf(const ShrinkState& state) {
  std::vector<uint64_t> out;
  std::map<uint32_t, uint64_t> open;  // by session; 0: none
  for (const ShrinkStatement& s : state.statements) {
    uint64_t& block = open[s.session];
    out.push_back(block != 0 ? block : s.part);
    if (BeginsBlock(s.sql)) {
      block = out.back();
    } else if (EndsBlock(s.sql)) {
      block = 0;
    }
  }
  return out;
}

// With all statements of their transactions.
Parts WithTransactions(const ShrinkState& state, const Parts& parts) {
  PartSet set(parts);
  std::vector<uint64_t> transactions = TransactionsOf(state);
  std::set<uint64_t> gone;
  for (size_t i = 0; i < transactions.size(); ++i) {
    if (set.Has(state.statements[i].part)) gone.insert(transactions[i]);
  }
  Parts out;
  for (size_t i = 0; i < transactions.size(); ++i) {
    if (gone.count(transactions[i]) != 0) {
      out.push_back(state.statements[i].part);
    }
  }
  return out;
}

States WithoutStatements(const ShrinkState& state, const Parts& parts) {
  PartSet gone(state.WholeTransactions() ? WithTransactions(state, parts)
                                         : parts);
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
  if (state.WholeTransactions()) {
    std::vector<uint64_t> transactions = TransactionsOf(state);
    parts.clear();
    for (size_t i = 0; i < transactions.size(); ++i) {
      const ShrinkStatement& s = state.statements[i];
      if (s.session != 0 && s.part == transactions[i]) parts.push_back(s.part);
    }
  }
  // From the last one: what follows depends on what came before.
  std::reverse(parts.begin(), parts.end());
  return parts;
}

Parts BlockParts(const ShrinkState& state) {
  Parts parts;
  if (state.WholeTransactions()) return parts;
  for (const ShrinkStatement& s : state.statements) {
    if (BeginsBlock(s.sql)) parts.push_back(s.part);
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
    } else if (open[s.session] && BeginsWith(s.sql, "SET LOCAL")) {
      parts.push_back(s.part);
    } else if (open[s.session] && EndsBlock(s.sql)) {
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
      CrashPass(),
      {"preemptions", ScheduleParts, WithoutParts},
      {"crash images", ImageParts, WithoutImage},
      {"sessions", SessionParts, WithoutSessions},
      {"statements", StatementParts, WithoutStatements},
      {"blocks", BlockParts, WithoutBlocks},
      MomentPass(),
  };
  for (ShrinkPass& pass : ShrinkTextPasses()) passes.push_back(std::move(pass));
  auto knobs = [](const ShrinkState& state) { return PartsOf(state.knobs); };
  passes.push_back({"knobs", knobs, WithoutParts});
  return passes;
}

}  // namespace replay
