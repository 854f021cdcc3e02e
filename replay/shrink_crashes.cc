#include "replay/shrink_crashes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "replay/shrink_parts.h"

namespace replay {
namespace {

// ---- Renumbering

bool ParseCount(std::string_view text, uint64_t* value) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() &&
         !text.empty();
}

// Of "w0/h0/i3/..." 3, and where the digits end; nothing of other paths.
std::optional<uint64_t> IncarnationIn(const std::string& path, size_t* end) {
  constexpr std::string_view kHost = "w0/h0/i";
  if (path.rfind(kHost, 0) != 0) return std::nullopt;
  *end = std::min(path.find('/', kHost.size()), path.size());
  uint64_t incarnation = 0;
  std::string_view digits =
      std::string_view(path).substr(kHost.size(), *end - kHost.size());
  if (!ParseCount(digits, &incarnation)) return std::nullopt;
  return incarnation;
}

// Sites of the image that a power loss draws. Those of the first list are
// counted by images, of the second by image << 48 | what the draw is about; a
// log's prefix is both (sim/crash_image.cc).
constexpr std::array<std::string_view, 4> kByImage = {
    "image-style", "image-target", "image-share", "image-file"};
constexpr std::array<std::string_view, 7> kInImage = {
    "sector",       "size",      "entry",     "fill",
    "page-instant", "page-torn", "log-prefix"};
constexpr int kImageShift = 48;
constexpr uint64_t kOneLevel = uint64_t{1} << 40;

template <size_t n>
bool Among(const std::array<std::string_view, n>& names,
           const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// How later things are called if a crash does not happen: the host goes on in
// the incarnation that it struck.
class Renumbering {
 public:
  explicit Renumbering(const ShrinkDirection& crash)
      : crash_(crash),
        task_kill_(CrashKindOf(crash.line, false) == "task-kill") {}

  // A scope's path.
  void Path(std::string* path) const {
    size_t end = 0;
    std::optional<uint64_t> incarnation = IncarnationIn(*path, &end);
    if (!incarnation.has_value()) return;
    if (task_kill_) {
      if (*incarnation == crash_.incarnation) LowerOrdinal(path);
    } else if (*incarnation > crash_.incarnation) {
      *path = fmt::format("w0/h0/i{}{}", *incarnation - 1, path->substr(end));
    }
  }

  // False: the draw is about the crash itself, and nobody will make it.
  bool Draw(sim::Override* draw) const {
    size_t end = 0;
    std::optional<uint64_t> incarnation = IncarnationIn(draw->scope_path, &end);
    Path(&draw->scope_path);
    if (task_kill_ || !incarnation.has_value()) return true;
    bool later = *incarnation > crash_.incarnation + 1;
    bool shear = draw->site == "media.shear" || draw->site == "media.cut";
    if (shear && draw->n > 1 && later) --draw->n;
    if (draw->stream != sim::Stream::kCrashImage ||
        crash_.image == properties::RecordedCrash::kNoImage) {
      return true;
    }
    bool by_image = Among(kByImage, draw->site) ||
                    (draw->site == "log-prefix" && draw->n < kOneLevel);
    if (!by_image && !Among(kInImage, draw->site)) return true;
    uint64_t image = by_image ? draw->n : draw->n >> kImageShift;
    if (image == crash_.image) return false;
    if (image > crash_.image) {
      draw->n -= by_image ? 1 : uint64_t{1} << kImageShift;
    }
    return true;
  }

  void Direction(ShrinkDirection* other) const {
    for (std::string& path : other->tasks) Path(&path);
    std::sort(other->tasks.begin(), other->tasks.end());
    if (task_kill_) return;
    if (other->incarnation > crash_.incarnation) --other->incarnation;
    bool images = crash_.image != properties::RecordedCrash::kNoImage &&
                  other->image != properties::RecordedCrash::kNoImage;
    if (images && other->image > crash_.image) --other->image;
  }

 private:
  // "s1.2" was the third of its name; without the restart it is the second,
  // unless it had begun before.
  void LowerOrdinal(std::string* path) const {
    size_t dot = path->rfind('.');
    uint64_t ordinal = 0;
    if (dot == std::string::npos || dot < path->rfind('/') ||
        !ParseCount(std::string_view(*path).substr(dot + 1), &ordinal) ||
        std::binary_search(crash_.tasks.begin(), crash_.tasks.end(), *path)) {
      return;
    }
    path->resize(dot);
    if (ordinal > 1) *path += fmt::format(".{}", ordinal - 1);
  }

  const ShrinkDirection& crash_;
  bool task_kill_;
};

// Of what is said twice now, what was there first counts.
void DropRepetitions(ShrinkState* state) {
  std::set<std::tuple<sim::Stream, std::string, std::string, uint64_t>> draws;
  std::erase_if(state->draws, [&draws](const ShrinkDraw& d) {
    return !draws
                .emplace(d.draw.stream, d.draw.scope_path, d.draw.site,
                         d.draw.n)
                .second;
  });
  std::set<std::tuple<std::string, std::string, uint64_t, bool>> points;
  std::erase_if(state->schedule, [&points](const ShrinkEntry& e) {
    return !points
                .emplace(e.entry.task, e.entry.mark, e.entry.n,
                         e.entry.next == sim::kTimerName)
                .second;
  });
}

// What happens after a crash that is left out keeps its place.
void Renumber(const ShrinkDirection& crash, ShrinkState* state) {
  Renumbering to(crash);
  for (ShrinkEntry& e : state->schedule) {
    to.Path(&e.entry.task);
    to.Path(&e.entry.next);
  }
  std::erase_if(state->draws,
                [&to](ShrinkDraw& d) { return !to.Draw(&d.draw); });
  for (ShrinkDirection& d : state->directions) {
    if (d.part != crash.part) to.Direction(&d);
  }
}

// ---- Crashes

Parts CrashParts(const ShrinkState& state) {
  Parts parts;
  for (const ShrinkDirection& d : state.directions) {
    if (d.IsCrash()) parts.push_back(d.part);
  }
  return parts;
}

States WithoutCrashes(const ShrinkState& state, const Parts& parts) {
  PartSet set(parts);
  ShrinkState plain = state;
  ShrinkState renumbered = state;
  // From the last one, so that each still has the numbers that it had.
  for (size_t i = state.directions.size(); i-- > 0;) {
    const ShrinkDirection& crash = state.directions[i];
    if (crash.IsCrash() && set.Has(crash.part)) Renumber(crash, &renumbered);
  }
  DropRepetitions(&renumbered);
  States out;
  for (ShrinkState* next : {&renumbered, &plain}) {
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
    add(fmt::format("crash {} at end", CrashKindOf(d.line, true)));
    if (RankOf(d.line) <= MomentRank::kAfter) break;
    if (d.line.find(" in recovery ") == std::string::npos) {
      for (size_t k = state.statements.size(); k-- > 0;) {
        const ShrinkStatement& s = state.statements[k];
        if (s.session == 0 || s.sleep_ns > 0) continue;
        add(fmt::format("crash {} after {}", CrashKindOf(d.line, false),
                        s.label));
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

}  // namespace

std::string CrashKindOf(const std::string& line, bool host) {
  size_t from = std::string_view("crash ").size();
  std::string kind = line.substr(from, line.find(' ', from) - from);
  return host && kind == "task-kill" ? "process-crash" : kind;
}

MinimizePass<ShrinkState> CrashPass() {
  return {"crashes", CrashParts, WithoutCrashes};
}

MinimizePass<ShrinkState> MomentPass() {
  return {"moments", MomentParts, SimplerMoments};
}

}  // namespace replay
