#include "properties/fan_out.h"

#include <fmt/format.h>

#include "engine/common/sites.h"
#include "faults/crash_faults.h"
#include "properties/copy_host.h"
#include "properties/decoders/page_decoder.h"

namespace properties {
namespace {

using sim::CrashKind;
using Mode = FanOutSpec::Mode;

// A judge hears of a child's events as of the run's next ones.
class Feed : public sim::EventSubscriber {
 public:
  Feed(Judge* judge, uint64_t events) : judge_(judge), events_(events) {}
  void OnEvent(const env::Event& event) override {
    env::Event shifted = event;
    shifted.seq += events_;
    judge_->OnEvent(shifted);
  }

 private:
  Judge* judge_;
  uint64_t events_;
};

// What every life of the node ends with.
void TellCrash(Judge* judge, CrashKind kind, uint64_t seq) {
  env::Event event;
  event.kind = env::EventKind::kCrash;
  event.seq = seq;
  event.a[0] = static_cast<uint64_t>(kind);
  judge->OnEvent(event);
}

void ReadWhole(sim::Disk* disk, const std::string& path) {
  env::Result<std::unique_ptr<env::File>> file =
      disk->Open(path, env::kOpenRead);
  if (!file.ok()) return;
  std::string page(kPageBytes, '\0');
  for (int64_t at = 0;; at += static_cast<int64_t>(kPageBytes)) {
    env::Result<int64_t> got = (*file)->Pread(at, page);
    if (!got.ok() || *got == 0) return;
  }
}

}  // namespace

FanOut::FanOut(FanOutOptions options)
    : options_(std::move(options)), choices_(options_.seed) {
  // Draws nothing and switches as little as it can.
  options_.world.strategy = sim::StrategyOptions();
  options_.world.strategy.kind = sim::StrategyKind::kRecorded;
}

sim::Scope FanOut::ScopeOf(uint64_t fork) const {
  return sim::Scope().Child("w", fork).Child("h", 0).Child("i", 0);
}

void FanOut::Explore(const sim::Disk& disk, const Judge& judge,
                     const Moment& moment) {
  if (found()) return;
  ++stats_.instants;
  Base base;
  base.disk = &disk;
  base.judge = &judge;
  base.moment = moment;
  switch (options_.spec.mode) {
    case Mode::kLazy:
    case Mode::kEager:
      return Sample(base);
    case Mode::kExhaustive:
      return EnumerateAll(base);
    case Mode::kReplay:
      return Replay(base);
    case Mode::kOff:
      return;
  }
}

std::unique_ptr<sim::Disk> FanOut::Crashed(
    const Base& base, sim::DeviceHost* host, sim::ImageTap* tap,
    const sim::ImageSource* source) const {
  std::unique_ptr<sim::Disk> disk = base.disk->Clone();
  disk->SetImageSource(source);
  disk->SetImageTap(tap);
  disk->Attach(host, nullptr);
  if (base.kind == CrashKind::kPowerLoss) {
    // Evenly, unless the mixture is asked for.
    if (options_.spec.mode != Mode::kEager) disk->SetBiasedImages(false);
    disk->PowerLoss();
  } else {
    disk->ProcessCrash();
  }
  return disk;
}

void FanOut::Sample(const Base& base) {
  sim::ImageTree tree;
  for (uint32_t i = 0; i < options_.spec.images && !found(); ++i) {
    Child child;
    child.fork = ++forks_;
    CopyHost host(choices_, ScopeOf(child.fork));
    sim::ImageTree::Walk walk(&tree);
    std::unique_ptr<sim::Disk> disk = Crashed(base, &host, &walk, nullptr);
    ++stats_.images;
    if (walk.Known(*disk)) {
      ++stats_.memo_hits;
      continue;
    }
    child.path = [&] { return walk.path(); };
    child.on_recovered = [&] {
      ++(walk.End() ? stats_.distinct : stats_.memo_hits);
    };
    Run(base, child, disk.get());
    if (!walk.consistent()) {
      harness_failure_ = fmt::format(
          "fan-out at step {}, fork {}: recovery depends on more than it "
          "reads: "
          "{}",
          base.moment.step, child.fork, walk.difference());
    }
  }
}

void FanOut::EnumerateAll(const Base& base) {
  Base crash = base;
  crash.kind = CrashKind::kProcess;
  Enumerate(crash, options_.max_images);
  if (base.moment.write) return;
  crash.kind = CrashKind::kPowerLoss;
  Enumerate(crash, options_.max_images);
}

void FanOut::Enumerate(const Base& base, uint64_t max_images) {
  bool first_crash = base.before.empty();
  sim::ImageEnumerator images;
  CopyHost host(choices_, ScopeOf(1));
  bool more = true;
  for (uint64_t n = 0; more && !found(); ++n) {
    if (n == max_images) {
      ++stats_.bounded;
      break;
    }
    images.Begin();
    std::unique_ptr<sim::Disk> disk = Crashed(base, &host, &images, &images);
    ++stats_.images;
    if (!first_crash) ++stats_.second_images;
    if (base.kind == CrashKind::kProcess) ++stats_.process_crashes;
    Child child;
    child.path = [&] { return images.Path(); };
    child.on_recovered = [&] {
      ++stats_.distinct;
      // What is not read is judged by what it may be: see above.
      disk->SetImageTap(nullptr);
    };
    if (first_crash) {
      child.on_instant = [&](const Base& in_recovery) {
        // Images before this one came here with the same answers.
        if (n > 0 && images.asked() <= images.shared()) return true;
        ++stats_.second_instants;
        Base second = in_recovery;
        for (CrashKind kind : {CrashKind::kProcess, CrashKind::kPowerLoss}) {
          if (kind == CrashKind::kPowerLoss && second.moment.write) continue;
          second.kind = kind;
          Enumerate(second, options_.max_second_images);
        }
        return !found();
      };
    }
    Run(base, child, disk.get());
    if (!images.consistent()) {
      harness_failure_ = fmt::format(
          "fan-out at step {}, image {}: recovery depends on more than it "
          "reads",
          base.moment.step, sim::ImagePathToText(images.Path()));
    }
    more = images.Next();
  }
  stats_.equal_states += images.equal_states();
}

void FanOut::Replay(const Base& base) {
  size_t level = base.before.size();
  const FanOutCrash& crash = options_.spec.address[level];
  bool last = level + 1 == options_.spec.address.size();
  Base crashed = base;
  crashed.kind = crash.kind;
  sim::ImageReplay images(crash.path);
  CopyHost host(choices_, ScopeOf(crash.fork));
  Child child;
  child.fork = crash.fork;
  child.path = [&] { return crash.path; };
  child.on_recovered = [] {};
  // The first pass learns which cell each number of the path belongs to: a
  // judge asks for cells in an order of its own.
  for (bool judged : {false, true}) {
    images.Begin();
    std::unique_ptr<sim::Disk> disk = Crashed(crashed, &host, &images, &images);
    ++stats_.images;
    child.quiet = !judged;
    if (!last) {
      child.instants = faults::Instants::Which::kStep;
      child.instant_step = options_.spec.address[level + 1].step;
      child.on_instant = [&](const Base& second) {
        if (judged) Replay(second);
        return false;
      };
    }
    Run(crashed, child, disk.get());
  }
  if (last) replayed_ = images.fits();
}

void FanOut::Run(const Base& base, const Child& child, sim::Disk* disk) {
  RecoveryWorld world(options_.world, &choices_, child.fork, disk);
  std::unique_ptr<Judge> judge = base.judge->Fork(disk, &world.device_host());
  TellCrash(judge.get(), base.kind, base.moment.events + 1);
  Feed feed(judge.get(), base.moment.events + 1);
  world.world().Subscribe(&feed);
  std::optional<faults::Instants> instants;
  if (child.on_instant) {
    faults::Instants::Options options;
    options.which = child.instants;
    options.step = child.instant_step;
    options.sites = engine::EngineSites();
    options.stop = [&] { world.world().RequestStop(); };
    instants.emplace(std::move(options));
    instants->SetPhase(faults::Phase::kRecovery);
    world.world().set_crash_hooks(&*instants);
  }
  sim::World::StopReason reason = world.Run();
  bool cut_short = false;
  while (instants.has_value() && !world.ready()) {
    std::optional<faults::Instant> instant = instants->Take();
    if (!instant.has_value()) break;
    Base second;
    second.disk = disk;
    second.judge = judge.get();
    second.moment.step = instant->step;
    second.moment.point = instant->point;
    second.moment.write = instant->write;
    second.moment.events = base.moment.events + 1 + world.world().event_count();
    second.before = base.before;
    second.before.push_back(
        {base.moment.step, child.fork, base.kind, child.path()});
    cut_short = !child.on_instant(second);
    if (cut_short) break;
    reason = world.Run();
  }
  world.world().set_crash_hooks(nullptr);
  if (!cut_short) {
    child.on_recovered();
    JudgeChild(&world, reason, judge.get(), disk);
  }
  if (!child.quiet) Broken(base, child, *disk, judge->TakeVerdicts());
  world.world().EndAllTasks();
  world.world().Unsubscribe(&feed);
}

void FanOut::JudgeChild(RecoveryWorld* world, sim::World::StopReason reason,
                        Judge* judge, sim::Disk* disk) {
  if (world->world().check_failure() != nullptr) {
    harness_failure_ = "fan-out: " + world->Failure(reason);
    return;
  }
  if (!world->ready()) {
    if (!judge->anything_broken()) {
      judge->liveness().OnRefusedStart(world->Failure(reason));
    }
    return;
  }
  if (disk->OpenSectors() != 0) {
    // As sessions would read them.
    std::vector<uint32_t> relations = {kPgClassRel, kPgAttributeRel};
    const env::Result<Catalog>& catalog = judge->model().catalog();
    if (catalog.ok()) {
      for (const auto& [filenode, relation] : *catalog) {
        if (filenode >= kFirstUserOid) relations.push_back(filenode);
      }
    }
    for (uint32_t relation : relations) ReadWhole(disk, HeapPath(relation));
    disk->Freeze();
  }
  judge->OnRecovered(*disk);
}

void FanOut::Broken(const Base& base, const Child& child, const sim::Disk& disk,
                    std::vector<Verdict> verdicts) {
  if (verdicts.empty()) return;
  if (verdicts_.empty()) {
    address_ = base.before;
    address_.push_back({base.moment.step, child.fork, base.kind, child.path()});
    evidence_.weak_metadata = disk.options().meta == sim::MetaMode::kWeak;
    evidence_.entries_lost = disk.stats().entries_lost;
    for (const sim::FaultRecord& record : disk.fault_log().records()) {
      evidence_.Add(record);
    }
  }
  for (Verdict& verdict : verdicts) {
    verdict.message +=
        fmt::format(" (in a state beside the run: {} at step {}, {}, fork {})",
                    faults::CrashKindName(base.kind), base.moment.step,
                    base.moment.point, child.fork);
    verdicts_.push_back(std::move(verdict));
  }
}

}  // namespace properties
