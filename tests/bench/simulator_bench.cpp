/// Speed of the cluster simulator. Items are jobs; the mean JCT and makespan show that the answer is still
/// right.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>

#include "policies/registry.hpp"
#include "sched/metrics/metrics.hpp"
#include "sched/simulation/decision.hpp"
#include "sched/simulation/simulation.hpp"

namespace vtrain {
namespace {

/// Jobs of a synthetic trace: sizes from a short list, log-uniform durations, Poisson arrivals with a given
/// load.
struct TraceShape {
  int num_jobs;
  int num_gpus;  ///< the cluster's GPUs, for the load
  double load;
  std::uint64_t seed;
};

/// The 64-bit linear congruential generator of Knuth's MMIX, upper 53 bits.
class CongruentialGenerator {
 public:
  explicit CongruentialGenerator(std::uint64_t seed) : state_(seed) {
    for (int i = 0; i < 8; ++i)
      uniform();
  }
  double uniform() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state_ >> 11) / 9007199254740992.0;
  }

 private:
  std::uint64_t state_;
};

/// The trace for which the peers' known answers were computed: gangs up to 32 GPUs, durations from 60 to
/// 40,000 s.
Workload make_trace(const TraceShape& shape) {
  constexpr std::int32_t kSizes[] = {1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 16, 32};
  const double shortest = std::log(60.0);
  const double longest = std::log(40000.0);
  CongruentialGenerator generator(shape.seed);
  Workload workload;
  double gpu_seconds = 0;
  for (int i = 0; i < shape.num_jobs; ++i) {
    Job job;
    job.name = workload.keep(std::to_string(i));
    job.num_gpus = GpuCount(kSizes[static_cast<int>(generator.uniform() * 12)]);
    const auto seconds =
        static_cast<std::int64_t>(std::exp(shortest + generator.uniform() * (longest - shortest)));
    job.duration = std::chrono::seconds(seconds);
    gpu_seconds += static_cast<double>(seconds) * job.num_gpus.value;
    workload.jobs.push_back(job);
  }
  const double mean_gap = gpu_seconds / (shape.load * shape.num_gpus) / shape.num_jobs;
  double time = 0;
  for (Job& job : workload.jobs) {
    job.submit = SimTime(std::chrono::seconds(static_cast<std::int64_t>(time)));
    time += -mean_gap * std::log(1 - generator.uniform());
  }
  return workload;
}

/// Simulation only, without reading, writing and metrics.
void replay(benchmark::State& state, const TraceShape& shape, const std::string& policy,
            PlacementKind placement = PlacementKind::Count, const Disruptions* disruptions = nullptr) {
  const Workload workload = make_trace(shape);
  const ClusterSpec cluster{{NodeGroup{shape.num_gpus / 8, GpuCount(8), ""}}};
  Summary summary;
  for (auto _ : state) {
    auto made = make_policy(policy);
    if (!made) return state.SkipWithError(made.error().describe().c_str());
    SimulationOptions options;
    options.placement = placement;
    options.policy_name = policy;
    options.disruptions = disruptions;
    auto result = simulate(workload, cluster, **made, options);
    if (!result) return state.SkipWithError(result.error().describe().c_str());
    benchmark::DoNotOptimize(result->outcomes.data());
    state.PauseTiming();
    summary = summarize(workload, cluster, *result, policy);
    result = SimulationResult{};
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * shape.num_jobs);
  state.counters["mean_jct_s"] = summary.avg_jct_s;
  state.counters["makespan_s"] = summary.makespan_s;
  state.counters["events"] = static_cast<double>(summary.events);
  state.counters["preemptions"] = static_cast<double>(summary.preemptions);
}

/// Simulation with nodes that fail and jobs that write checkpoints.
void replay_with_failures(benchmark::State& state, const TraceShape& shape, const std::string& policy,
                          const char* mtbf) {
  const ClusterSpec cluster{{NodeGroup{shape.num_gpus / 8, GpuCount(8), ""}}};
  Disruptions disruptions;
  disruptions.failures = FailureRates::parse(std::string("mtbf=") + mtbf, cluster).value();
  disruptions.checkpoints.kind = CheckpointRule::Kind::Daly;
  disruptions.checkpoint_times = CheckpointTimes(std::chrono::seconds(30));
  replay(state, shape, policy, PlacementKind::Yarn, &disruptions);
}

