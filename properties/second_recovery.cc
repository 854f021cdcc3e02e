#include "properties/second_recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "properties/copy_host.h"
#include "properties/decoders/bytes.h"
#include "properties/decoders/page_decoder.h"
#include "properties/page_mask.h"
#include "properties/recovery_world.h"
#include "sim/choices.h"

namespace properties {
namespace {

constexpr char kDataDir[] = "base/5";
constexpr char kClogDir[] = "pg_xact";
bool IsNumber(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return c >= '0' && c <= '9';
  });
}

void CompareBlocks(const std::string& path, std::string_view expected,
                   std::string_view found, uint64_t end,
                   std::vector<Finding>* findings) {
  for (size_t at = 0; at + kPageBytes <= expected.size(); at += kPageBytes) {
    std::string_view a = expected.substr(at, kPageBytes);
    std::string_view b = found.substr(at, kPageBytes);
    if (a == b) continue;
    std::string subject = fmt::format("page {}:{}", path, at / kPageBytes);
    std::string difference = ComparePages(a, b);
    if (!difference.empty()) {
      findings->push_back({subject, difference + " the second time"});
    } else if (PageLsn(a) != PageLsn(b) && PageLsn(b) <= end) {
      findings->push_back(
          {subject, fmt::format("has LSN {}, the second time {}",
                                LsnToText(PageLsn(b)), LsnToText(PageLsn(a)))});
    }
  }
}

void CompareFiles(const std::string& dir, const ClusterView& expected,
                  const ClusterView& found, bool names_return, uint64_t end,
                  std::vector<Finding>* findings) {
  std::vector<std::string> names = expected.List(dir);
  std::vector<std::string> found_names = found.List(dir);
  bool same = names_return
                  ? std::includes(names.begin(), names.end(),
                                  found_names.begin(), found_names.end())
                  : names == found_names;
  if (!same) {
    findings->push_back(
        {dir, fmt::format("has {} files, the second time {}, or other names",
                          found_names.size(), names.size())});
  }
  for (const std::string& name : names) {
    std::string path = dir + "/" + name;
    const std::string* a = expected.Read(path);
    const std::string* b = found.Read(path);
    if (a == nullptr || b == nullptr) continue;
    if (a->size() != b->size()) {
      findings->push_back({path, fmt::format("has {} bytes, the second time {}",
                                             b->size(), a->size())});
    } else if (dir == kDataDir && IsNumber(name)) {
      CompareBlocks(path, *a, *b, end, findings);
    } else if (*a != *b) {
      auto at = std::mismatch(a->begin(), a->end(), b->begin()).first;
      findings->push_back(
          {path, fmt::format("differs the second time, first in byte {}",
                             at - a->begin())});
    }
  }
}

void CompareControl(const ClusterView& expected, const ClusterView& found,
                    std::vector<Finding>* findings) {
  const std::string* a = expected.Read(kControlFilePath);
  const std::string* b = found.Read(kControlFilePath);
  if (a == nullptr || b == nullptr) return;  // StructureOracle tells
  env::Result<ControlFile> first = DecodeControlFile(*b);
  env::Result<ControlFile> second = DecodeControlFile(*a);
  if (!first.ok() || !second.ok()) return;
  const CheckpointFields& x = first->checkpoint_copy;
  const CheckpointFields& y = second->checkpoint_copy;
  if (x.next_xid == y.next_xid && x.next_oid == y.next_oid) return;
  findings->push_back(
      {kControlFilePath,
       fmt::format("next xid {}, next oid {}; the second time {} and {}",
                   x.next_xid, x.next_oid, y.next_xid, y.next_oid)});
}

// Clone of disk in which all is drawn that its next reader would find
// undetermined.
std::unique_ptr<sim::Disk> Determined(const sim::Disk& disk,
                                      sim::DeviceHost* host) {
  std::unique_ptr<sim::Disk> copy = disk.Clone();
  CopyHost copy_host(host->choices(), host->scope());
  copy->Attach(&copy_host, nullptr);
  copy->Freeze();
  copy->Attach(nullptr, nullptr);
  return copy;
}

