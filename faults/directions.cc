#include "faults/directions.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

namespace faults {
namespace {

using env::Code;
using env::Status;
using sim::CrashKind;
using sim::DeviceStep;

struct KindName {
  std::string_view name;
  CrashKind kind;
};
constexpr std::array<KindName, 3> kKinds = {
    KindName{"power-loss", CrashKind::kPowerLoss},
    KindName{"process-crash", CrashKind::kProcess},
    KindName{"task-kill", CrashKind::kTaskKill}};

struct StepName {
  std::string_view name;
  DeviceStep step;
};
constexpr std::array<StepName, 5> kSteps = {
    StepName{"write", DeviceStep::kWrite},
    StepName{"fsync-start", DeviceStep::kSyncStart},
    StepName{"fsync-middle", DeviceStep::kSyncMiddle},
    StepName{"fsync-done", DeviceStep::kSyncDone},
    StepName{"metadata", DeviceStep::kMetadata}};

bool ParseNumber(std::string_view text, uint64_t* out) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size() &&
         !text.empty();
}

// Reads one direction word by word.
class Reader {
 public:
  Reader(std::string_view line, env::SiteTable sites)
      : rest_(line), sites_(sites) {
    Advance();
  }

  bool Take(std::string_view word) {
    if (word_ != word) return false;
    Advance();
    return true;
  }
  std::string_view word() const { return word_; }
  std::string_view TakeAny() {
    std::string_view taken = word_;
    Advance();
    return taken;
  }

  Status Expected(std::string_view what) const {
    return Status(Code::kInvalid,
                  fmt::format("expected {}, found {}", what,
                              word_.empty() ? std::string("the end of the line")
                                            : fmt::format("\"{}\"", word_)));
  }
  Status End() const {
    return word_.empty() ? Status() : Expected("the end of the line");
  }

  // A count behind a place, 1 if there is none.
  Status Count(uint64_t* nth) {
    *nth = 1;
    if (word_.empty() || word_[0] < '0' || word_[0] > '9') return {};
    if (!ParseNumber(word_, nth) || *nth == 0) {
      return Expected("a count from 1");
    }
    Advance();
    return {};
  }

  Status Statement(StatementRef* ref) {
    uint64_t session = 0;
    uint64_t number = 0;
    size_t dot = word_.find(".q");
    bool ok = dot != std::string_view::npos && word_[0] == 's' &&
              ParseNumber(word_.substr(1, dot - 1), &session) &&
              ParseNumber(word_.substr(dot + 2), &number) && session > 0 &&
              number > 0 && session < 1000 && number < 65000;
    if (!ok) return Expected("a statement such as s1.q2");
    ref->session = static_cast<uint32_t>(session);
    ref->number = static_cast<uint32_t>(number);
    Advance();
    return {};
  }

  // A place's name and its count.
  Status Place(Moment* moment) {
    for (const StepName& step : kSteps) {
      if (word_ != step.name) continue;
      moment->kind = Moment::Kind::kDeviceStep;
      moment->step = step.step;
      Advance();
      return Count(&moment->nth);
    }
    for (size_t i = 0; i < sites_.size(); ++i) {
      bool passed = sites_[i].kind == env::SiteKind::kInjection ||
                    sites_[i].kind == env::SiteKind::kYield;
      if (!passed || word_ != sites_[i].name) continue;
      moment->kind = Moment::Kind::kSite;
      moment->site = static_cast<env::SiteId>(i);
      Advance();
      return Count(&moment->nth);
    }
    return Expected(
        "a place (a site of engine/sites.def, write, fsync-start, "
        "fsync-middle, fsync-done or metadata)");
  }

  bool PlantedOnly(env::SiteId site) const {
    return std::string_view(sites_[site].why).starts_with("planted bugs only");
  }

  // "[TASK] at step [N]", behind what names the task.
  bool AtStep(Moment* moment, Status* status) {
    Reader ahead = *this;
    bool named = ahead.word_ != "at";
    std::string task;
    if (named) task = ahead.TakeAny();
    if (!ahead.Take("at") || !ahead.Take("step")) return false;
    *this = ahead;
    moment->kind = Moment::Kind::kStep;
    moment->task = std::move(task);
    *status = Count(&moment->nth);
    return true;
  }

  // "[TASK] at PLACE [N]" or "after sN.qN".
  Status When(Moment* moment) {
    if (Take("after")) {
      moment->kind = Moment::Kind::kStatement;
      return Statement(&moment->statement);
    }
    if (word_ != "at") moment->task = TakeAny();
    if (!Take("at")) return Expected("\"at\" and a place, or \"after\"");
    return Place(moment);
  }

  // What ends a hold: the same, or "after inspection".
  Status Until(Moment* moment) {
    Reader ahead = *this;
    if (!ahead.Take("after") || !ahead.Take("inspection")) return When(moment);
    *this = ahead;
    moment->kind = Moment::Kind::kInspection;
    return {};
  }

 private:
  void Advance() {
    size_t from = rest_.find_first_not_of(' ');
    if (from == std::string_view::npos) from = rest_.size();
    rest_.remove_prefix(from);
    word_ = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(word_.size());
  }