/// Known answer of Batsim 4.1.0: mean turnaround 75161.216440 s, makespan 8264852 s, in 26 s.
constexpr TraceShape kAnchor{100'000, 512, 1.0, 99};
constexpr TraceShape kMillion{1'000'000, 10'240, 0.9, 1};
constexpr TraceShape kBusy{100'000, 1'024, 0.9, 1};

BENCHMARK_CAPTURE(replay, anchor_fifo, kAnchor, "fifo")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, million_fifo, kMillion, "fifo")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, million_fifo_yarn, kMillion, "fifo", PlacementKind::Yarn)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, million_fit_first, kMillion, "fit-first")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay_with_failures, million_fifo_6300h, kMillion, "fifo", "6300h")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay_with_failures, million_fifo_100h, kMillion, "fifo", "100h")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay_with_failures, busy_easy_100h, kBusy, "easy", "100h")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay_with_failures, busy_srtf_100h, kBusy, "srtf", "100h")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, busy_srtf, kBusy, "srtf")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, busy_las, kBusy, "las")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, busy_edf, kBusy, "edf")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, overload_srtf, kAnchor, "srtf")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(replay, overload_las, kAnchor, "las")->Unit(benchmark::kMillisecond);

/// A policy that keeps all jobs running and asks for the next pass a second later.
class GoesOn final : public DecisionPolicy {
 public:
  Decision decide(const PassEvents& events) override {
    Decision decision;
    const auto start = std::chrono::steady_clock::now();
    decision.run.reserve(events.live.size());
    for (const LiveView& live : events.live)
      decision.run.push_back({live.id, {GpuCount(1)}});
    if (!events.live.empty()) decision.wake_at = events.now + std::chrono::seconds(1);
    own_time += std::chrono::steady_clock::now() - start;
    ++num_decisions;
    return decision;
  }
  std::chrono::steady_clock::duration own_time{};
  std::int64_t num_decisions = 0;
};

/// Cost of a decision on values without the policy's own time, with `range(0)` live jobs. The counters are
/// nanoseconds per decision, and per decision and live job.
void decisions(benchmark::State& state) {
  const auto num_live = static_cast<std::int32_t>(state.range(0));
  Workload workload;
  for (std::int32_t i = 0; i < num_live; ++i) {
    Job job;
    job.duration = std::chrono::seconds(2000);
    workload.jobs.push_back(job);
  }
  const auto cluster = ClusterSpec::parse("1x" + std::to_string(num_live)).value();
  double ns = 0;
  double decisions = 0;
  for (auto each : state) {
    GoesOn policy;
    const auto start = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(simulate(workload, cluster, policy, {}));
    const auto took = std::chrono::steady_clock::now() - start - policy.own_time;
    ns += std::chrono::duration<double, std::nano>(took).count();
    decisions += static_cast<double>(policy.num_decisions);
  }
  state.counters["ns_per_decision"] = ns / decisions;
  state.counters["ns_per_live_job"] = ns / decisions / num_live;
}
BENCHMARK(decisions)->Arg(1)->Arg(10)->Arg(100)->Arg(1000)->Arg(5000)->Unit(benchmark::kMillisecond);

/// Cost of steps to the next event, compared with one replay: `range(0)` is 1 for steps.
void steps(benchmark::State& state) {
  for (auto each : state) {
    auto policy = make_policy("fifo");
    auto simulation =
        Simulation::begin(make_trace(kAnchor), ClusterSpec::parse("64x8").value(), **policy, {});
    if (state.range(0) == 1) {
      while (const auto next = simulation->next_event())
        benchmark::DoNotOptimize(simulation->run_until(*next));
    }
    benchmark::DoNotOptimize(simulation->finish());
  }
}
BENCHMARK(steps)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace vtrain
