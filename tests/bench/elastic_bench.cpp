/// Speed of the policies that resize jobs. The deadlines met show that the answer is still right.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rng.hpp"
#include "policies/registry.hpp"
#include "sched/metrics/metrics.hpp"
#include "sched/simulation/simulation.hpp"

namespace vtrain {
namespace {

constexpr std::int32_t kGpus = 1024;

/// 32 models that run on 3 to 8 powers of two, from 1, 2, 4 or 8 GPUs. Every doubling of GPUs multiplies the
/// speed by 1.4 to 2.
void add_models(Workload& workload, RandomStream& random) {
  for (int model = 0; model < 32; ++model) {
    std::vector<SpeedByGpus::Level> levels;
    double speed = random.uniform(0.02, 0.5);
    const int first = model % 4;
    const int last = std::min(first + 3 + static_cast<int>(random.below(5)), 9);
    for (int power = first; power <= last; ++power) {
      levels.push_back({GpuCount(1 << power), speed});
      speed *= random.uniform(1.4, 2.0);
    }
    workload.curves.emplace_back(std::move(levels));
  }
}

/// A job that takes `seconds` on the GPUs that it requests, with a deadline after 0.5 to 1.5 times that.
Job make_job(Workload& workload, RandomStream& random, double submit_s, double seconds) {
  Job job;
  job.name = workload.keep(std::to_string(workload.jobs.size()));
  job.submit = SimTime(std::chrono::milliseconds(std::llround(submit_s * 1e3)));
  job.curve = CurveId(static_cast<std::uint32_t>(random.below(32)));
  const auto levels = workload.curves[job.curve.value].levels();
  const SpeedByGpus::Level asked = levels[random.below(std::min<std::size_t>(levels.size(), 3))];
  job.num_gpus = asked.num_gpus;
  job.iterations = std::max<std::int64_t>(1, std::llround(seconds * asked.iterations_per_s));
  const double exact = static_cast<double>(job.iterations) / asked.iterations_per_s;
  job.duration = to_sim_duration(Nanoseconds(exact * 1e9));
  job.deadline = job.submit + to_sim_duration(Nanoseconds(exact * random.uniform(0.5, 1.5) * 1e9));
  return job;
}

/// A trace with log-uniform durations from ten minutes to a day, and Poisson arrivals with this offered load.
Workload loaded_trace(int num_jobs, double load) {
  Workload workload;
  RandomStream random(1, "loaded trace");
  add_models(workload, random);
  double gpu_seconds = 0;
  for (int i = 0; i < num_jobs; ++i) {
    workload.jobs.push_back(
        make_job(workload, random, 0, std::exp(random.uniform(std::log(600.), std::log(86400.)))));
    gpu_seconds += to_seconds(workload.jobs.back().duration) * workload.jobs.back().num_gpus.value;
  }
  const double gap = gpu_seconds / (load * kGpus) / num_jobs;
  double time = 0;
  for (Job& job : workload.jobs) {
    const SimTime submit{std::chrono::milliseconds(std::llround(time * 1e3))};
    job.deadline = submit + (job.deadline - job.submit);
    job.submit = submit;
    time += random.exponential(gap);
  }
  return workload;
}

/// `num_active` jobs that run for days, and 200 short jobs, one every five minutes.
Workload standing_trace(int num_active) {
  Workload workload;
  RandomStream random(1, "standing trace");
  add_models(workload, random);
  constexpr double kDay = 86400;
  for (int i = 0; i < num_active; ++i) {
    Job job = make_job(workload, random, 0, kDay);
    // So much time that all of them can be admitted, and none ends before the others have come.
    job.deadline = job.submit + std::chrono::hours(24 * 400);
    job.iterations *= 100;
    job.duration *= 100;
    workload.jobs.push_back(job);
  }
  for (int i = 0; i < 200; ++i)
    workload.jobs.push_back(make_job(workload, random, 300.0 * (i + 1), 600));
  return workload;
}

/// Simulation only.
void replay(benchmark::State& state, const Workload& workload, const std::string& policy) {
  const ClusterSpec cluster{{NodeGroup{kGpus / 8, GpuCount(8), ""}}};
  Summary summary;
  for (auto _ : state) {
    auto made = make_policy(policy);
    if (!made) return state.SkipWithError(made.error().describe().c_str());
    auto result = simulate(workload, cluster, **made, {.policy_name = policy});
    if (!result) return state.SkipWithError(result.error().describe().c_str());
    state.PauseTiming();
    summary = summarize(workload, cluster, *result, policy);
    result = SimulationResult{};
    state.ResumeTiming();
  }
  state.counters["events"] = static_cast<double>(summary.events);
  state.counters["s_per_event"] =
      benchmark::Counter(static_cast<double>(summary.events),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["met"] = summary.deadline_satisfactory_ratio.value_or(-1);
}

/// Replay of 100,000 jobs; the argument is the load in percent.
void hundred_thousand(benchmark::State& state, const std::string& policy) {
  replay(state, loaded_trace(100'000, static_cast<double>(state.range(0)) / 100), policy);
}
BENCHMARK_CAPTURE(hundred_thousand, elasticflow, "elasticflow")
    ->Arg(50)
    ->Arg(70)
    ->Arg(90)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);
BENCHMARK_CAPTURE(hundred_thousand, deadline, "deadline")
    ->Arg(50)
    ->Arg(90)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);
BENCHMARK_CAPTURE(hundred_thousand, edf, "edf")->Arg(50)->Arg(90)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(hundred_thousand, las, "las")->Arg(50)->Arg(90)->Unit(benchmark::kMillisecond);

/// Cost by number of active jobs.
void active_jobs(benchmark::State& state, const std::string& policy) {
  replay(state, standing_trace(static_cast<int>(state.range(0))), policy);
}
BENCHMARK_CAPTURE(active_jobs, elasticflow, "elasticflow")
    ->RangeMultiplier(2)
    ->Range(16, 512)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);
BENCHMARK_CAPTURE(active_jobs, edf, "edf")->RangeMultiplier(2)->Range(16, 512)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(active_jobs, edf_admission, "edf-admission")
    ->RangeMultiplier(2)
    ->Range(16, 512)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

/// Cost by number of jobs at twice the load that the cluster can serve, so that the queue grows.
void overloaded(benchmark::State& state, const std::string& policy) {
  replay(state, loaded_trace(static_cast<int>(state.range(0)), 2), policy);
}
BENCHMARK_CAPTURE(overloaded, elasticflow, "elasticflow")
    ->Arg(2'500)
    ->Arg(10'000)
    ->Arg(40'000)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);
BENCHMARK_CAPTURE(overloaded, elasticflow_edf, "elasticflow-edf")
    ->Arg(2'500)
    ->Arg(10'000)
    ->Arg(40'000)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);
BENCHMARK_CAPTURE(overloaded, elasticflow_las, "elasticflow-las")
    ->Arg(2'500)
    ->Arg(10'000)
    ->Arg(40'000)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
}  // namespace vtrain