  std::string_view rest_;
  std::string_view word_;
  env::SiteTable sites_;
};

Status ReadCrash(Reader* in, DirectedCrash* crash) {
  bool known = false;
  for (const KindName& kind : kKinds) {
    if (in->word() != kind.name) continue;
    crash->kind = kind.kind;
    known = true;
  }
  if (!known) return in->Expected("power-loss, process-crash or task-kill");
  in->TakeAny();
  if (in->Take("in")) {
    if (!in->Take("recovery")) return in->Expected("recovery");
    crash->in_recovery = true;
    if (crash->kind == CrashKind::kTaskKill) {
      return Status(Code::kInvalid,
                    "task-kill in recovery: it ends the postmaster, which is a "
                    "process-crash");
    }
  }
  if (in->word() == "at" && !crash->in_recovery) {
    Reader ahead = *in;
    ahead.TakeAny();
    if (ahead.Take("end")) {
      *in = ahead;
      if (crash->kind == CrashKind::kTaskKill) {
        return Status(Code::kInvalid, "task-kill at end: nobody is left");
      }
      return {};
    }
  }
  Status status;
  if (!in->AtStep(&crash->at, &status)) status = in->When(&crash->at);
  RETURN_IF_ERROR(status);
  if (crash->at.kind == Moment::Kind::kStatement || crash->in_recovery ||
      !in->Take("during")) {
    return {};
  }
  return in->Statement(&crash->at.during);
}

Status ReadImage(Reader* in, Directions* directions) {
  if (directions->crashes.empty() ||
      directions->crashes.back().kind != CrashKind::kPowerLoss) {
    return Status(Code::kInvalid,
                  "expected an image below a \"crash power-loss\"");
  }
  sim::ImageRule rule;
  if (in->word() != "lose" && in->word() != "keep") {
    return in->Expected("lose or keep");
  }
  rule.lose = in->TakeAny() == "lose";
  if (in->Take("all")) {
    rule.what = sim::ImageRule::What::kAll;
  } else if (in->Take("names")) {
    rule.what = sim::ImageRule::What::kNames;
  } else {
    if (in->word().empty()) return in->Expected("all, names or a file");
    rule.what = sim::ImageRule::What::kFile;
    rule.path = in->TakeAny();
    if (!in->word().empty()) {
      std::string_view range = in->word();
      size_t dots = range.find("..");
      bool ok = ParseNumber(range.substr(0, dots), &rule.first_sector);
      rule.last_sector = rule.first_sector;
      if (dots != std::string_view::npos) {
        ok = ok && ParseNumber(range.substr(dots + 2), &rule.last_sector);
      }
      if (!ok || rule.last_sector < rule.first_sector) {
        return in->Expected("a sector or a range such as 0..7");
      }
      in->TakeAny();
    }
  }
  directions->crashes.back().image.push_back(std::move(rule));
  return {};
}

Status ReadFail(Reader* in, DirectedFailure* failure) {
  if (in->Take("extend")) {
    failure->what = DirectedFailure::What::kExtend;
  } else if (in->Take("write")) {
    failure->what = DirectedFailure::What::kWrite;
  } else if (!in->Take("fsync")) {
    return in->Expected("fsync, extend or write");
  }
  if (in->word().empty()) return in->Expected("a file");
  failure->path = in->TakeAny();
  return in->Count(&failure->nth);
}

Status ReadHold(Reader* in, DirectedHold* hold) {
  if (in->Take("before")) {
    hold->at.kind = Moment::Kind::kStatement;
    RETURN_IF_ERROR(in->Statement(&hold->at.statement));
  } else {
    if (in->word() == "at" || in->word().empty()) {
      return in->Expected("a process such as s1 or checkpointer");
    }
    hold->at.task = in->TakeAny();
    if (!in->Take("at")) return in->Expected("\"at\"");
    RETURN_IF_ERROR(in->Place(&hold->at));
    if (hold->at.kind == Moment::Kind::kSite) {
      hold->optional = in->PlantedOnly(hold->at.site);
    } else if (hold->at.step != DeviceStep::kSyncDone) {
      return Status(Code::kInvalid,
                    "a process cannot be held inside a device call; expected a "
                    "site of engine/sites.def or fsync-done");
    }
  }
  if (!in->Take("until")) return in->Expected("\"until\"");
  do {
    RETURN_IF_ERROR(in->Until(&hold->until.emplace_back()));
  } while (in->Take("or"));
  return in->word().empty() ? Status() : in->Expected("\"or\" or the end");
}

}  // namespace

bool Moment::Counts(const sim::CrashPoint& point) const {
  if (!task.empty() && point.task_name != task) return false;
  if (kind == Kind::kStep) return true;
  if (kind == Kind::kSite) return point.node_site && point.site == site;
  return kind == Kind::kDeviceStep && point.place == sim::CrashPlace::kDevice &&
         point.device_step == step;
}

bool IsDirectionWord(std::string_view word) {
  return word == "crash" || word == "image" || word == "fail" || word == "hold";
}

Status AddDirection(std::string_view line, env::SiteTable sites,
                    Directions* directions) {
  Reader in(line, sites);
  if (in.Take("image")) {
    RETURN_IF_ERROR(ReadImage(&in, directions));
  } else if (in.Take("crash")) {
    DirectedCrash crash;
    crash.text = line;
    RETURN_IF_ERROR(ReadCrash(&in, &crash));
    RETURN_IF_ERROR(in.End());
    directions->crashes.push_back(std::move(crash));
  } else if (in.Take("fail")) {
    DirectedFailure failure;
    failure.text = line;
    RETURN_IF_ERROR(ReadFail(&in, &failure));
    RETURN_IF_ERROR(in.End());
    directions->failures.push_back(std::move(failure));
  } else if (in.Take("hold")) {
    DirectedHold hold;
    hold.text = line;
    RETURN_IF_ERROR(ReadHold(&in, &hold));
    RETURN_IF_ERROR(in.End());
    directions->holds.push_back(std::move(hold));
  } else {
    return in.Expected("crash, image, fail or hold");
  }
  return in.End();
}

}  // namespace faults
