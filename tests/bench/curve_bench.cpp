// Throughput curves: making one, and giving jobs their run times and curves once iteration times are known.
#include <benchmark/benchmark.h>

#include <array>
#include <string>

#include "core/base/rng.hpp"
#include "core/profile/gpu_profile.hpp"
#include "workloads/pricing/curves_by_type.hpp"
#include "workloads/pricing/elastic_jobs.hpp"
#include "workloads/pricing/job_pricing.hpp"
#include "workloads/pricing/plan_cache.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {
namespace {

constexpr GpuCount kCluster{1024};

/// Time of a curve up to 1,024 GPUs without known iteration times.
void curve_of(benchmark::State& state, const char* model, CurveKind kind) {
  const GpuProfile profile = load_gpu_profile("a100").value();
  for (auto _ : state) {
    PlanCache curves(profile, {.kind = kind});
    benchmark::DoNotOptimize(curves.curve(model, 0, kCluster));
  }
}
BENCHMARK_CAPTURE(curve_of, gpt3_1_3b, "gpt3-1.3b", CurveKind::BestPlan)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(curve_of, gpt3_175b, "gpt3-175b", CurveKind::BestPlan)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(curve_of, gpt3_175b_data_parallel, "gpt3-175b", CurveKind::DataParallel)
    ->Unit(benchmark::kMillisecond);

/// Jobs of four models at three batches and sizes, without durations.
Workload made_up_jobs(std::int64_t num_jobs) {
  constexpr std::array<const char*, 4> kModels = {"gpt3-1.3b", "gpt3-6.7b", "megatron-7.5b", "gpt3-13b"};
  constexpr std::array<std::int32_t, 3> kBatches = {128, 256, 512};
  constexpr std::array<std::int32_t, 3> kSizes = {8, 16, 32};
  Workload workload;
  RandomStream random(1, "jobs");
  for (std::int64_t i = 0; i < num_jobs; ++i) {
    Job job;
    job.name = workload.keep(std::to_string(i));
    job.model = workload.model(kModels[random.below(kModels.size())]);
    job.global_batch = kBatches[random.below(kBatches.size())];
    job.num_gpus = GpuCount(kSizes[random.below(kSizes.size())]);
    job.iterations = 1 + static_cast<std::int64_t>(random.below(1000));
    workload.jobs.push_back(job);
  }
  return workload;
}

/// Argument: jobs. Every iteration time is known, as with a warm cache.
void price_and_make_elastic(benchmark::State& state) {
  Workload workload = made_up_jobs(state.range(0));
  PlanCache curves(load_gpu_profile("a100").value());
  for (auto _ : state) {
    for (Job& job : workload.jobs) {
      job.duration = {};
      job.curve = {};
    }
    workload.curves.clear();
    if (!price_jobs(workload, curves) || !make_elastic(workload, {curves, kCluster}, {.strict = true}))
      state.SkipWithError("a job without a plan");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(price_and_make_elastic)->Arg(1'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace vtrain
