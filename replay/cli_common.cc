#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "faults/profile.h"
#include "properties/run.h"
#include "replay/cli.h"

namespace replay {

Runner MakeRunner() {
  auto context = std::make_shared<properties::RunContext>();
  return [context](const properties::RunSpec& spec,
                   const properties::RunOptions& options) {
    return properties::Run(*context, spec, options);
  };
}

int Cores() { return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)); }

ExitCode UsageError(const env::Status& status) {
  fmt::print(stderr, "musth: {}\n", status.message());
  return kExitUsage;
}

void AddSpecFlags(CLI::App* app, SpecFlags* flags) {
  app->add_option("--faults", flags->profile,
                  "fault profile: " + faults::KnownProfiles())
      ->type_name("PROFILE")
      ->capture_default_str();
  app->add_option("--plant", flags->plants,
                  "switch a planted bug on (builds with --config=planted)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app->add_option("--script", flags->scripts,
                  "run this pgbench script instead of the generated workload: "
                  "a file or tpcb-like, simple-update, select-only")
      ->type_name("FILE[@WEIGHT]")
      ->allow_extra_args(false);
  app->add_option("--setup", flags->setup,
                  "SQL to run once before the scripts (default: pgbench's "
                  "tables)")
      ->type_name("FILE.sql");
  app->add_option("--knob", flags->knobs, "set a knob instead of drawing it")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app->add_option("--fan-out", flags->fan_out_images,
                  "look at N more crash images at instants of the run, and go "
                  "on as if nothing had happened")
      ->type_name("N")
      ->check(CLI::Range(0, 100000));
  app->add_option("--fan-out-instants", flags->fan_out_instants,
                  "how many instants of each run")
      ->type_name("N")
      ->check(CLI::Range(0, 10000))
      ->capture_default_str();
  app->add_option("--fan-out-mode", flags->fan_out_mode,
                  "lazy: every cell evenly, as it is read; eager: images from "
                  "the mixture that crashes draw from")
      ->check(CLI::IsMember({"lazy", "eager"}))
      ->capture_default_str();
  app->add_flag("--fan-out-at-crashes", flags->fan_out_at_crashes,
                "also where the run itself crashes");
}

void AddPoisonFlag(CLI::App* app, std::string* poison) {
  app->add_option("--poison", *poison,
                  "fill fresh stacks and heap blocks with this byte")
      ->check(CLI::IsMember({"00", "FF"}));
}

int ApplyPoison(const std::string& poison) {
  if (poison.empty()) return -1;
  int byte = poison == "FF" ? 0xFF : 0x00;
  // glibc fills fresh blocks with the complement of the low byte; a higher bit
  // keeps the setting from being zero, which means off.
  mallopt(M_PERTURB, 0x100 | (byte ^ 0xFF));
  return byte;
}

}  // namespace replay
