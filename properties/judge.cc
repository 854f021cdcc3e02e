#include "properties/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace properties {
namespace {

SanitizerOptions SanitizerOptionsOf(const JudgeOptions& options) {
  SanitizerOptions sanitizer;
  sanitizer.wal_segment_bytes = options.wal_segment_bytes;
  sanitizer.full_page_writes = options.full_page_writes;
  if (options.disk != nullptr) {
    const sim::DiskOptions& disk = options.disk->options();
    sanitizer.sector_bytes =
        disk.atomic8k ? 8192 : static_cast<uint32_t>(disk.sector_bytes);
  }
  return sanitizer;
}

JudgeOptions ForkOptionsOf(const JudgeOptions& of, const sim::Disk* disk,
                           sim::DeviceHost* host) {
  JudgeOptions options = of;
  options.disk = disk;
  options.host = host;
  options.excused = nullptr;
  return options;
}

}  // namespace

Judge::Judge(const JudgeOptions& options)
    : options_(options),
      ack_(&model_, &sink_),
      wal_before_data_(&sink_),
      wal_(&model_, &sink_, options.disk, options.host),
      statement_(&model_, &sink_),
      content_(&model_, &sink_),
      structure_(&sink_),
      tpcb_(&sink_, options.only_tpcb),
      shadow_(&sink_, options.disk, !options.media),
      sanitizer_(&sink_, SanitizerOptionsOf(options)),
      liveness_(&sink_, options.liveness_bound_steps),
      attribution_(&model_, &coverage_) {}

Judge::Judge(const Judge& other, const sim::Disk* disk, sim::DeviceHost* host)
    : options_(ForkOptionsOf(other.options_, disk, host)),
      forked_(true),
      model_(other.model_),
      ack_(other.ack_, &model_, &sink_),
      wal_before_data_(other.wal_before_data_, &sink_),
      wal_(other.wal_, &model_, &sink_, disk, host),
      statement_(&model_, &sink_),
      content_(&model_, &sink_),
      structure_(other.structure_, &sink_),
      tpcb_(&sink_, options_.only_tpcb),
      shadow_(other.shadow_, &sink_, disk),
      sanitizer_(other.sanitizer_, &sink_),
      liveness_(other.liveness_, &sink_),
      coverage_(other.coverage_),
      attribution_(&model_, &coverage_),
      last_seq_(other.last_seq_) {
  liveness_.OnNodeStarts();
}

std::unique_ptr<Judge> Judge::Fork(const sim::Disk* disk,
                                   sim::DeviceHost* host) const {
  return std::unique_ptr<Judge>(new Judge(*this, disk, host));
}

void Judge::LoadTemplate(const sim::Disk& disk) {
  DiskView files(disk);
  LoadTemplate(files);
  shadow_.LoadTemplate(disk);
}

void Judge::LoadTemplate(const ClusterView& files) {
  ClusterImage image(&files, options_.format);
  auto load = [&](uint32_t filenode) {
    for (const HeapTupleRef& tuple : image.Heap(filenode).tuples) {
      if (!IsVisibleAtRest(tuple.header, image.clog())) continue;
      model_.AddTemplateRow(filenode, tuple.tid, tuple.body);
    }
  };
  load(kPgClassRel);
  load(kPgAttributeRel);
  const env::Result<Catalog>& catalog = model_.catalog();
  if (!catalog.ok()) return;  // the first check reports it
  for (const auto& [filenode, relation] : *catalog) {
    if (filenode >= kFirstUserOid && relation.kind == 'r') load(filenode);
  }
}

void Judge::OnEvent(const env::Event& event) {
  last_seq_ = event.seq;
  model_.OnEvent(event);
  ack_.OnEvent(event);
  if (!forked_) statement_.OnEvent(event);
  wal_before_data_.OnEvent(event);
  wal_.OnEvent(event);
  shadow_.OnEvent(event);
  // Damaged media leave what was flushed undetermined, and may say so.
  if (!options_.media) sanitizer_.OnEvent(event);
  liveness_.OnEvent(event);
  structure_.OnEvent(event);
  if (options_.damage) coverage_.OnEvent(event);
}

void Judge::OnCrash(sim::CrashKind kind) { wal_.OnCrash(kind); }

void Judge::TakeConflicts() {
  for (Verdict& verdict : model_.TakeConflicts()) {
    sink_.Report(std::move(verdict));
  }
}

