#include "properties/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/common/sites.h"
#include "engine/sql/parse.h"
#include "faults/atlas.h"
#include "faults/directions.h"
#include "faults/planted_bugs.h"
#include "faults/profile.h"
#include "properties/cluster_template.h"
#include "properties/export.h"
#include "properties/pgbench.h"
#include "properties/pilot_run.h"
#include "properties/run_driver.h"
#include "properties/run_recorder.h"
#include "properties/session_plan.h"
#include "properties/workload.h"
#include "sim/env/race.h"
#include "sim/fiber.h"
#include "sim/trace.h"

namespace properties {

struct RunContext::Impl {
  sim::StackPool stacks;
  ClusterTemplates templates{&stacks};
  std::map<std::string, engine::Statement> statements;
};

RunContext::RunContext() : impl_(std::make_unique<Impl>()) {}
RunContext::~RunContext() = default;

namespace {

engine::Config ConfigFrom(const faults::Knobs& knobs) {
  engine::Config config;
  config.data_checksums = knobs.data_checksums != 0;
  config.wal_segment_size = static_cast<uint32_t>(knobs.wal_segment_size_bytes);
  config.shared_buffers = static_cast<int>(knobs.shared_buffers);
  config.wal_buffers = static_cast<int>(knobs.wal_buffers);
  config.wal_insert_locks = static_cast<int>(knobs.wal_insert_locks);
  config.commit_delay_ns = knobs.commit_delay_ns;
  config.commit_siblings = static_cast<int>(knobs.commit_siblings);
  config.clog_buffers = static_cast<int>(knobs.clog_buffers);
  config.full_page_writes = knobs.full_page_writes != 0;
  config.wal_compression =
      static_cast<engine::WalCompression>(knobs.wal_compression);
  config.wal_log_hints = knobs.wal_log_hints != 0;
  config.max_wal_size_bytes = knobs.max_wal_size_bytes;
  config.min_wal_size_bytes = knobs.max_wal_size_bytes / 4;
  config.checkpoint_timeout_ns = knobs.checkpoint_timeout_ns;
  config.bgwriter_delay_ns = knobs.bgwriter_delay_ns;
  config.wal_writer_delay_ns = knobs.wal_writer_delay_ns;
  config.sync_new_file_directory = knobs.sync_new_file_directory != 0;
  config.rewrite_wal_before_trust = knobs.rewrite_wal_before_trust != 0;
  config.detect_zeroed_pages = knobs.detect_zeroed_pages != 0;
  config.checksum_relation = knobs.checksum_relation != 0;
  config.wal_flush_watermark = knobs.wal_flush_watermark != 0;
  config.clog_checksums = knobs.clog_checksums != 0;
  return config;
}

// A script's text must parse, and use nothing that Musth does not have. Keeps
// what it parses to for the judges.
env::Status ParseTexts(Plan* plan) {
  auto parse = [](PlanStatement& statement) -> env::Status {
    if (statement.statement.has_value() || statement.sql.empty()) return {};
    env::Result<std::vector<engine::Statement>> parsed =
        engine::ParseSql(statement.sql);
    if (!parsed.ok()) {
      return env::Status(
          env::Code::kInvalid,
          fmt::format("{}: {}", statement.source, parsed.status().message()));
    }
    statement.parsed = std::make_shared<const std::vector<engine::Statement>>(
        std::move(parsed).value());
    return {};
  };
  for (PlanStatement& statement : plan->setup) {
    RETURN_IF_ERROR(parse(statement));
  }
  for (PlanSession& session : plan->sessions) {
    for (PlanTransaction& transaction : session.transactions) {
      for (PlanStatement& statement : transaction.statements) {
        RETURN_IF_ERROR(parse(statement));
      }
    }
  }
  return {};
}

env::Result<Plan> MakePlan(const RunSpec& spec, const faults::Knobs& knobs,
                           sim::Choices& choices) {
  sim::Scope scope = sim::Scope().Child("w0").Child("plan");
  if (!spec.sessions.empty()) {
    return SessionPlan(spec.sessions, spec.setup_name, spec.setup_sql);
  }
  if (!spec.scripts.empty()) {
    PgbenchKnobs pgbench = DrawPgbenchKnobs(choices, scope);
    pgbench.sessions = static_cast<uint32_t>(knobs.sessions);
    pgbench.transactions = static_cast<uint32_t>(knobs.txns);
    ASSIGN_OR_RETURN(Plan plan,
                     GeneratePgbenchPlan(choices, scope, pgbench, spec.scripts,
                                         spec.setup_name, spec.setup_sql));
    RETURN_IF_ERROR(ParseTexts(&plan));
    return plan;
  }
  PlanKnobs plan_knobs = DrawPlanKnobs(choices, scope);
  plan_knobs.sessions = static_cast<uint32_t>(knobs.sessions);
  plan_knobs.rows = static_cast<uint32_t>(knobs.rows);
  plan_knobs.transactions = static_cast<uint32_t>(knobs.txns);
  plan_knobs.async_percent =
      static_cast<uint32_t>(100 - knobs.synchronous_commit_percent);
  auto load = static_cast<faults::BulkLoad>(knobs.bulk_load);
  if (load != faults::BulkLoad::kOff) {
    LoadInBulk(load == faults::BulkLoad::kLongRows, &plan_knobs);
  }
  return GeneratePlan(choices, scope, plan_knobs);
}

env::Result<std::vector<uint8_t>> PlantedBytes(const RunSpec& spec) {
  std::vector<uint8_t> bytes(engine::EngineSites().size(), 0);
  for (const std::string& name : spec.planted) {
    RETURN_IF_ERROR(faults::CheckPlantedName(name));
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (name == engine::EngineSites()[i].name) bytes[i] = 1;
    }
  }
  return bytes;
}

// pgbench's own tables and nothing but its own scripts: the books balance.
Books BooksOf(const RunSpec& spec) {
  if (!spec.sessions.empty()) return spec.books;
  if (spec.scripts.empty() || !spec.setup_sql.empty()) return Books::kNone;
  Books books = Books::kAll;
  for (const ScriptSource& script : spec.scripts) {
    if (!script.text.empty()) return Books::kNone;
    if (script.name == "simple-update") books = Books::kPairs;
  }
  return books;
}

// What the recipe demands in words.
env::Status SetDirections(const RunSpec& spec, RunParts* parts) {
  for (const std::string& direction : spec.directions) {
    RETURN_IF_ERROR(faults::AddDirection(direction, engine::EngineSites(),
                                         &parts->directions));
  }
  // What a recipe demands may come as late as it likes: a drawn quiet tail must
  // not take it away; one that the recipe names may.
  bool named_tail =
      std::any_of(spec.knobs.begin(), spec.knobs.end(),
                  [](const auto& knob) { return knob.first == "quiet_tail"; });
  if (!spec.directions.empty() && !named_tail) parts->knobs.quiet_tail = 0;
  return env::Status();
}

void SetWorld(const RunSpec& spec, const RunOptions& options, RunParts* parts) {
  parts->world.strategy = faults::StrategyOptionsOf(parts->knobs);
  if (!spec.schedule.empty()) {
    parts->world.strategy.kind = sim::StrategyKind::kRecorded;
    parts->world.strategy.schedule = spec.schedule;
  }
  if (options.poison >= 0) {
    parts->world.poison_stacks = true;
    parts->world.poison = static_cast<uint8_t>(options.poison);
  }
}

env::Result<std::unique_ptr<sim::Disk>> FreshDisk(RunContext& context,
                                                  const RunParts& parts) {
  return context.impl().templates.Fresh(
      parts.config, faults::DiskOptionsOf(parts.knobs),
      {static_cast<uint32_t>(parts.knobs.wal_room_bytes),
       static_cast<uint32_t>(parts.knobs.xid_room)});
}

// Lets a strategy that must know it count what the plan does. Requires: the
// plan, config and strategy.
env::Status SetPilot(RunContext& context, const RunSpec& spec,
                     RunParts* parts) {
  if (parts->world.strategy.kind == sim::StrategyKind::kRecorded ||
      !faults::WantsPilot(parts->knobs)) {
    return {};
  }
  PilotParts pilot;
  pilot.seed = spec.seed;
  pilot.base = spec.base;
  pilot.config = parts->config;
  pilot.planted = parts->planted;
  ASSIGN_OR_RETURN(pilot.disk, FreshDisk(context, *parts));
  pilot.plan = &parts->plan;
  pilot.stacks = &context.impl().stacks;
  parts->world.strategy.pilot = RunPilot(std::move(pilot));
  return {};
}

// One run of the spec as it is, without looking at known gaps.
env::Result<RunOutcome> RunOnce(RunContext& context, const RunSpec& spec,
                                const RunOptions& options,
                                faults::Evidence* evidence) {
  sim::Choices choices(spec.seed, spec.base);
  for (const sim::Override& o : spec.overrides) choices.AddOverride(o);
  std::unique_ptr<RunRecorder> recorder;
  if (options.record) {
    recorder = std::make_unique<RunRecorder>(engine::EngineSites());
    choices.SetLog(recorder.get());
  }
  ASSIGN_OR_RETURN(const faults::Profile* profile,
                   faults::ResolveProfile(spec.profile, choices));
  RunParts parts;
  parts.choices = &choices;
  ASSIGN_OR_RETURN(parts.knobs,
                   faults::DrawKnobs(choices, *profile, spec.knobs));
  parts.fault_plan = faults::DrawFaultPlan(choices, *profile);
  parts.books = BooksOf(spec);
  parts.config = ConfigFrom(parts.knobs);
  RETURN_IF_ERROR(SetDirections(spec, &parts));
  parts.fan_out = spec.fan_out;
  ASSIGN_OR_RETURN(parts.planted, PlantedBytes(spec));
  ASSIGN_OR_RETURN(parts.plan, MakePlan(spec, parts.knobs, choices));
  ASSIGN_OR_RETURN(std::vector<std::string> unmatched_edits,
                   ApplyEdits(spec.plan_edits, &parts.plan));
  ASSIGN_OR_RETURN(parts.disk, FreshDisk(context, parts));
  parts.world.choices = &choices;
  parts.world.stacks = &context.impl().stacks;
  SetWorld(spec, options, &parts);
  RETURN_IF_ERROR(SetPilot(context, spec, &parts));
  parts.by_session = !spec.sessions.empty();
  parts.statements = &context.impl().statements;
  parts.keep_crashed = options.export_crashed;
  parts.observers = options.observers;
  std::unique_ptr<sim::TraceWriter> trace;
  if (!options.trace_path.empty()) {
    ASSIGN_OR_RETURN(
        trace, sim::TraceWriter::Create(options.trace_path,
                                        fmt::format("seed {}", spec.seed)));
    parts.trace = trace.get();
  }
  if (recorder != nullptr) {
    recorder->OnPlan(parts.plan, parts.by_session, parts.books);
    recorder->OnKnobs(parts.knobs, profile->name);
    parts.recorder = recorder.get();
    parts.world.record_schedule = parts.world.marks = true;
  }
  RunDriver driver(std::move(parts));
  RunOutcome outcome = driver.Drive();
  if (!driver.setup_status().ok()) return driver.setup_status();
  outcome.unmatched_edits = std::move(unmatched_edits);
  *evidence = driver.evidence();
  evidence->measured = profile->measures;
  if (trace != nullptr) RETURN_IF_ERROR(trace->Finish());
  if (!options.export_dir.empty()) {
    const sim::Disk* disk =
        options.export_crashed ? driver.crashed_disk() : &driver.disk();
    if (disk == nullptr) {
      return env::Status(env::Code::kNotFound,
                         "this run has no crash to export");
    }
    RETURN_IF_ERROR(ExportDisk(*disk, options.export_dir));
  }
  return outcome;
}

using GapRows = std::vector<const faults::ContractRow*>;

// True if the recipe keeps every promise with the options of these rows on.
// evidence is of that run.
env::Result<bool> Closes(RunContext& context, const RunSpec& spec,
                         const GapRows& rows, faults::Evidence* evidence) {
  RunSpec closed = spec;
  for (const faults::ContractRow* row : rows) {
    closed.knobs.emplace_back(row->option, "on");
  }
  ASSIGN_OR_RETURN(RunOutcome again,
                   RunOnce(context, closed, RunOptions(), evidence));
  return again.broken.empty() && again.harness_failure.empty();
}

// The rows whose options together let the recipe keep every promise: one whose
// fault struck, or all such rows, or those and the ones whose faults strike
// once these are closed. Empty: there are none.
env::Result<GapRows> FindGap(RunContext& context, const RunSpec& spec,
                             faults::Evidence evidence) {
  GapRows all;
  for (;;) {
    GapRows more;
    for (const faults::ContractRow& row : faults::Contract()) {
      bool known = std::find(all.begin(), all.end(), &row) != all.end();
      if (row.IsKnownGap() && !known && row.struck(evidence)) {
        more.push_back(&row);
      }
    }
    if (more.empty()) return GapRows();
    for (const faults::ContractRow* row : more) {
      GapRows rows = all;
      rows.push_back(row);
      ASSIGN_OR_RETURN(bool closed, Closes(context, spec, rows, &evidence));
      if (closed) return rows;
    }
    all.insert(all.end(), more.begin(), more.end());
    if (more.size() == 1) continue;  // tried just now
    ASSIGN_OR_RETURN(bool closed, Closes(context, spec, all, &evidence));
    if (closed) return all;
  }
}

// If the broken promise disappears with the options of FindGap's rows, it is
// PostgreSQL's known gap and not a finding.
env::Status ClassifyGaps(RunContext& context, const RunSpec& spec,
                         const faults::Evidence& evidence,
                         RunOutcome* outcome) {
  ASSIGN_OR_RETURN(GapRows rows, FindGap(context, spec, evidence));
  if (rows.empty()) return env::Status();
  outcome->broken.clear();
  for (const faults::ContractRow* row : rows) {
    ++outcome->stats.known_gaps[std::string(row->name)];
  }
  for (auto& [name, family] : outcome->stats.families) {
    family.gap = std::exchange(family.silent, 0);
  }
  return env::Status();
}

// Under a profile that only measures, a promise that breaks after the fault of
// a row that demands nothing is counted and is no finding.
void ClassifyOutside(const faults::Evidence& evidence, RunOutcome* outcome) {
  if (!evidence.measured) return;
  for (const faults::ContractRow& row : faults::Contract()) {
    if (!row.IsOutside(faults::ProfileColumn::kBeyond)) continue;
    if (!row.struck(evidence)) continue;
    outcome->broken.clear();
    ++outcome->stats.outside[std::string(row.name)];
  }
}

}  // namespace

env::Result<RunOutcome> Run(RunContext& context, const RunSpec& spec,
                            const RunOptions& options) {
  env::Unwatched unwatched;
  faults::Evidence evidence;
  ASSIGN_OR_RETURN(RunOutcome outcome,
                   RunOnce(context, spec, options, &evidence));
  if (!outcome.broken.empty()) {
    RETURN_IF_ERROR(ClassifyGaps(context, spec, evidence, &outcome));
  }
  if (!outcome.broken.empty()) {
    ClassifyOutside(evidence, &outcome);
  }
  return outcome;
}

}  // namespace properties
