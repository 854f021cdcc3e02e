#include "sim/litmus.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/env/check.h"

namespace sim {
namespace {

// Walks the tree of draws depth first: each run repeats a prefix of decisions
// and takes 0 where it goes beyond.
class TreeWalk : public ChoiceSource {
 public:
  uint64_t Choose(Stream stream, uint64_t scope_key, uint64_t site, uint64_t n,
                  uint64_t bound) override {
    auto [it, fresh] = known_.try_emplace(
        {static_cast<uint64_t>(stream), scope_key, site, n}, 0);
    if (fresh) it->second = Decide(bound);
    return it->second;
  }

  // A decision of the script itself.
  uint64_t Decide(uint64_t bound) {
    // Garbage has too many values to tell apart; two of them will do.
    if (bound == 0 || bound > 64) bound = 2;
    if (at_ == path_.size()) path_.push_back({0, bound});
    SIM_CHECK(path_[at_].bound == bound);
    return path_[at_++].value;
  }

  // Prepares the next run; false when all have been made.
  bool Next() {
    SIM_CHECK(at_ == path_.size());
    while (!path_.empty() && path_.back().value + 1 == path_.back().bound) {
      path_.pop_back();
    }
    if (path_.empty()) return false;
    ++path_.back().value;
    at_ = 0;
    known_.clear();
    return true;
  }

 private:
  struct Decision {
    uint64_t value;
    uint64_t bound;
  };
  std::vector<Decision> path_;
  size_t at_ = 0;
  std::map<std::tuple<uint64_t, uint64_t, uint64_t, uint64_t>, uint64_t> known_;
};

struct PowerFailed {};

class Sink : public env::EventSink {
 public:
  using env::EventSink::Emit;
  void Emit(env::Event) override {}
};

class Runner : public DeviceHost, public DiskFaultHooks {
 public:
  Runner(const DiskOptions& options, uint64_t seed, TreeWalk* walk)
      : walk_(walk), choices_(seed), scope_(Scope::FromPath("w0/h0/i0")) {
    choices_.SetSource(walk);
    disk_ = std::make_unique<Disk>(options);
    disk_->Attach(this, this);
  }

  std::string Run(const std::vector<std::vector<std::string>>& script);

  // DeviceHost.
  void DevicePoint(DeviceStep step, uint64_t) override {
    if (step == DeviceStep::kSyncMiddle && during_) {
      std::exchange(during_, nullptr)();
    }
    if (!cut_) return;
    SIM_CHECK(walk_ != nullptr);
    if (walk_->Decide(2) == 1) throw PowerFailed{};
  }
  void DeviceDelay(env::TimeNs) override {}
  env::TimeNs Now() override { return 0; }
  Choices& choices() override { return choices_; }
  const Scope& scope() override { return scope_; }
  env::EventSink& events() override { return sink_; }

  // DiskFaultHooks.
  SyncFailure OnSync(std::string_view, uint64_t) override {
    return std::exchange(fail_, SyncFailure::kNone);
  }
  TransferFault OnTransfer(Transfer, std::string_view, int64_t,
                           int64_t) override {
    return std::exchange(transfer_, TransferFault());
  }
  int64_t Capacity(std::string_view, int64_t, int64_t) override {
    return capacity_;
  }
  FsHealth Health(bool) override { return health_; }
  env::TimeNs Latency(DeviceStep, std::string_view) override { return 0; }

 private:
  using Words = std::vector<std::string>;

  bool Crash(const Words& words);
  bool Fault(const Words& words);
  void Strike(const Words& words);
  void StrikeWrite(const Words& words);
  void Note(std::string_view call, const env::Status& status);
  void Data(const Words& words);
  void Names(const Words& words);
  void OpenAs(std::string_view what, uint32_t flags);
  std::string ReadThrough(const Words& words);
  void Describe(const std::string& dir, std::string* out) const;
  static void Must(const env::Status& status) { SIM_CHECK(status.ok()); }

