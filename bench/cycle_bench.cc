// Crash-recover-check cycles: the price of one crash with all that follows.
//
// A tiny scope: two sessions, three rows, power losses, recovery, inspection by
// SQL and all oracles. The figure is time per crash, everything included.
#include <benchmark/benchmark.h>

#include "properties/run.h"
#include "replay/keep_heap.h"

namespace {

void BM_CrashRecoverCheckCycle(benchmark::State& state) {
  properties::RunContext context;
  properties::RunSpec spec;
  spec.knobs = {{"sessions", "2"},
                {"rows", "3"},
                {"txns", "3"},
                {"wal_segment_size", "64K"},
                {"shared_buffers", "16"}};
  uint64_t crashes = 0;
  uint64_t steps = 0;
  for (auto _ : state) {
    ++spec.seed;
    auto outcome = properties::Run(context, spec, {});
    if (!outcome.ok() || !outcome->broken.empty()) {
      state.SkipWithError("the run failed");
      return;
    }
    crashes += outcome->stats.crashes;
    steps += outcome->stats.steps;
  }
  state.counters["crashes/s"] = benchmark::Counter(static_cast<double>(crashes),
                                                   benchmark::Counter::kIsRate);
  state.counters["s/cycle"] = benchmark::Counter(
      static_cast<double>(crashes),
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["steps/s"] = benchmark::Counter(static_cast<double>(steps),
                                                 benchmark::Counter::kIsRate);
}
BENCHMARK(BM_CrashRecoverCheckCycle)->Unit(benchmark::kMillisecond);

}  // namespace

int main(int argc, char** argv) {
  replay::KeepHeap();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
