#include "properties/judge.h"

#include <algorithm>
#include <utility>

namespace properties {

Judge::Judge(const JudgeOptions& options)
    : options_(options),
      ack_(&model_, &sink_),
      wal_before_data_(&sink_),
      wal_(&model_, &sink_, options.disk, options.host),
      content_(&model_, &sink_),
      structure_(&sink_),
      tpcb_(&sink_, options.only_tpcb),
      liveness_(&sink_, options.liveness_bound_steps) {}

void Judge::LoadTemplate(const sim::Disk& disk) {
  DiskView files(disk);
  LoadTemplate(files);
}

void Judge::LoadTemplate(const ClusterView& files) {
  ClusterImage image(&files, options_.data_checksums);
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
  wal_before_data_.OnEvent(event);
  wal_.OnEvent(event);
  liveness_.OnEvent(event);
  if (event.kind == env::EventKind::kRecoveryStart) structure_.OnRecovery();
}

void Judge::OnCrash(sim::CrashKind kind) { wal_.OnCrash(kind); }

void Judge::TakeConflicts() {
  for (Verdict& verdict : model_.TakeConflicts()) {
    sink_.Report(std::move(verdict));
  }
}

void Judge::CheckRest(const ClusterView& files, bool shut_down) {
  TakeConflicts();
  ClusterImage image(&files, options_.data_checksums);
  content_.Check(image, last_seq_);
  const env::Result<Catalog>& catalog = model_.catalog();
  if (catalog.ok()) {
    structure_.Check(image, *catalog, shut_down, last_seq_);
    if (options_.tpcb) tpcb_.Check(image, *catalog, last_seq_);
  }
  if (!shut_down) wal_.OnRecovered(image, last_seq_);
}

void Judge::OnRecovered(const sim::Disk& disk) {
  DiskView files(disk);
  OnRecovered(files);
}

void Judge::OnRecovered(const ClusterView& files) {
  model_.ApplyPendingCut();
  ack_.CheckDecided(last_seq_);
  CheckRest(files, false);
}

void Judge::OnShutdown(const sim::Disk& disk) {
  DiskView files(disk);
  OnShutdown(files);
  structure_.CheckNothingPending(disk, last_seq_);
}

void Judge::OnShutdown(const ClusterView& files) {
  model_.ApplyCut(UINT64_MAX);
  ack_.CheckDecided(last_seq_);
  CheckRest(files, true);
}

void Judge::OnStatementSent(env::TaskId task, const PlanStatement& statement) {
  model_.BeginStatement(task, statement.id);
}

void Judge::OnStatementResult(
    env::TaskId task, const PlanStatement& statement,
    const std::vector<engine::StatementResult>& results) {
  model_.EndStatement(task);
  ack_.OnStatement(statement, results);
}

void Judge::CompareScan(std::string_view relname,
                        const engine::StatementResult& result) {
  content_.CompareScan(relname, result.rows, last_seq_);
}

std::vector<Verdict> Judge::TakeVerdicts() {
  std::vector<Verdict> verdicts = sink_.verdicts();
  if (verdicts.size() > kMaxVerdicts) verdicts.resize(kMaxVerdicts);
  sink_ = VerdictSink();
  return verdicts;
}

}  // namespace properties
