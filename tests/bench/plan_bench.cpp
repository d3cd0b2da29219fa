// Plan searches: time of a search, and of one plan by pipeline depth and micro-batches.
#include <benchmark/benchmark.h>

#include "core/profile/gpu_profile.hpp"
#include "workloads/model/zoo.hpp"
#include "workloads/search/plan_search.hpp"
#include "workloads/search/plan_timer.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {
namespace {

const GpuProfile& a100() {
  static const GpuProfile profile = load_gpu_profile("a100").value();
  return profile;
}

/// Repeats a search whose layer costs are known. Plans per second include plans that memory and bounds
/// exclude; `timed` are plans whose pipeline was timed.
void repeat_search(benchmark::State& state, const char* model_name, std::int32_t num_gpus,
                   const char* stack_name) {
  const ZooModel model = find_model(model_name).value();
  PlanSearch search(model.model(), a100(), find_stack(stack_name).value());
  const PlanSearchOptions options{.top = static_cast<std::size_t>(state.range(0))};
  std::int64_t num_plans = 0;
  PlanSearchResult result = search.find(GpuCount(num_gpus), model.global_batch, options).value();
  for (auto _ : state) {
    result = search.find(GpuCount(num_gpus), model.global_batch, options).value();
    num_plans += result.num_plans;
  }
  state.counters["plans_per_s"] =
      benchmark::Counter(static_cast<double>(num_plans), benchmark::Counter::kIsRate);
  state.counters["plans"] = static_cast<double>(result.num_plans);
  state.counters["fitting"] = static_cast<double>(result.num_fitting);
  state.counters["timed"] = static_cast<double>(result.num_timed);
}

/// Argument: number of wanted plans, 0 for all.
void search_mtnlg(benchmark::State& state, const char* stack) {
  repeat_search(state, "mtnlg-530b", 3360, stack);
}
BENCHMARK_CAPTURE(search_mtnlg, megatron_2021, "megatron-2021")
    ->Arg(3)
    ->Arg(0)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(search_mtnlg, megatron_core, "megatron-core")
    ->Arg(3)
    ->Arg(0)
    ->Unit(benchmark::kMillisecond);

void search_gpt3_175b(benchmark::State& state, const char* stack) {
  repeat_search(state, "gpt3-175b", 1024, stack);
}
BENCHMARK_CAPTURE(search_gpt3_175b, megatron_core, "megatron-core")
    ->Arg(3)
    ->Arg(0)
    ->Unit(benchmark::kMillisecond);

/// A search without known layer costs, as in a command.
void search_cold(benchmark::State& state) {
  const ZooModel model = find_model("gpt3-175b").value();
  for (auto _ : state) {
    PlanSearch search(model.model(), a100(), find_stack("megatron-core").value());
    benchmark::DoNotOptimize(search.find(GpuCount(1024), model.global_batch, {.top = 0}));
  }
}
BENCHMARK(search_cold)->Unit(benchmark::kMillisecond);

/// Plan of MT-NLG 530B; arguments: stages and micro-batches.
ParallelPlan deep_plan(const benchmark::State& state) {
  return {.tensor = 8,
          .data = 1,
          .pipeline = state.range(0),
          .global_batch = state.range(1),
          .micro_batch = 1,
          .recompute = Recompute::Full,
          .sequence_parallel = true,
          .precision = Precision::Bf16};
}

void depths_and_micro_batches(benchmark::internal::Benchmark* benchmark) {
  for (const std::int64_t stages : {1, 5, 21, 35, 105}) {
    for (const std::int64_t micro_batches : {1, 24, 160, 480, 1920})
      benchmark->Args({stages, micro_batches});
  }
}

void time_plan(benchmark::State& state, const char* stack) {
  PlanTimer timer(find_model("mtnlg-530b")->model(), a100(), find_stack(stack).value());
  const ParallelPlan plan = deep_plan(state);
  for (auto _ : state) {
    timer.select(plan);
    benchmark::DoNotOptimize(timer.iteration());
  }
}
BENCHMARK_CAPTURE(time_plan, held_sends, "megatron-2021")
    ->Apply(depths_and_micro_batches)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(time_plan, latency, "megatron-core")
    ->Apply(depths_and_micro_batches)
    ->Unit(benchmark::kMicrosecond);

void bound_plan(benchmark::State& state) {
  PlanTimer timer(find_model("mtnlg-530b")->model(), a100(), find_stack("megatron-core").value());
  const ParallelPlan plan = deep_plan(state);
  for (auto _ : state) {
    timer.select(plan);
    benchmark::DoNotOptimize(timer.lower_bound());
  }
}
BENCHMARK(bound_plan)->Apply(depths_and_micro_batches)->Unit(benchmark::kMicrosecond);

void check_memory(benchmark::State& state) {
  const TransformerModel model = find_model("mtnlg-530b")->model();
  const ParallelPlan plan = deep_plan(state);
  const Stack stack = find_stack("megatron-core").value();
  for (auto _ : state)
    benchmark::DoNotOptimize(estimate_memory(model, plan, a100(), stack.memory));
}
BENCHMARK(check_memory)->Args({1, 160})->Args({35, 160})->Args({105, 1920})->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace vtrain