void Judge::CheckRest(const ClusterView& files, const sim::Disk* disk,
                      bool shut_down) {
  TakeConflicts();
  PageExcuse excuse;
  if (options_.damage) {
    excuse = [&](std::string_view path, uint32_t block) {
      return attribution_.OfPage({std::string(path), block}, disk).justified();
    };
  }
  ClusterImage image(&files, options_.format, excuse);
  if (options_.partial_tails) image.AllowPartialTails();
  content_.Check(image, last_seq_);
  const env::Result<Catalog>& catalog = model_.catalog();
  if (catalog.ok()) {
    structure_.Check(image, *catalog, shut_down, last_seq_);
    if (options_.tpcb) tpcb_.Check(image, *catalog, last_seq_);
  }
  if (shut_down) {
    shadow_.OnShutdown(image, last_seq_);
  } else {
    wal_.OnRecovered(image, last_seq_);
    shadow_.OnRecovered(image, last_seq_);
  }
}

void Judge::Recovered(const ClusterView& files, const sim::Disk* disk) {
  model_.ApplyPendingCut();
  ack_.CheckDecided(last_seq_);
  if (!forked_) statement_.ApplyDecided();
  CheckRest(files, disk, false);
}

void Judge::ShutDown(const ClusterView& files, const sim::Disk* disk) {
  model_.ApplyCut(UINT64_MAX);
  ack_.CheckDecided(last_seq_);
  if (!forked_) statement_.ApplyDecided();
  CheckRest(files, disk, true);
}

void Judge::OnRecovered(const sim::Disk& disk) {
  DiskView files(disk);
  Recovered(files, &disk);
}

void Judge::OnRecovered(const ClusterView& files) { Recovered(files, nullptr); }

void Judge::OnShutdown(const sim::Disk& disk) {
  DiskView files(disk);
  ShutDown(files, &disk);
  structure_.CheckNothingPending(disk, last_seq_);
}

void Judge::OnShutdown(const ClusterView& files) { ShutDown(files, nullptr); }

bool Judge::JudgeRefusal(const std::string& subject, const env::Status& status,
                         bool excused) {
  Attribution::Answer answer = attribution_.OfRefusal(status, options_.disk);
  if (answer.justified()) {
    detected_.insert(answer.faults.begin(), answer.faults.end());
    return true;
  }
  if (excused) return true;
  sink_.Report("REC", "attribution", subject,
               fmt::format("refused without cause: {}; {}", status.ToString(),
                           answer.objection),
               last_seq_);
  return false;
}

void Judge::OnStatementSent(env::TaskId task, const PlanStatement& statement) {
  model_.BeginStatement(task, statement.id);
  statement_.OnStatementSent(task, statement);
}

void Judge::OnStatementResult(
    env::TaskId task, const PlanStatement& statement,
    const std::vector<engine::StatementResult>& results) {
  model_.EndStatement(task);
  ack_.OnStatement(statement, results);
  statement_.OnStatementResult(task, results);
  for (const engine::StatementResult& result : results) {
    if (!RefusesForDamage(result.status)) continue;
    bool excused = options_.excused && options_.excused(result.status);
    JudgeRefusal("statement " + statement.id.ToString(), result.status,
                 excused);
  }
}

void Judge::CompareScan(std::string_view relname,
                        const engine::StatementResult& result) {
  content_.CompareScan(relname, result.rows, last_seq_);
  statement_.CompareScan(relname, result.rows, last_seq_);
}

void Judge::CountWork(std::map<std::string, uint64_t>* judged) const {
  (*judged)["pages redone"] = shadow_.pages_compared();
  (*judged)["images redone"] = shadow_.images_compared();
  for (const AllowRow& row : AllowTable()) {
    const ReadCount& count =
        sanitizer_.counts()[static_cast<size_t>(row.place)];
    (*judged)[std::string("undetermined, newest: ") + row.what] = count.newest;
    (*judged)[std::string("undetermined, older: ") + row.what] = count.older;
  }
}

std::vector<Verdict> Judge::TakeVerdicts() {
  std::vector<Verdict> verdicts = sink_.verdicts();
  if (verdicts.size() > kMaxVerdicts) verdicts.resize(kMaxVerdicts);
  sink_ = VerdictSink();
  return verdicts;
}

}  // namespace properties
