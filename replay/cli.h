// The flags of `musth`, by subcommand. Only the files that include this one
// know CLI11; work is done in the subcommands' own files.
#ifndef MUSTH_REPLAY_CLI_H_
#define MUSTH_REPLAY_CLI_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "replay/exit_codes.h"
#include "replay/report.h"
#include "replay/runner.h"
#include "replay/spec_flags.h"
#include "sim/env/status.h"

namespace replay {

// What a parsed command line asks for; runs after parsing.
using Action = std::function<ExitCode()>;

// Flags shared by several subcommands.
struct CommonFlags {
  SpecFlags spec;
  std::string out_dir = "musth-out";
  std::string poison;  // "00" or "FF"; empty: none
  Invocation invocation;
};

// Runs specs in this process.
Runner MakeRunner();
int Cores();
// Says what is wrong with flags or input.
ExitCode UsageError(const env::Status& status);
void AddSpecFlags(CLI::App* app, SpecFlags* flags);
void AddPoisonFlag(CLI::App* app, std::string* poison);
// -1 if none is wanted. Also poisons this process's heap, which workers
// inherit.
int ApplyPoison(const std::string& poison);

// Each adds a subcommand, whose callback sets *action.
void AddCampaign(CLI::App* musth, const Invocation& invocation, Action* action);
void AddExhaust(CLI::App* musth, const Invocation& invocation, Action* action);
void AddMerge(CLI::App* musth, Action* action);
void AddMutants(CLI::App* musth, const Invocation& invocation, Action* action);
void AddReplay(CLI::App* musth, const Invocation& invocation, Action* action);
void AddShrink(CLI::App* musth, const Invocation& invocation, Action* action);
void AddTrace(CLI::App* musth, Action* action);
void AddExport(CLI::App* musth, Action* action);
void AddCheck(CLI::App* musth, Action* action);
void AddSql(CLI::App* musth, Action* action);

}  // namespace replay

#endif  // MUSTH_REPLAY_CLI_H_