// first: by the second recovery itself, not by the one after a power loss,
// which shows what the checkpoint at its end has left behind.
Verdict Broken(const Finding& finding, bool first, uint64_t seq) {
  Verdict v;
  v.promise = first ? "REC" : "CKPT";
  v.oracle = "second_recovery";
  v.subject = finding.subject;
  v.message = finding.message;
  v.event_seq = seq;
  return v;
}

}  // namespace

RecoveredCopy RecoverCopy(std::unique_ptr<sim::Disk> disk,
                          const SecondRecoveryOptions& options, uint64_t seed) {
  sim::Choices choices(seed);
  RecoveryWorldOptions world_options;
  world_options.config = options.config;
  world_options.planted = options.planted;
  world_options.stacks = options.stacks;
  RecoveredCopy result;
  {
    RecoveryWorld world(world_options, &choices, /*fork=*/0, disk.get());
    sim::World::StopReason reason = world.Run();
    result.end = world.recovery_end();
    if (!world.ready()) result.failure = world.Failure(reason);
    world.world().EndAllTasks();
    disk->Freeze();
  }
  result.disk = std::move(disk);
  return result;
}

std::vector<Finding> CompareRecoveries(const ClusterView& expected,
                                       const ClusterView& found,
                                       bool names_return, uint64_t found_end) {
  std::vector<Finding> findings;
  for (const char* dir : {kDataDir, kClogDir}) {
    CompareFiles(dir, expected, found, names_return, found_end, &findings);
  }
  CompareControl(expected, found, &findings);
  return findings;
}

void SecondRecovery::OnCrash(const sim::Disk& disk, uint64_t open_before,
                             sim::DeviceHost* host) {
  image_.reset();
  uint64_t n = crashes_++;
  if (options_.one_in == 0 || open_before != 0) return;
  if ((options_.seed + n) % options_.one_in != 0) return;
  if (disk.stats().sync_failures != 0) return;
  image_ = Determined(disk, host);
}

void SecondRecovery::OnRecovered(const sim::Disk& disk, sim::DeviceHost* host,
                                 uint64_t end, uint64_t seq,
                                 std::vector<Verdict>* verdicts) {
  if (image_ == nullptr) return;
  ++compared_;
  std::unique_ptr<sim::Disk> determined = Determined(disk, host);
  RecoveredCopy copy = RecoverCopy(std::move(image_), options_,
                                   options_.seed * 2 + crashes_ * 977);
  const char* what = "a second recovery of the same image";
  for (int round = 0; round < 2; ++round) {
    auto report = [&](const Finding& finding) {
      verdicts->push_back(Broken(finding, round == 0, seq));
    };
    if (!copy.failure.empty()) {
      report({what, "failed: " + copy.failure});
      return;
    }
    if (round == 0 && copy.end != end) {
      report({what, fmt::format("ended at {}, the first one at {}",
                                LsnToText(copy.end), LsnToText(end))});
      return;
    }
    DiskView expected(*copy.disk);
    DiskView found(*determined);
    // Only names whose removal was not durable may come back, and nothing asks
    // for these files: the catalog is compared.
    bool names_return = round == 1;
    for (Finding& finding :
         CompareRecoveries(expected, found, names_return, end)) {
      if (round == 1) finding.message += " (recovered, crashed, recovered)";
      report(finding);
    }
    // New files that recovery made may lose their names: a known gap, C5.
    bool keeps_names = options_.config.sync_new_file_directory ||
                       disk.options().meta == sim::MetaMode::kOrdered;
    if (round == 1 || !verdicts->empty() || !keeps_names) return;
    sim::Choices choices(options_.seed + crashes_);
    CopyHost copy_host(choices, sim::Scope().Child("copy"));
    copy.disk->Attach(&copy_host, nullptr);
    copy.disk->PowerLoss();
    copy.disk->Freeze();
    copy.disk->Attach(nullptr, nullptr);
    copy = RecoverCopy(std::move(copy.disk), options_, options_.seed * 3 + 1);
    what = "recovery after a power loss right behind recovery";
  }
}

}  // namespace properties
