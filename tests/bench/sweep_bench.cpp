/// Costs of a sweep without its replays: rows of results, hand-outs, messages between ranks.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/rng.hpp"
#include "tools/sweep/hand_out.hpp"
#include "tools/sweep/rank_message.hpp"
#include "tools/sweep/result_columns.hpp"
#include "tools/sweep/result_store.hpp"

namespace vtrain {
namespace {

/// A grid of 4,000 runs for each value of an option.
Grid grid_of(std::int64_t variants) {
  ScenarioSpec spec;
  spec.seeds = "1-1000";
  spec.policies = {"fifo", "easy", "srtf", "edf"};
  spec.vary = {"load=1", "placement=count,consolidate"};
  for (std::int64_t i = 1; i < variants / 2; ++i)
    spec.vary.front() += "," + std::to_string(1 + i);
  auto grid = Grid::make(spec);
  if (!grid) std::abort();
  return *std::move(grid);
}

/// A run with values of the size that real ones have; `share` of them exist.
FinishedRun random_run(std::int64_t run, double share, RandomStream& random) {
  FinishedRun finished{.run = run};
  for (const auto& column : metric_columns()) {
    const double number = random.uniform() * 1000;
    const double value = is_whole(*column.metric) ? std::floor(number) : number;
    finished.metrics.push_back(random.uniform() < share ? value : std::nan(""));
  }
  return finished;
}

/// Rows of results, a transaction for each 10,000, with all metrics.
void store_runs(benchmark::State& state) {
  const Grid grid = grid_of(state.range(0) / 4000);
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "vtrain-sweep-bench.sqlite";
  std::vector<FinishedRun> runs;
  RandomStream random(1);
  for (int i = 0; i < 10'000; ++i)
    runs.push_back(random_run(1, 1, random));
  for (auto _ : state) {
    auto store = ResultStore::open(file, grid, {.spec = grid.text(), .program = "bench"}, true);
    if (!store) std::abort();
    for (std::int64_t run = 1; run <= grid.num_runs(); ++run) {
      FinishedRun& finished = runs[static_cast<std::size_t>(run) % runs.size()];
      finished.run = run;
      if (!store->add(finished)) std::abort();
      if (run % 10'000 == 0 && !store->commit()) std::abort();
    }
    if (!store->close()) std::abort();
  }
  state.SetItemsProcessed(state.iterations() * grid.num_runs());
  state.counters["bytes/run"] =
      static_cast<double>(std::filesystem::file_size(file)) / static_cast<double>(grid.num_runs());
  std::filesystem::remove(file);
}
BENCHMARK(store_runs)->Arg(40'000)->Arg(1'000'000)->Iterations(1)->Unit(benchmark::kMillisecond);

/// All hand-outs of a grid to 10,000 ranks, with what rank 0 learns; the runs take 50 ms.
void hand_out_to_10000_ranks(benchmark::State& state) {
  const Grid grid = grid_of(state.range(0) / 4000);
  const std::vector<bool> finished(static_cast<std::size_t>(grid.num_runs()) + 1);
  std::int64_t batches = 0;
  for (auto _ : state) {
    HandOut hand_out(grid, finished, {}, 10'000);
    batches = 0;
    for (auto batch = hand_out.next(); !batch.empty(); batch = hand_out.next()) {
      ++batches;
      for (const std::int64_t run : batch)
        hand_out.learn(run, 0.05);
    }
  }
  state.SetItemsProcessed(state.iterations() * grid.num_runs());
  state.counters["runs/batch"] = static_cast<double>(grid.num_runs()) / static_cast<double>(batches);
}
BENCHMARK(hand_out_to_10000_ranks)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

/// Reports of ten runs, packed and read again.
void pack_reports(benchmark::State& state) {
  RandomStream random(1);
  WorkerReport report{.wants_more = true};
  for (int i = 0; i < 10; ++i)
    report.runs.push_back({.finished = random_run(i, 1, random)});
  std::size_t bytes = 0;
  for (auto _ : state) {
    const std::string message = pack_report(report);
    bytes = message.size();
    benchmark::DoNotOptimize(unpack_report(message));
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(pack_reports);

}  // namespace
}  // namespace vtrain
