#include "replay/outcome_codec.h"

#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace replay {
namespace {

using properties::RunOutcome;
using properties::RunStats;

// One list of fields serves both directions: Archive(field) writes or reads.
class Writer {
 public:
  void operator()(const uint64_t& value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void operator()(const std::string& text) {
    (*this)(uint64_t{text.size()});
    out_ += text;
  }
  template <typename T, typename Each>
  void List(const std::vector<T>& list, Each each) {
    (*this)(uint64_t{list.size()});
    for (const T& item : list) each(*this, item);
  }
  template <typename V, typename Each>
  void Map(const std::map<std::string, V>& map, Each each) {
    (*this)(uint64_t{map.size()});
    for (const auto& [key, value] : map) {
      (*this)(key);
      each(*this, value);
    }
  }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}

  void operator()(uint64_t& value) {
    value = 0;
    if (in_.size() < sizeof(value)) return Fail();
    std::memcpy(&value, in_.data(), sizeof(value));
    in_.remove_prefix(sizeof(value));
  }
  void operator()(std::string& text) {
    uint64_t size = 0;
    (*this)(size);
    if (size > in_.size()) return Fail();
    text = in_.substr(0, size);
    in_.remove_prefix(size);
  }
  template <typename T, typename Each>
  void List(std::vector<T>& list, Each each) {
    uint64_t size = 0;
    (*this)(size);
    for (uint64_t i = 0; i < size && ok_; ++i) {
      each(*this, list.emplace_back());
    }
  }
  template <typename V, typename Each>
  void Map(std::map<std::string, V>& map, Each each) {
    uint64_t size = 0;
    (*this)(size);
    for (uint64_t i = 0; i < size && ok_; ++i) {
      std::string key;
      (*this)(key);
      each(*this, map[key]);
    }
  }
  bool Complete() const { return ok_ && in_.empty(); }

 private:
  void Fail() {
    ok_ = false;
    in_ = {};
  }
  std::string_view in_;
  bool ok_ = true;
};

// Any of uint8_t, bool, int64_t and enums, as a word.
template <typename T>
void Word(Writer& archive, const T& value) {
  archive(static_cast<uint64_t>(value));
}
template <typename T>
void Word(Reader& archive, T& value) {
  uint64_t word = 0;
  archive(word);
  value = static_cast<T>(word);
}

constexpr auto kEachWord = [](auto& archive, auto& value) { archive(value); };

template <typename Archive, typename Stats>
void ArchiveStats(Archive& archive, Stats& stats) {
  archive(stats.crashes);
  archive(stats.recoveries);
  Word(archive, stats.crashed_in_recovery);
  archive(stats.acked_commits);
  archive(stats.in_doubt);
  archive(stats.statements_predicted);
  archive.Map(stats.statements_unpredicted, kEachWord);
  archive(stats.steps);
  Word(archive, stats.virtual_ns);
  archive.Map(stats.families, [](auto& a, auto& family) {
    a(family.enabled_runs);
    a(family.injected);
    a(family.masked);
    a(family.detected);
    a(family.repaired);
    a(family.silent);
    a(family.gap);
  });
  archive.Map(stats.crash_points,
              [](auto& a, auto& kinds) { a.Map(kinds, kEachWord); });
  archive.Map(stats.known_gaps, kEachWord);
  archive.Map(stats.judged, kEachWord);
  archive.Map(stats.outside, kEachWord);
  archive.Map(stats.schedulers, kEachWord);
}

constexpr auto kEachOverride = [](auto& a, auto& o) {
  Word(a, o.stream);
  a(o.scope_path);
  a(o.site);
  a(o.n);
  a(o.value);
};

template <typename Archive, typename Record>
void ArchiveRecord(Archive& archive, Record& record) {
  archive(record.profile);
  Word(archive, record.books);
  archive.List(record.statements, [](auto& a, auto& statement) {
    Word(a, statement.session);
    a(statement.label);
    a(statement.sql);
    Word(a, statement.sleep_ns);
  });
  archive.List(record.knobs, [](auto& a, auto& knob) {
    a(knob.first);
    a(knob.second);
  });
  archive.List(record.schedule, [](auto& a, auto& entry) {
    a(entry.task);
    a(entry.n);
    a(entry.next);
    a(entry.mark);
  });
  archive.List(record.crashes, [](auto& a, auto& crash) {
    a(crash.kind);
    Word(a, crash.in_recovery);
    Word(a, crash.at_end);
    a(crash.task);
    a(crash.place);
    a(crash.during);
    a(crash.nth);
    a(crash.nth_step);
    Word(a, crash.incarnation);
    a(crash.image);
    a.List(crash.tasks, kEachWord);
  });
  archive.List(record.draws, kEachOverride);
  archive.List(record.timeline, [](auto& a, auto& entry) {
    Word(a, entry.kind);
    a(entry.label);
    a(entry.text);
  });
}

// A word says whether there is one.
void ArchiveRecordOf(Writer& archive, const RunOutcome& outcome) {
  Word(archive, outcome.record != nullptr);
  if (outcome.record != nullptr) ArchiveRecord(archive, *outcome.record);
}
void ArchiveRecordOf(Reader& archive, RunOutcome& outcome) {
  bool present = false;
  Word(archive, present);
  if (!present) return;
  auto record = std::make_shared<properties::RunRecord>();
  ArchiveRecord(archive, *record);
  outcome.record = std::move(record);
}

template <typename Archive, typename Outcome>
void ArchiveOutcome(Archive& archive, Outcome& outcome) {
  archive(outcome.hash);
  archive(outcome.harness_failure);
  archive.List(outcome.broken, [](auto& a, auto& verdict) {
    a(verdict.promise);
    a(verdict.oracle);
    a(verdict.subject);
    a(verdict.message);
    a(verdict.event_seq);
  });
  archive.List(outcome.fan_out, [](auto& a, auto& crash) {
    a(crash.step);
    a(crash.fork);
    Word(a, crash.kind);
    a.List(crash.path, [](auto& each, auto& back) { Word(each, back); });
  });
  ArchiveStats(archive, outcome.stats);
  archive.List(outcome.unmatched_overrides, kEachOverride);
  archive.List(outcome.unmatched_edits, kEachWord);
  archive.List(outcome.unmet_directions, kEachWord);
  archive.List(outcome.unused_schedule, kEachWord);
  archive.List(outcome.last_events, kEachWord);
  ArchiveRecordOf(archive, outcome);
}

}  // namespace

std::string EncodeOutcome(const env::Result<RunOutcome>& outcome) {
  Writer writer;
  if (outcome.ok()) {
    writer(uint64_t{0});
    ArchiveOutcome(writer, outcome.value());
  } else {
    Word(writer, outcome.status().code());
    writer(std::string(outcome.status().message()));
  }
  return writer.Take();
}

env::Result<RunOutcome> DecodeOutcome(std::string_view bytes) {
  Reader reader(bytes);
  uint64_t code = 0;
  reader(code);
  RunOutcome outcome;
  std::string message;
  if (code == 0) {
    ArchiveOutcome(reader, outcome);
  } else {
    reader(message);
  }
  if (!reader.Complete() || code > static_cast<uint64_t>(env::Code::kSql)) {
    return env::Status(env::Code::kCorrupted,
                       "expected the outcome of a run from a worker");
  }
  if (code != 0) return env::Status(static_cast<env::Code>(code), message);
  return outcome;
}

}  // namespace replay
