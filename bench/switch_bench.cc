// What a switch between tasks costs: strategy, choice, event and hash included.
#include <benchmark/benchmark.h>

#include "sim/choices.h"
#include "sim/env/env.h"
#include "sim/fiber.h"
#include "sim/world.h"

namespace {

constexpr env::SiteInfo kSites[] = {
    {"bench_yield", env::SiteKind::kYield, "the measured point"},
};

// Runs `tasks` tasks that do nothing but yield; reports the time per yield.
void Yields(benchmark::State& state, const sim::StrategyOptions& strategy,
            int tasks, sim::CrashHooks* hooks) {
  sim::Choices choices(42);
  sim::StackPool stacks;
  uint64_t operations = 0;
  uint64_t switches = 0;
  for (auto _ : state) {
    sim::WorldOptions options;
    options.choices = &choices;
    options.strategy = strategy;
    options.stacks = &stacks;
    sim::World world(options);
    env::HostId host = world.AddHost(kSites, {});
    world.set_crash_hooks(hooks);
    env::Tasks* env_tasks = world.env(host).tasks;
    for (int i = 0; i < tasks; ++i) {
      world.SpawnRoot(host, "task", [env_tasks, tasks, i] {
        for (int k = 0; k < 1'000'000 / tasks; ++k) {
          auto resource = static_cast<uint64_t>((k + i) % 4);
          env_tasks->Yield(0, env::Access::Numbered(resource, k % 2 == 0));
        }
      });
    }
    world.Run();
    operations += world.sync_ops();
    switches += world.switches();
    benchmark::DoNotOptimize(world.hash());
  }
  state.counters["per_yield"] = benchmark::Counter(
      static_cast<double>(operations),
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["switched"] =
      static_cast<double>(switches) / static_cast<double>(operations);
}

// Every yield switches: the price of a switch.
void RandomWalkSwitch(benchmark::State& state) {
  sim::StrategyOptions strategy;
  strategy.switch_denominator = 1;
  Yields(state, strategy, static_cast<int>(state.range(0)), nullptr);
}
BENCHMARK(RandomWalkSwitch)
    ->Arg(2)
    ->Arg(4)
    ->Arg(8)
    ->Arg(16)
    ->Unit(benchmark::kMillisecond);

// Ranks, an access at each point, and as many switches as the strategy makes of
// it: every task works on the same few resources.
void Ranked(benchmark::State& state, sim::StrategyKind kind) {
  sim::StrategyOptions strategy;
  strategy.kind = kind;
  strategy.switch_denominator = 1;
  strategy.depth = 3;
  int tasks = static_cast<int>(state.range(0));
  for (int i = 0; i < tasks; ++i) {
    strategy.pilot.Add(env::SiteHash("task"), env::AccessGroup::kOther,
                       static_cast<uint64_t>(1'000'000 / tasks));
  }
  if (kind == sim::StrategyKind::kPct) strategy.max_run = 1;  // to switch
  Yields(state, strategy, tasks, nullptr);
}
void Pos(benchmark::State& state) { Ranked(state, sim::StrategyKind::kPos); }
void Pct(benchmark::State& state) { Ranked(state, sim::StrategyKind::kPct); }
void Surw(benchmark::State& state) { Ranked(state, sim::StrategyKind::kSurw); }
BENCHMARK(Pos)->Arg(4)->Arg(8)->Arg(16)->Unit(benchmark::kMillisecond);
BENCHMARK(Pct)->Arg(4)->Arg(8)->Arg(16)->Unit(benchmark::kMillisecond);
BENCHMARK(Surw)->Arg(4)->Arg(8)->Arg(16)->Unit(benchmark::kMillisecond);

// One yield in eight switches: what a campaign sees.
void RandomWalkStay(benchmark::State& state) {
  sim::StrategyOptions strategy;
  strategy.switch_denominator = 8;
  Yields(state, strategy, static_cast<int>(state.range(0)), nullptr);
}
BENCHMARK(RandomWalkStay)->Arg(4)->Arg(16)->Unit(benchmark::kMillisecond);

void RoundRobin(benchmark::State& state) {
  sim::StrategyOptions strategy;
  strategy.kind = sim::StrategyKind::kRoundRobin;
  Yields(state, strategy, static_cast<int>(state.range(0)), nullptr);
}
BENCHMARK(RoundRobin)->Arg(8)->Unit(benchmark::kMillisecond);

// Nobody else can run: the floor that the engine pays at each yield point.
void Alone(benchmark::State& state) {
  Yields(state, sim::StrategyOptions(), 1, nullptr);
}
BENCHMARK(Alone)->Unit(benchmark::kMillisecond);

class NeverCrash final : public sim::CrashHooks {
 public:
  sim::CrashKind OnPoint(const sim::CrashPoint& point) override {
    benchmark::DoNotOptimize(point.step);
    return sim::CrashKind::kNone;
  }
};

void RandomWalkSwitchWithCrashHooks(benchmark::State& state) {
  NeverCrash hooks;
  sim::StrategyOptions strategy;
  strategy.switch_denominator = 1;
  Yields(state, strategy, 8, &hooks);
}
BENCHMARK(RandomWalkSwitchWithCrashHooks)->Unit(benchmark::kMillisecond);

// A world with one task, built, run and destroyed.
void SmallestWorld(benchmark::State& state) {
  sim::Choices choices(42);
  sim::StackPool stacks;
  for (auto _ : state) {
    sim::WorldOptions options;
    options.choices = &choices;
    options.stacks = &stacks;
    sim::World world(options);
    world.SpawnRoot(world.AddHost(kSites, {}), "task", [] {});
    world.Run();
    benchmark::DoNotOptimize(world.hash());
  }
}
BENCHMARK(SmallestWorld)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
