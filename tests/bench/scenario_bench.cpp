/// Costs of scenarios: preparing one, and running one more policy on it.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tools/experiment/scenario.hpp"

namespace vtrain {
namespace {

/// The embedded default: a generated day of LLM jobs on 128 A100. Except in the first run, iteration times
/// are in the user's cache.
Scenario prepared() {
  ScenarioSpec spec;
  spec.policies = {"fifo", "srtf"};
  std::vector<std::string> warnings;
  auto scenario = Scenario::prepare(spec, warnings);
  if (!scenario) std::abort();
  return *std::move(scenario);
}

void prepare_generated_day(benchmark::State& state) {
  std::size_t jobs = 0;
  for (auto _ : state)
    jobs = prepared().workload().jobs.size();
  state.counters["jobs"] = static_cast<double>(jobs);
}
BENCHMARK(prepare_generated_day)->Unit(benchmark::kMillisecond);

void run_policy_on_prepared_day(benchmark::State& state) {
  const Scenario scenario = prepared();
  double jct_s = 0;
  for (auto _ : state)
    jct_s = scenario.run("srtf")->summary.avg_jct_s;
  state.counters["avg_jct_s"] = jct_s;
}
BENCHMARK(run_policy_on_prepared_day)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace vtrain
