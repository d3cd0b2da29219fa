/// Speed of the backfilling policies. Items are jobs; mean JCT and longest queue show the amount of work.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/rng.hpp"
#include "policies/registry.hpp"
#include "sched/simulation/simulation.hpp"

namespace vtrain {
namespace {

/// Jobs of 1 to 32 GPUs, durations log-uniform from 60 to 40,000 s, Poisson arrivals. With `over`, the
/// requested time is up to ten times the duration; otherwise there is none.
Workload make_trace(int num_jobs, int num_gpus, double load, bool over) {
  constexpr std::int32_t kSizes[] = {1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 16, 32};
  RandomStream random(1);
  Workload workload;
  double gpu_seconds = 0;
  for (int i = 0; i < num_jobs; ++i) {
    Job job;
    job.name = workload.keep(std::to_string(i));
    job.num_gpus = GpuCount(kSizes[random.below(12)]);
    const auto seconds =
        static_cast<std::int64_t>(std::exp(random.uniform(std::log(60.0), std::log(40000.0))));
    job.duration = std::chrono::seconds(seconds);
    if (over) job.requested_time = job.duration + seconds * std::chrono::milliseconds(random.below(9000));
    gpu_seconds += static_cast<double>(seconds) * job.num_gpus.value;
    workload.jobs.push_back(job);
  }
  const double mean_gap_s = gpu_seconds / (load * num_gpus) / num_jobs;
  double now_s = 0;
  for (Job& job : workload.jobs) {
    job.submit = SimTime(std::chrono::seconds(static_cast<std::int64_t>(now_s)));
    now_s += random.exponential(mean_gap_s);
  }
  return workload;
}

/// Arguments: jobs, GPUs, load in percent, and 1 if requested times exceed durations.
void run(benchmark::State& state, const char* spec) {
  const auto num_gpus = static_cast<std::int32_t>(state.range(1));
  const Workload workload = make_trace(static_cast<int>(state.range(0)), num_gpus,
                                       static_cast<double>(state.range(2)) / 100, state.range(3) != 0);
  ClusterSpec cluster;
  cluster.groups.push_back({num_gpus / 8, GpuCount(8), ""});
  SimulationResult last;
  for (auto _ : state) {
    const auto policy = make_policy(spec);
    last = simulate(workload, cluster, **policy, {}).value();
  }
  double sum_jct_s = 0;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i)
    sum_jct_s += to_seconds(last.outcomes[i].end - workload.jobs[i].submit);
  std::uint32_t longest_queue = 0;
  for (const ClusterSample& sample : last.samples)
    longest_queue = std::max(longest_queue, sample.waiting_jobs);
  state.counters["mean_jct_s"] = sum_jct_s / static_cast<double>(workload.jobs.size());
  state.counters["longest_queue"] = longest_queue;
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

BENCHMARK_CAPTURE(run, easy_fast, "easy-fast")
    ->Unit(benchmark::kMillisecond)
    ->Args({1'000'000, 10'240, 90, 0})
    ->Args({1'000'000, 10'240, 150, 0})
    ->Args({1'000'000, 10'240, 150, 1});
BENCHMARK_CAPTURE(run, easy, "easy")
    ->Unit(benchmark::kMillisecond)
    ->Args({100'000, 512, 100, 0})
    ->Args({100'000, 512, 100, 1})
    ->Args({1'000'000, 10'240, 150, 1});
BENCHMARK_CAPTURE(run, easy_asc_walltime, "easy:order=asc-walltime")
    ->Unit(benchmark::kMillisecond)
    ->Args({100'000, 512, 100, 1})
    ->Args({1'000'000, 10'240, 150, 1});
BENCHMARK_CAPTURE(run, conservative, "conservative")
    ->Unit(benchmark::kMillisecond)
    ->Args({100'000, 512, 100, 0})
    ->Args({10'000, 512, 100, 1});

}  // namespace
}  // namespace vtrain
