#include "faults/disk_faults.h"

#include <algorithm>
#include <bit>

#include "faults/atlas.h"
#include "sim/block_store.h"
#include "sim/env/site.h"

namespace faults {
namespace {

constexpr uint64_t kSyncFailureSite = env::SiteHash("sync_failure");
constexpr uint64_t kLatencySite = env::SiteHash("latency");
constexpr uint64_t kDelaySite = env::SiteHash("latency.delay");
constexpr uint64_t kShortReadSite = env::SiteHash("short_transfer.read");
constexpr uint64_t kShortWriteSite = env::SiteHash("short_transfer.write");
constexpr uint64_t kCutSite = env::SiteHash("short_transfer.cut");
constexpr uint64_t kCutBytesSite = env::SiteHash("short_transfer.bytes");

constexpr uint64_t kLyingFlushSite = env::SiteHash("lying_flush");
constexpr uint64_t kReadErrorSite = env::SiteHash("read_error");
constexpr uint64_t kMisreadSite = env::SiteHash("misread");
constexpr uint64_t kMisreadPageSite = env::SiteHash("misread.page");
// How far a misdirected read goes astray, in pages.
constexpr uint64_t kMisreadReach = 16;

// Where a transfer may end early.
enum class Cut : uint64_t { kInterrupted, kSector, kBlock, kAnywhere, kCount };

// An exponentially distributed time with this mean, from a random word. Word 0
// gives 0. Integers only: -log2 of the word as the count of its leading zeros,
// the fraction linearly, times ln 2 in 1024ths.
env::TimeNs Exponential(env::TimeNs mean_ns, uint64_t word) {
  uint64_t u = ~word;
  if (u == 0) return 64 * mean_ns;
  int zeros = std::countl_zero(u);
  uint64_t mantissa = (u << zeros) << 1;  // the bits below the leading one
  int64_t log2_1024 = 1024 * (zeros + 1) - static_cast<int64_t>(mantissa >> 54);
  return mean_ns * (log2_1024 - 1) * 710 / (1024 * 1024);
}

}  // namespace

sim::SyncFailure FailureKind(const Knobs& knobs) {
  auto kind = static_cast<sim::SyncFailure>(knobs.sync_failure);
  bool prompt = knobs.prompt_sync_errors != 0;
  return prompt && kind == sim::SyncFailure::kExt4Data
             ? sim::SyncFailure::kExt4Ordered
             : kind;
}

DiskFaults::DiskFaults(sim::DeviceHost* host, const FaultPlan& plan,
                       const Knobs& knobs, FaultCounters* counters)
    : host_(host),
      plan_(plan),
      failure_kind_(FailureKind(knobs)),
      atomic8k_(knobs.atomic8k != 0),
      counters_(counters),
      failures_left_(plan.sync_failure_budget),
      short_transfers_left_(plan.short_transfer_budget),
      refusals_left_(plan.disk_full_refusals),
      read_errors_left_(plan.bad_read_budget),
      lies_left_(plan.lying_flush_budget),
      misreads_left_(plan.bad_read_budget) {
  for (Family family :
       {Family::kSyncFailure, Family::kLatency, Family::kStall,
        Family::kShortTransfer, Family::kDiskFull, Family::kReadError,
        Family::kMisread, Family::kReadOnlyFs, Family::kLyingFlush}) {
    if (plan_.Has(family)) counters_->Enable(family);
  }
}

DiskFaults::PathState& DiskFaults::StateOf(std::string_view path) {
  const sim::Scope& scope = host_->scope();
  if (scope.key() != host_scope_key_) {
    host_scope_key_ = scope.key();
    paths_.clear();
  }
  auto it = paths_.find(path);
  if (it == paths_.end()) {
    sim::Scope file =
        sim::Scope::FromPath(scope.path() + "/" + std::string(path));
    it = paths_.emplace(std::string(path), PathState{file.key(), 0, 0, 0, 0, 0})
             .first;
  }
  return it->second;
}

bool DiskFaults::Lies(std::string_view path) {
  if (stopped_ || !plan_.Has(Family::kLyingFlush) || lies_left_ == 0) {
    return false;
  }
  PathState& state = StateOf(path);
  uint64_t bound = plan_.lying_flush_denominator;
  uint64_t draw =
      host_->choices().DrawKey(sim::Stream::kDiskFault, state.scope_key,
                               kLyingFlushSite, state.honest_syncs++, bound);
  if (draw + 1 != bound) return false;
  --lies_left_;
  counters_->Inject(Family::kLyingFlush);
  return true;
}

sim::SyncFailure DiskFaults::OnSync(std::string_view path, uint64_t /*inode*/) {
  if (Lies(path)) return sim::SyncFailure::kLying;
  if (stopped_ || !plan_.Has(Family::kSyncFailure) || failures_left_ == 0) {
    return sim::SyncFailure::kNone;
  }
  PathState& state = StateOf(path);
  uint64_t bound = plan_.sync_failure_denominator;
  uint64_t draw =
      host_->choices().DrawKey(sim::Stream::kDiskFault, state.scope_key,
                               kSyncFailureSite, state.syncs++, bound);
  if (draw + 1 != bound) return sim::SyncFailure::kNone;
  --failures_left_;
  counters_->Inject(Family::kSyncFailure);
  return failure_kind_;
}

sim::TransferFault DiskFaults::CutTransfer(sim::Transfer transfer,
                                           std::string_view path,
                                           uint64_t scope_key, uint64_t n,
                                           int64_t offset, int64_t length) {
  sim::Choices& choices = host_->choices();
  auto cut = static_cast<Cut>(
      choices.DrawKey(sim::Stream::kDiskFault, scope_key, kCutSite, n,
                      static_cast<uint64_t>(Cut::kCount)));
  if (cut == Cut::kInterrupted || length == 1) {
    return {sim::TransferOutcome::kInterrupted, 0, 0};
  }
  int64_t unit = cut == Cut::kSector ? 512 : cut == Cut::kBlock ? 4096 : 1;
  // A write that cannot be torn is not cut inside a page either.
  bool whole_pages = atomic8k_ && transfer == sim::Transfer::kWrite;
  if (whole_pages) unit = sim::kPageBytes;
  // Borders strictly inside; a transfer without any is cut anywhere.
  int64_t first = offset / unit + 1;
  int64_t borders = (offset + length - 1) / unit - offset / unit;
  if (borders == 0 && whole_pages) {
    return {sim::TransferOutcome::kInterrupted, 0};
  }
  if (borders == 0) {
    unit = 1;
    first = offset + 1;
    borders = length - 1;
  }
  // All that pg_control says lies in its first sector, and half of that would
  // be a shorn control sector (contract row C23).
  bool control = FileClassOf(path) == FileClass::kControl;
  if (unit == 1 && control && transfer == sim::Transfer::kWrite) {
    first = offset + std::min<int64_t>(512, length - 1);
    borders = offset + length - first;
  }
  uint64_t pick =
      choices.DrawKey(sim::Stream::kDiskFault, scope_key, kCutBytesSite, n,
                      static_cast<uint64_t>(borders));
  // The simplest cut loses the least.
  int64_t end = (first + borders - 1 - static_cast<int64_t>(pick)) * unit;
  return {sim::TransferOutcome::kShort, end - offset, 0};
}

sim::TransferFault DiskFaults::OnTransfer(sim::Transfer transfer,
                                          std::string_view path, int64_t offset,
                                          int64_t length) {
  if (stopped_ || held_) return {};
  bool cuts = plan_.Has(Family::kShortTransfer) && short_transfers_left_ > 0;
  bool spoils = plan_.Has(Family::kReadError) || plan_.Has(Family::kMisread);
  if (!cuts && !spoils) return {};
  PathState& state = StateOf(path);
  bool read = transfer == sim::Transfer::kRead;
  uint64_t count = read ? state.reads++ : state.writes++;
  if (read) {
    sim::TransferFault spoilt = SpoilRead(state.scope_key, count);
    if (spoilt.outcome != sim::TransferOutcome::kWhole) return spoilt;
  }
  if (!cuts) return {};
  uint64_t bound = plan_.short_transfer_denominator;
  uint64_t strikes = host_->choices().DrawKey(
      sim::Stream::kDiskFault, state.scope_key,
      read ? kShortReadSite : kShortWriteSite, count, bound);
  if (strikes + 1 != bound) return {};
  --short_transfers_left_;
  counters_->Inject(Family::kShortTransfer);
  return CutTransfer(transfer, path, state.scope_key,
                     count << 1 | (read ? 0 : 1), offset, length);
}

sim::TransferFault DiskFaults::SpoilRead(uint64_t scope_key, uint64_t n) {
  uint64_t bound = plan_.bad_read_denominator;
  auto strikes = [&](Family family, uint32_t left, uint64_t site) {
    return plan_.Has(family) && left > 0 &&
           host_->choices().DrawKey(sim::Stream::kDiskFault, scope_key, site, n,
                                    bound) +
                   1 ==
               bound;
  };
  if (strikes(Family::kReadError, read_errors_left_, kReadErrorSite)) {
    --read_errors_left_;
    counters_->Inject(Family::kReadError);
    return {sim::TransferOutcome::kFails, 0, 0};
  }
  if (strikes(Family::kMisread, misreads_left_, kMisreadSite)) {
    --misreads_left_;
    counters_->Inject(Family::kMisread);
    uint64_t page = host_->choices().DrawKey(
        sim::Stream::kDiskFault, scope_key, kMisreadPageSite, n, kMisreadReach);
    return {sim::TransferOutcome::kElsewhere, 0,
            static_cast<int64_t>(page + 1)};
  }
  return {};
}

sim::FsHealth DiskFaults::Health(bool changes) {
  if (stopped_ || !plan_.Has(Family::kReadOnlyFs)) return sim::FsHealth::kGood;
  if (changes && ++changing_calls_ == plan_.fs_failure_at) fs_down_ = true;
  if (!fs_down_) return sim::FsHealth::kGood;
  if (changes || plan_.fs_failure == sim::FsHealth::kShutDown) {
    counters_->Inject(Family::kReadOnlyFs);
  }
  return plan_.fs_failure;
}

// SFM-21: the slack is counted from what is used when the disk gets full; what
// is freed later can be used again.
int64_t DiskFaults::Capacity(std::string_view /*path*/, int64_t used,
                             int64_t more) {
  if (stopped_ || held_ || !plan_.Has(Family::kDiskFull) ||
      refusals_left_ == 0) {
    return INT64_MAX;
  }
  if (++space_calls_ < plan_.disk_full_at) return INT64_MAX;
  if (capacity_bytes_ == 0) {
    capacity_bytes_ = used + plan_.disk_full_slack_bytes;
  }
  if (used + more > capacity_bytes_) {
    --refusals_left_;
    counters_->Inject(Family::kDiskFull);
  }
  return capacity_bytes_;
}

// SFM-34: what is left of the one freeze of the whole device.
env::TimeNs DiskFaults::StallLeft() {
  if (!plan_.Has(Family::kStall)) return 0;
  ++calls_;
  env::TimeNs now_ns = host_->Now();
  if (calls_ == plan_.stall_at) {
    stalled_until_ns_ = now_ns + plan_.stall_ns;
    counters_->Inject(Family::kStall);
  }
  return std::max<env::TimeNs>(stalled_until_ns_ - now_ns, 0);
}

env::TimeNs DiskFaults::Latency(sim::DeviceStep step, std::string_view path) {
  if (stopped_) return 0;
  env::TimeNs stall_ns = StallLeft();
  if (!plan_.Has(Family::kLatency)) return stall_ns;
  PathState& state = StateOf(path);
  sim::Choices& choices = host_->choices();
  uint64_t n = state.delays++;
  uint64_t bound = plan_.latency_denominator;
  uint64_t strikes = choices.DrawKey(sim::Stream::kDiskFault, state.scope_key,
                                     kLatencySite, n, bound);
  // With a bound of 1 every call is delayed.
  if (strikes + 1 != bound) return stall_ns;
  uint64_t word = choices.DrawKey(sim::Stream::kDiskFault, state.scope_key,
                                  kDelaySite, n, 0);
  bool sync = step == sim::DeviceStep::kSyncStart ||
              step == sim::DeviceStep::kSyncMiddle ||
              step == sim::DeviceStep::kSyncDone;
  env::TimeNs mean_ns =
      sync ? plan_.latency_sync_mean_ns : plan_.latency_mean_ns;
  counters_->Inject(Family::kLatency);
  return stall_ns + plan_.latency_min_ns + Exponential(mean_ns, word);
}

BackgroundDisk::BackgroundDisk(sim::Disk* disk, sim::DeviceHost* host,
                               const FaultPlan& plan, FaultCounters* counters,
                               sim::CrashHooks* next)
    : disk_(disk), host_(host), counters_(counters), next_(next) {
  writeback_.on = plan.Has(Family::kWriteback);
  writeback_.gap = plan.writeback_gap;
  eviction_.on = plan.Has(Family::kEviction);
  eviction_.gap = plan.eviction_gap;
  active_ = writeback_.on || eviction_.on;
  if (writeback_.on) counters_->Enable(Family::kWriteback);
  if (eviction_.on) counters_->Enable(Family::kEviction);
}

void BackgroundDisk::Rearm(Timer* timer, std::string_view site, uint64_t step) {
  if (!timer->on) return;
  // Distances are at least 1; the simplest one is the longest.
  uint64_t span = 2 * uint64_t{timer->gap};
  uint64_t draw = host_->choices().Draw(sim::Stream::kDiskFault, host_->scope(),
                                        env::SiteHash(site), timer->n++, span);
  timer->due = step + span - draw;
}

void BackgroundDisk::StartTimers(uint64_t step) {
  host_scope_key_ = host_->scope().key();
  writeback_.n = 0;
  eviction_.n = 0;
  Rearm(&writeback_, "writeback", step);
  Rearm(&eviction_, "eviction", step);
}

sim::CrashKind BackgroundDisk::OnPoint(const sim::CrashPoint& point) {
  if (active_ && point.place != sim::CrashPlace::kDevice) {
    if (host_->scope().key() != host_scope_key_) StartTimers(point.step);
    if (writeback_.on && point.step >= writeback_.due) {
      if (disk_->AnythingPending()) counters_->Inject(Family::kWriteback);
      disk_->SpontaneousWriteback();
      Rearm(&writeback_, "writeback", point.step);
    }
    if (eviction_.on && point.step >= eviction_.due) {
      disk_->EvictClean();
      counters_->Inject(Family::kEviction);
      Rearm(&eviction_, "eviction", point.step);
    }
  }
  return next_ == nullptr ? sim::CrashKind::kNone : next_->OnPoint(point);
}

}  // namespace faults
