#include "properties/run_recorder.h"

#include <fmt/format.h>

#include <array>
#include <tuple>
#include <utility>

#include "engine/sql/ast.h"
#include "faults/fault_plan.h"
#include "sim/env/check.h"
#include "sim/env/current.h"

namespace properties {
namespace {

using Kind = TimelineEntry::Kind;

// Draws that strike with their largest value only; the others are as good as 0.
constexpr std::array<std::string_view, 9> kStrikes = {
    "sync_failure", "lying_flush",         "read_error",
    "misread",      "short_transfer.read", "latency",
    "torn",         "commit-more",         "short_transfer.write",
};

// Names of the other draws of the disk and its faults; the node's own come from
// its table of sites.
constexpr std::string_view kOtherDraws[] = {
    "latency.delay",
    "short_transfer.cut",
    "short_transfer.bytes",
    "misread.page",
    "writeback",
    "eviction",
    "target",
    "entries",
    "page",
    "lost",
    "size",
    "commit-reach",
    "sync-fail",
    "image-style",
    "image-target",
    "image-share",
    "image-file",
    "log-prefix",
    "page-instant",
    "page-torn",
    "sector",
    "entry",
    "fill",
    "media.gap",
    "media.near",
    "media.class",
    "media.file",
    "media.page",
    "media.sector",
    "media.run",
    "media.whole_page",
    "media.noise",
    "media.write",
    "media.same_file",
    "media.victim",
    "media.same_block",
    "media.family",
    "media.misses",
    "media.shear",
    "media.cut",
};

// Where a fault plan is drawn, the only knobs that a record holds as draws.
constexpr std::string_view kFaultScope = "w0/faults";

bool Strikes(uint64_t site) {
  for (std::string_view name : kStrikes) {
    if (env::SiteHash(name) == site) return true;
  }
  return false;
}

std::string KindName(sim::CrashKind kind) {
  switch (kind) {
    case sim::CrashKind::kTaskKill:
      return "task-kill";
    case sim::CrashKind::kProcess:
      return "process-crash";
    default:
      return "power-loss";
  }
}

const char* StepName(sim::DeviceStep step) {
  switch (step) {
    case sim::DeviceStep::kWrite:
      return "write";
    case sim::DeviceStep::kSyncStart:
      return "fsync-start";
    case sim::DeviceStep::kSyncMiddle:
      return "fsync-middle";
    case sim::DeviceStep::kSyncDone:
      return "fsync-done";
    case sim::DeviceStep::kMetadata:
      return "metadata";
    case sim::DeviceStep::kPlain:
      break;
  }
  return "";
}

std::string OneLine(const std::vector<engine::StatementResult>& results) {
  std::string text;
  for (const engine::StatementResult& result : results) {
    if (!text.empty()) text += "; ";
    if (!result.status.ok()) {
      text += "ERROR: " + std::string(result.status.message());
    } else {
      text += result.command_tag;
    }
  }
  return text;
}

}  // namespace

std::string LabelOf(const StatementId& id, bool by_session) {
  return by_session ? fmt::format("s{}.q{}", id.session, id.statement)
                    : id.ToString();
}

void RunRecorder::OnPlan(const Plan& plan, bool by_session, Books books) {
  record_.books = books;
  auto add = [&](const PlanStatement& s) {
    RecordedStatement out;
    out.session = s.id.session;
    out.label = LabelOf(s.id, by_session);
    out.sql = s.statement ? engine::ToSql(*s.statement) : s.sql;
    out.sleep_ns = s.sleep_ns;
    record_.statements.push_back(std::move(out));
  };
  for (const PlanStatement& s : plan.setup) add(s);
  for (const PlanSession& session : plan.sessions) {
    for (const PlanTransaction& t : session.transactions) {
      for (const PlanStatement& s : ExpandTransaction(session.number, t)) {
        add(s);
      }
    }
  }
}

void RunRecorder::OnKnobs(const faults::Knobs& knobs,
                          std::string_view profile) {
  record_.profile = profile;
  faults::Knobs simplest;
  for (const std::string& name : faults::KnobNames()) {
    env::Result<std::string> value = faults::GetKnob(knobs, name);
    env::Result<std::string> simple = faults::GetKnob(simplest, name);
    SIM_CHECK(value.ok() && simple.ok());
    if (*value != *simple) record_.knobs.emplace_back(name, *value);
  }
}

void RunRecorder::OnWorld(sim::World* world, sim::CrashHooks* next) {
  world_ = world;
  next_ = next;
}

void RunRecorder::OnPaths(const sim::Disk& disk, const std::string& directory) {
  for (const std::string& name : disk.PeekList(directory)) {
    std::string path = directory.empty() ? name : directory + "/" + name;
    OnPath(path);
    OnPaths(disk, path);
  }
}

void RunRecorder::OnPhase(bool in_recovery) {
  in_recovery_ = in_recovery;
  points_.clear();
  sent_.clear();
  last_of_task_.clear();
}

void RunRecorder::OnSent(const std::string& label) {
  sent_.emplace_back(label, points_.size());
  last_of_task_[env::Current().task] = label;
  record_.timeline.push_back({Kind::kSent, label, ""});
}

void RunRecorder::OnAnswered(
    const std::string& label,
    const std::vector<engine::StatementResult>& results) {
  record_.timeline.push_back({Kind::kAnswered, label, OneLine(results)});
}

void RunRecorder::OnForcedCrash(sim::CrashKind kind) {
  RecordedCrash crash;
  crash.kind = KindName(kind);
  crash.at_end = true;
  NoteCrash(crash);
}

void RunRecorder::OnRestart(std::string why) {
  record_.timeline.push_back({Kind::kRestart, "", std::move(why)});
  restarting_ = true;
}

void RunRecorder::NoteCrash(const RecordedCrash& crash) {
  record_.crashes.push_back(crash);
  RecordedCrash& noted = record_.crashes.back();
  noted.incarnation = world_->incarnation(0);
  image_due_ = true;
  if (noted.kind != KindName(sim::CrashKind::kTaskKill)) return;
  std::string host = world_->host_scope(0).path() + "/";
  for (const std::string& path : task_scopes_) {
    if (path.starts_with(host)) noted.tasks.push_back(path);
  }
}

std::string RunRecorder::PlaceOf(const Point& point) const {
  if (point.place == sim::CrashPlace::kDevice) return StepName(point.step);
  if (!point.node_site) return "";
  env::SiteKind kind = sites_[point.site].kind;
  bool passed =
      kind == env::SiteKind::kInjection || kind == env::SiteKind::kYield;
  return passed ? sites_[point.site].name : "";
}

sim::CrashKind RunRecorder::OnPoint(const sim::CrashPoint& point) {
  points_.push_back({point.task, point.place, point.device_step,
                     point.node_site, point.site});
  sim::CrashKind kind =
      next_ == nullptr ? sim::CrashKind::kNone : next_->OnPoint(point);
  if (kind != sim::CrashKind::kNone) AddCrash(kind, point);
  return kind;
}

void RunRecorder::AddCrash(sim::CrashKind kind, const sim::CrashPoint& point) {
  RecordedCrash crash;
  crash.kind = KindName(kind);
  crash.in_recovery = in_recovery_;
  crash.task = point.task_name;
  crash.place = PlaceOf(points_.back());
  size_t from = 0;
  if (!in_recovery_ && !sent_.empty()) {
    auto own = last_of_task_.find(point.task);
    crash.during =
        own != last_of_task_.end() ? own->second : sent_.back().first;
    for (const auto& [label, at] : sent_) {
      if (label == crash.during) from = at;
    }
  }
  for (size_t i = from; i < points_.size(); ++i) {
    // Directions name tasks, of which several may have one name.
    if (world_->task_name(points_[i].task) != point.task_name) continue;
    ++crash.nth_step;
    if (!crash.place.empty() && PlaceOf(points_[i]) == crash.place) ++crash.nth;
  }
  NoteCrash(crash);
}

void RunRecorder::OnDraw(sim::Stream stream, uint64_t scope_key, uint64_t site,
                         uint64_t n, uint64_t bound, uint64_t value) {
  bool of_disk =
      stream == sim::Stream::kDiskFault || stream == sim::Stream::kCrashImage;
  if (of_disk && Strikes(site) && value + 1 != bound) return;
  // Schedules and crashes have words of their own.
  if (stream == sim::Stream::kSchedule || stream == sim::Stream::kCrashPoint) {
    return;
  }
  // So have knobs and the plan, all of which are drawn before there is a world.
  bool planned =
      stream == sim::Stream::kKnobs || stream == sim::Stream::kWorkload;
  if (world_ == nullptr && planned &&
      scope_key != sim::Scope::FromPath(kFaultScope).key()) {
    return;
  }
  draws_.push_back({stream, scope_key, site, n, value});
}

// The decisions since the last call: who left off, and who goes on or whose
// timer fires. Where there was no choice there is none.
void RunRecorder::AddSwitches(std::string_view woken) {
  auto name = [](const std::string& path) {
    return path.substr(path.rfind('/') + 1);
  };
  for (const sim::ScheduleEntry& entry : world_->recorded_schedule(switches_)) {
    ++switches_;
    bool timer = entry.next == sim::kTimerName;
    TimelineEntry out;
    out.kind = timer ? Kind::kTimer : Kind::kSwitch;
    out.label = entry.ToString();
    out.label.resize(out.label.rfind(" ->"));
    out.text = timer
                   ? fmt::format("of {}, at {}", woken, name(entry.task))
                   : fmt::format("{} > {}", name(entry.task), name(entry.next));
    record_.timeline.push_back(std::move(out));
  }
}

void RunRecorder::OnFault(const env::Event& event) {
  bool image =
      event.a[0] == static_cast<uint64_t>(sim::DiskFaultFamily::kCrashImage);
  if (image && image_due_) record_.crashes.back().image = event.a[2];
  image_due_ = image_due_ && !image;
}

void RunRecorder::OnEvent(const env::Event& event) {
  switch (event.kind) {
    case env::EventKind::kTaskStart:
      task_scopes_.insert(world_->task_scope_path(event.task));
      break;
    case env::EventKind::kSwitch:
      AddSwitches("");
      break;
    case env::EventKind::kTimer:
      AddSwitches(world_->task_name(static_cast<env::TaskId>(event.a[1])));
      break;
    case env::EventKind::kFault:
      OnFault(event);
      break;
    case env::EventKind::kFileOpen:
      inodes_[event.a[0]] = std::string(event.bytes);
      OnPath(event.bytes);
      break;
    case env::EventKind::kDirOp:
      OnPath(event.bytes);
      break;
    case env::EventKind::kFileSync:
      if (event.a[2] == 0) break;
      record_.timeline.push_back(
          {Kind::kFault, "",
           fmt::format("fsync of {} fails", inodes_[event.a[0]])});
      break;
    case env::EventKind::kCrash:
      if (std::exchange(restarting_, false)) {
        image_due_ = false;
        break;
      }
      record_.timeline.push_back(
          {Kind::kCrash, "",
           KindName(static_cast<sim::CrashKind>(event.a[0]))});
      break;
    case env::EventKind::kReady:
      record_.timeline.push_back({Kind::kReady, "", ""});
      break;
    case env::EventKind::kPanic:
      record_.timeline.push_back(
          {Kind::kFault, "", "PANIC: " + std::string(event.bytes)});
      break;
    default:
      break;
  }
}

void RunRecorder::NameDraws() {
  std::map<uint64_t, std::string> scopes;
  auto add_scope = [&](const std::string& path) {
    scopes[sim::Scope::FromPath(path).key()] = path;
  };
  for (const std::string& path : task_scopes_) add_scope(path);
  add_scope(std::string(kFaultScope));
  std::set<std::string> paths = {"writeback"};
  // "." and the directories of what the run itself made.
  paths.insert(".");
  for (const std::string& path : paths_) {
    for (size_t at = path.find('/'); at != std::string::npos;
         at = path.find('/', at + 1)) {
      paths.insert(path.substr(0, at));
    }
    paths.insert(path);
    // A relation's other files, which the node may have looked for in vain.
    bool number = path.find_first_not_of("0123456789", path.rfind('/') + 1) ==
                  std::string::npos;
    if (!number || !path.starts_with("base/")) continue;
    for (const char* fork : {"_fsm", "_vm", ".1"}) paths.insert(path + fork);
  }
  for (uint32_t i = 0; i <= world_->incarnation(0); ++i) {
    std::string host = fmt::format("w0/h0/i{}", i);
    add_scope(host);
    for (const std::string& path : paths) {
      add_scope(host + "/" + path);
      // Of a file whose name is gone (sim/disk_crash.cc).
      add_scope(host + "/" + path + "~");
    }
  }
  std::map<uint64_t, std::string> sites;
  auto add_site = [&](std::string_view name) {
    sites[env::SiteHash(name)] = std::string(name);
  };
  for (std::string_view name : kStrikes) add_site(name);
  for (std::string_view name : kOtherDraws) add_site(name);
  for (const env::SiteInfo& site : sites_) add_site(site.name);
  for (std::string_view name : faults::FaultDrawNames()) add_site(name);
  // What is read again is drawn again.
  std::set<std::tuple<sim::Stream, uint64_t, uint64_t, uint64_t>> seen;
  for (const Draw& draw : draws_) {
    if (!seen.emplace(draw.stream, draw.scope_key, draw.site, draw.n).second) {
      continue;
    }
    auto scope = scopes.find(draw.scope_key);
    auto site = sites.find(draw.site);
    record_.draws.push_back(
        {draw.stream,
         scope == scopes.end() ? sim::RawKey(draw.scope_key) : scope->second,
         site == sites.end() ? sim::RawKey(draw.site) : site->second, draw.n,
         draw.value});
  }
}

RunRecord RunRecorder::Take() {
  for (const sim::ScheduleEntry& entry : world_->recorded_schedule()) {
    record_.schedule.push_back(entry);
  }
  NameDraws();
  return std::move(record_);
}

}  // namespace properties