  TreeWalk* walk_;
  Choices choices_;
  Scope scope_;
  Sink sink_;
  std::unique_ptr<Disk> disk_;
  std::map<std::string, std::unique_ptr<env::File>> handles_;
  std::function<void()> during_;
  std::string log_;
  bool cut_ = false;
  SyncFailure fail_ = SyncFailure::kNone;
  TransferFault transfer_;
  int64_t capacity_ = INT64_MAX;
  FsHealth health_ = FsHealth::kGood;
};

std::string RunLengths(std::string content) {
  auto known = [](char c) { return c == 0 || (c >= 'A' && c <= 'Z'); };
  for (size_t at = 0; at < content.size(); at += 512) {
    size_t end = std::min(at + 512, content.size());
    if (!std::all_of(content.begin() + static_cast<ptrdiff_t>(at),
                     content.begin() + static_cast<ptrdiff_t>(end), known)) {
      std::fill(content.begin() + static_cast<ptrdiff_t>(at),
                content.begin() + static_cast<ptrdiff_t>(end), '?');
    }
  }
  std::string out;
  for (size_t at = 0; at < content.size();) {
    size_t end = content.find_first_not_of(content[at], at);
    if (end == std::string::npos) end = content.size();
    out += fmt::format("{}{}", content[at] == 0 ? '.' : content[at], end - at);
    at = end;
  }
  return out;
}

void Runner::Describe(const std::string& dir, std::string* out) const {
  for (const std::string& name : disk_->PeekList(dir)) {
    std::string path = dir.empty() ? name : dir + "/" + name;
    std::string content;
    if (disk_->PeekFile(path, &content)) {
      *out += fmt::format(" {}={}", path, RunLengths(content));
    } else {
      *out += fmt::format(" {}/", path);
      Describe(path, out);
    }
  }
}

std::string Runner::ReadThrough(const Words& words) {
  env::Result<std::unique_ptr<env::File>> file =
      disk_->Open(words[1], env::kOpenRead);
  if (!file.ok()) return "none";
  int64_t offset = words.size() > 2 ? std::stoll(words[2]) : 0;
  int64_t size =
      words.size() > 3 ? std::stoll(words[3]) : (*file)->Size().value();
  std::string content(static_cast<size_t>(size), 'x');
  env::Result<int64_t> got = (*file)->Pread(offset, std::span<char>(content));
  if (!got.ok()) {
    return got.status().code() == env::Code::kInterrupted ? "EINTR" : "EIO";
  }
  content.resize(static_cast<size_t>(*got));
  return RunLengths(content);
}

void Runner::OpenAs(std::string_view what, uint32_t flags) {
  size_t equals = what.find('=');
  std::string handle(what.substr(0, equals));
  std::string path(equals == std::string_view::npos ? what
                                                    : what.substr(equals + 1));
  env::Result<std::unique_ptr<env::File>> file =
      disk_->Open(path, flags | env::kOpenWrite);
  Note("create", file.status());
  if (!file.ok()) return;
  handles_[handle] = std::move(file).value();
}

bool Runner::Crash(const Words& words) {
  const std::string& verb = words[0];
  if (verb == "cut") {
    cut_ = true;
  } else if (verb == "crash") {
    cut_ = false;
    disk_->PowerLoss();
    handles_.clear();
  } else if (verb == "pcrash") {
    disk_->ProcessCrash();
    handles_.clear();
  } else if (verb == "settle") {
    handles_.clear();
    disk_ = disk_->ImageCopy();
    disk_->Attach(this, this);
  } else if (verb == "writeback") {
    disk_->SpontaneousWriteback();
  } else if (verb == "evict") {
    disk_->EvictClean();
  } else {
    return Fault(words);
  }
  return true;
}

bool Runner::Fault(const Words& words) {
  const std::string& verb = words[0];
  if (verb == "fail") {
    std::string kind = words.size() > 1 ? words[1] : "ordered";
    fail_ = kind == "late"    ? SyncFailure::kExt4Data
            : kind == "btrfs" ? SyncFailure::kBtrfs
            : kind == "lying" ? SyncFailure::kLying
                              : SyncFailure::kExt4Ordered;
  } else if (verb == "full") {
    capacity_ = disk_->UsedBytes() + std::stoll(words[1]);
  } else if (verb == "roomy") {
    capacity_ = INT64_MAX;
  } else if (verb == "short") {
    transfer_ = {TransferOutcome::kShort, std::stoll(words[1]), 0};
  } else if (verb == "badread") {
    transfer_.outcome = TransferOutcome::kFails;
  } else if (verb == "misread") {
    transfer_ = {TransferOutcome::kElsewhere, 0, std::stoll(words[1])};
  } else if (verb == "strike") {
    Strike(words);
  } else if (verb == "remember") {
    disk_->RememberWrites();
  } else if (verb == "lose" || verb == "misdirect") {
    StrikeWrite(words);
  } else if (verb == "shear") {
    if (!disk_->Shear(std::stoull(words[1]))) log_ += "missed ";
  } else if (verb == "repair") {
    disk_->RepairMedia();
  } else if (verb == "readonly") {
    health_ = FsHealth::kReadOnly;
  } else if (verb == "shutdown") {
    health_ = FsHealth::kShutDown;
  } else if (verb == "eintr") {
    transfer_ = {TransferOutcome::kInterrupted, 0, 0};
  } else {
    return false;
  }
  return true;
}

void Runner::Strike(const Words& words) {
  MediaFault fault;
  fault.damage = words[1] == "unreadable" ? Damage::kReadError
                 : words[1] == "garbage"  ? Damage::kGarbage
                                          : Damage::kZeroed;
  fault.path = words[2];
  fault.offset = std::stoll(words[3]);
  fault.bytes = std::stoll(words[4]);
  if (!disk_->Strike(fault)) log_ += "missed ";
}

void Runner::StrikeWrite(const Words& words) {
  MediaFault fault;
  for (const RecentWrite& write : disk_->RecentWrites()) {
    if (write.path != words[1]) continue;
    fault.write = write.id;
    fault.offset = write.offset;
  }
  bool lost = words[0] == "lose";
  fault.damage = lost ? Damage::kLostWrite : Damage::kMisdirected;
  fault.path = lost ? words[1] : words[2];
  fault.bytes = lost ? int64_t{kPageBytes} : std::stoll(words[4]);
  if (!lost) fault.offset = std::stoll(words[3]);
  if (fault.write == 0 || !disk_->Strike(fault)) log_ += "missed ";
}

// What a call returned, if not what it was asked for.
void Runner::Note(std::string_view call, const env::Status& status) {
  if (status.ok()) return;
  const char* name = status.code() == env::Code::kNoSpace       ? "ENOSPC"
                     : status.code() == env::Code::kInterrupted ? "EINTR"
                     : status.code() == env::Code::kReadOnly    ? "EROFS"
                                                                : "EIO";
  log_ += fmt::format("{}:{} ", call, name);
}

void Runner::Data(const Words& words) {
  const std::string& verb = words[0];
  if (verb == "during") {
    during_ = [this, rest = Words(words.begin() + 1, words.end())] {
      Data(rest);
    };
    return;
  }
  auto handle = handles_.find(words[1]);
  if (verb == "create") {
    OpenAs(words[1], env::kOpenCreate);
  } else if (verb == "open") {
    OpenAs(words[1], 0);
  } else if (verb == "opend") {
    OpenAs(words[1], env::kOpenDsync);
  } else if (verb == "read") {
    log_ += fmt::format("read:{} ", ReadThrough(words));
  } else if (handle == handles_.end()) {
    Names(words);
  } else if (verb == "close") {
    handles_.erase(handle);
  } else if (verb == "truncate") {
    Must(handle->second->Truncate(std::stoll(words[2])));
  } else if (verb == "fsync") {
    env::Status status = handle->second->Fsync();
    Note("fsync", status);
    if (status.ok() && log_.find("fsync:E") != std::string::npos) {
      log_ += "fsync ";
    }
  } else if (verb == "write") {
    std::string data(static_cast<size_t>(std::stoll(words[3])), words[4][0]);
    env::Result<int64_t> wrote =
        handle->second->Pwrite(std::stoll(words[2]), data);
    Note("write", wrote.status());
    if (wrote.ok() && *wrote != static_cast<int64_t>(data.size())) {
      log_ += fmt::format("write:{} ", *wrote);
    }
  } else {
    Names(words);
  }
}

void Runner::Names(const Words& words) {
  const std::string& verb = words[0];
  if (verb == "unlink") {
    Must(disk_->Unlink(words[1]));
  } else if (verb == "rename") {
    Must(disk_->Rename(words[1], words[2]));
  } else if (verb == "mkdir") {
    Must(disk_->Mkdir(words[1]));
  } else if (verb == "rmdir") {
    Must(disk_->Rmdir(words[1]));
  } else {
    SIM_CHECK(verb == "syncdir");
    Must(disk_->FsyncDir(words[1]));
  }
}

std::string Runner::Run(const std::vector<Words>& script) {
  for (size_t i = 0; i < script.size(); ++i) {
    if (Crash(script[i])) continue;
    try {
      Data(script[i]);
    } catch (const PowerFailed&) {
      while (script[i][0] != "crash") ++i;
      Crash(script[i]);
    }
  }
  disk_->Freeze();
  std::string state;
  Describe("", &state);
  return log_.empty() ? state.substr(state.empty() ? 0 : 1)
                      : fmt::format("{}|{}", log_, state);
}

std::vector<std::vector<std::string>> Parse(std::string_view script) {
  std::vector<std::vector<std::string>> commands(1);
  std::string word;
  auto end_word = [&] {
    if (!word.empty()) commands.back().push_back(std::exchange(word, ""));
  };
  for (char c : script) {
    if (c == ' ' || c == ';') {
      end_word();
      if (c == ';') commands.emplace_back();
    } else {
      word += c;
    }
  }
  end_word();
  std::erase_if(commands, [](const auto& words) { return words.empty(); });
  return commands;
}

}  // namespace

std::set<std::string> LitmusStates(const DiskOptions& options,
                                   std::string_view script) {
  SIM_CHECK(!options.biased_images);
  std::vector<std::vector<std::string>> commands = Parse(script);
  TreeWalk walk;
  std::set<std::string> states;
  int runs = 0;
  do {
    SIM_CHECK(++runs < 1'000'000);
    Runner runner(options, 0, &walk);
    states.insert(runner.Run(commands));
  } while (walk.Next());
  return states;
}

std::set<std::string> LitmusSample(const DiskOptions& options,
                                   std::string_view script, uint64_t seeds) {
  std::vector<std::vector<std::string>> commands = Parse(script);
  std::set<std::string> states;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    Runner runner(options, seed, nullptr);
    states.insert(runner.Run(commands));
  }
  return states;
}

}  // namespace sim
