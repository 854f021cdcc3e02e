// Judge: all oracles of one node, fed from one place.
//
//   events ──► Model ──► AckOracle, WalBeforeDataOracle, WalOracle,
//                        ShadowOracle, DurabilitySanitizer, Liveness
//   frozen disk ──► ClusterImage ──► StructureOracle, ContentOracle,
//                                    ShadowOracle, Tpcb
//   statements, results ──► StatementOracle, with a model of its own
//   rows of scans ──► ContentOracle, StatementOracle
//   refusals ──► Attribution: is there damage that justifies them?
//
// All oracles record their verdicts in the same run; none stops another. A run
// that breaks many promises keeps the first kMaxVerdicts.
#ifndef MUSTH_PROPERTIES_JUDGE_H_
#define MUSTH_PROPERTIES_JUDGE_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/sql/session.h"
#include "properties/ack_oracle.h"
#include "properties/attribution.h"
#include "properties/cluster_image.h"
#include "properties/content_oracle.h"
#include "properties/durability_sanitizer.h"
#include "properties/liveness_oracle.h"
#include "properties/model.h"
#include "properties/oracle.h"
#include "properties/shadow_oracle.h"
#include "properties/statement_oracle.h"
#include "properties/structure_oracle.h"
#include "properties/tpcb_oracle.h"
#include "properties/wal_before_data_oracle.h"
#include "properties/wal_coverage.h"
#include "properties/wal_oracle.h"

namespace properties {

struct JudgeOptions {
  ClusterFormat format;
  bool full_page_writes = true;
  uint32_t wal_segment_bytes = 1 << 20;
  // Balances of pgbench's tables are an invariant of the workload.
  bool tpcb = false;
  bool only_tpcb = false;  // no simple-update among the scripts
  // How many scheduling steps sessions may go on after the faults stopped.
  uint64_t liveness_bound_steps = 1'000'000;
  // Writes may be cut short, so that files may end in a part of a page.
  bool partial_tails = false;
  // The node's disk and host, for WalOracle's copy and ShadowOracle; may be
  // null.
  const sim::Disk* disk = nullptr;
  sim::DeviceHost* host = nullptr;
  // True if a statement may fail like this although the log does not justify
  // it: a fault struck lately that leaves nothing on the disk, or the medium
  // damaged what the error names. Null: never.
  std::function<bool(const env::Status&)> excused;
  // The disk may damage pages, so that refusals can be justified.
  bool damage = false;
  // What is read may be other than what was written (media faults).
  bool media = false;
};

class Judge : public Oracle {
 public:
  explicit Judge(const JudgeOptions& options);

  // A judge who knows what this one does, for a copy of the disk that a crash
  // of this moment left, and for the world of the node that recovers it. It
  // hears of that world's events from the kCrash on; statements and scans are
  // not for it, nor the faults of this world. Both outlive it.
  std::unique_ptr<Judge> Fork(const sim::Disk* disk,
                              sim::DeviceHost* host) const;

  // Takes the rows of a cleanly shut down cluster as given. Requires: before
  // the first event; the disk holds nothing undetermined.
  void LoadTemplate(const sim::Disk& disk);
  void LoadTemplate(const ClusterView& files);

  std::string_view name() const override { return "judge"; }
  void OnEvent(const env::Event& event) override;
  void OnCrash(sim::CrashKind kind) override;
  void OnRecovered(const sim::Disk& disk) override;
  void OnShutdown(const sim::Disk& disk) override;
  // As above for files that are not on a simulated disk.
  void OnRecovered(const ClusterView& files);
  void OnShutdown(const ClusterView& files);

  // A client's statement, told on the task that executes it (a task of its
  // own would be env::Current().task).
  void OnStatementSent(env::TaskId task, const PlanStatement& statement);
  void OnStatementResult(env::TaskId task, const PlanStatement& statement,
                         const std::vector<engine::StatementResult>& results);
  // The node says that it cannot carry something out: "table t", "statement
  // s1.t2.q1". True if an injected fault justifies that; if none does it is a
  // broken promise, unless a fault that left nothing behind
  // excuses it.
  bool JudgeRefusal(const std::string& subject, const env::Status& status,
                    bool excused = false);
  // Faults that justified a refusal so far, by their id in the disk's log.
  const std::set<uint64_t>& detected() const { return detected_; }
  // The rows of SELECT *. Requires: no transaction runs.
  void CompareScan(std::string_view relname,
                   const engine::StatementResult& result);

  LivenessOracle& liveness() { return liveness_; }
  // Adds what ShadowOracle and DurabilitySanitizer had to look at.
  void CountWork(std::map<std::string, uint64_t>* judged) const;
  const Model& model() const { return model_; }
  const StatementOracle& statements() const { return statement_; }
  bool anything_broken() const { return !sink_.verdicts().empty(); }
  // Verdicts so far; moves them out.
  std::vector<Verdict> TakeVerdicts();

 private:
  Judge(const Judge& other, const sim::Disk* disk, sim::DeviceHost* host);
  void CheckRest(const ClusterView& files, const sim::Disk* disk,
                 bool shut_down);
  void Recovered(const ClusterView& files, const sim::Disk* disk);
  void ShutDown(const ClusterView& files, const sim::Disk* disk);
  void TakeConflicts();

  static constexpr size_t kMaxVerdicts = 50;

  const JudgeOptions options_;
  const bool forked_ = false;
  VerdictSink sink_;
  Model model_;
  AckOracle ack_;
  WalBeforeDataOracle wal_before_data_;
  WalOracle wal_;
  StatementOracle statement_;
  ContentOracle content_;
  StructureOracle structure_;
  TpcbOracle tpcb_;
  ShadowOracle shadow_;
  DurabilitySanitizer sanitizer_;
  LivenessOracle liveness_;
  WalCoverage coverage_;
  Attribution attribution_;
  std::set<uint64_t> detected_;
  uint64_t last_seq_ = 0;
};

}  // namespace properties

#endif  // MUSTH_PROPERTIES_JUDGE_H_
