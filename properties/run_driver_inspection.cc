// The inspection of a node that accepts sessions: its tables through SQL, its
// disk by the judges.
#include <utility>

#include "engine/sql/parse.h"
#include "properties/run_driver.h"
#include "sim/env/race.h"

namespace properties {
namespace {

// Where the node's code begins, for race checks.
engine::StatementResult Execute(engine::Session& session,
                                const engine::Statement& statement) {
  env::Watched watched;
  return session.Execute(statement);
}

}  // namespace

void RunDriver::OnAccepting() {
  panicked_ = sync_failed_since_ready_ = redo_is_needless_ = false;
  reinspections_ = 0;
  OnReady();
}

void RunDriver::OnReady() {
  disk_faults_->Hold(true);
  SetPhase(faults::Phase::kDone);
  node_->HoldClients(true);
  // After a restart by the node itself the old inspector is connected again.
  if (inspecting_) return;
  inspecting_ = true;
  node_->AddClient(
      "inspector",
      [this](engine::Session& session) {
        env::Unwatched unwatched;
        Inspect(session);
      },
      /*first=*/true);
}

engine::StatementResult RunDriver::Look(engine::Session& session,
                                        const std::string& sql) {
  while (true) {
    uint64_t before = FaultsTold();
    engine::StatementResult result = Execute(session, Parsed(sql));
    if (result.status.ok() || FaultsTold() == before ||
        disk_faults_->file_system_down()) {
      return result;
    }
  }
}

void RunDriver::Inspect(engine::Session& session) {
  scans_.clear();
  engine::StatementResult tables =
      Look(session,
           "SELECT relname FROM pg_class WHERE oid >= 16384 AND relkind = 'r' "
           "ORDER BY relname");
  std::vector<std::string> names;
  for (const auto& row : tables.rows) names.push_back(*row[0]);
  scans_.emplace_back("pg_class", std::move(tables));
  for (const std::string& name : names) {
    scans_.emplace_back(name, Look(session, "SELECT * FROM " + name));
  }
  Stop(StopCause::kInspected);
}

const engine::Statement& RunDriver::Parsed(const std::string& sql) {
  auto& statements =
      parts_.statements != nullptr ? *parts_.statements : own_statements_;
  auto it = statements.find(sql);
  if (it == statements.end()) {
    auto parsed = engine::ParseSql(sql);
    SIM_CHECK(parsed.ok() && parsed->size() == 1);
    it = statements.emplace(sql, std::move((*parsed)[0])).first;
  }
  return it->second;
}

void RunDriver::OnInspected() {
  inspecting_ = false;
  disk_faults_->Hold(false);
  if (stage_directions_ != nullptr) stage_directions_->OnInspection();
  if (disk_faults_->file_system_down()) {
    Reboot();
    return;
  }
  // The inspector outran the node's end; its next start is judged.
  if (panicked_) return;
  // An fsync has failed, and its caller has yet to act on that.
  if (sync_failed_since_ready_ && ++reinspections_ <= kMaxReinspections) {
    OnReady();
    return;
  }
  JudgeInspection();
  if (!outcome_.broken.empty()) {
    finished_ = true;
    return;
  }
  switch (stage_) {
    case Stage::kSetup:
      node_->AddClient(
          "setup",
          [this](engine::Session& session) {
            env::Unwatched unwatched;
            setup_status_ = RunSetup(parts_.plan, this, session);
            Stop(StopCause::kSetupDone);
          },
          /*first=*/true);
      return;
    case Stage::kWork:
      BeginWork();
      return;
    case Stage::kFinal:
      stage_ = Stage::kShutdown;
      node_->RequestShutdown();
      return;
    case Stage::kShutdown:
      // The node died during its shutdown (an fsync failed before the faults
      // stopped and was found only now) and was started again.
      node_->RequestShutdown();
      return;
  }
}

std::unique_ptr<sim::Disk> RunDriver::WhatWasWritten() const {
  std::unique_ptr<sim::Disk> disk = parts_.disk->Clone();
  disk->Freeze();
  disk->RepairMedia();
  return disk;
}

void RunDriver::JudgeInspection() {
  if (recovered_) {
    ++outcome_.stats.recoveries;
    recovered_ = false;
    judge_->OnRecovered(*WhatWasWritten());
    second_recovery_->OnRecovered(*parts_.disk, &world_.device_host(host_),
                                  recovery_end_, world_.event_count(),
                                  &outcome_.broken);
  }
  for (const auto& [table, result] : scans_) {
    if (!result.status.ok()) {
      if (NamesDamage(result.status)) continue;
      judge_->JudgeRefusal("table " + table, result.status);
    } else if (table != "pg_class") {
      judge_->CompareScan(table, result);
    }
  }
  scans_.clear();
  TakeVerdicts();
  if (outcome_.broken.empty()) ledger_.Settle(counters_);
}

void RunDriver::TakeVerdicts() {
  for (Verdict& verdict : judge_->TakeVerdicts()) {
    outcome_.broken.push_back(std::move(verdict));
  }
}

}  // namespace properties
