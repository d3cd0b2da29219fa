// Time of one prediction of the physical semantics.
#include <benchmark/benchmark.h>

#include "core/profile/gpu_profile.hpp"
#include "workloads/iteration/iteration_times.hpp"
#include "workloads/layers/layer_cost.hpp"
#include "workloads/layers/layer_shape.hpp"
#include "workloads/model/zoo.hpp"
#include "workloads/physical/memory_model.hpp"
#include "workloads/physical/physical_predictor.hpp"
#include "workloads/predict.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {
namespace {

const ParallelPlan kMtNlgPlan{
    .tensor = 8, .data = 12, .pipeline = 35, .global_batch = 1920, .micro_batch = 1};

void layer_cost(benchmark::State& state) {
  const GpuProfile profile = load_gpu_profile("a100").value();
  const TransformerModel model = find_model("mtnlg-530b")->model();
  for (auto _ : state)
    benchmark::DoNotOptimize(layer_costs(model, layer_key(kMtNlgPlan), profile, default_stack(profile)));
}
BENCHMARK(layer_cost)->Unit(benchmark::kMicrosecond);

void predict_mtnlg(benchmark::State& state) {
  const GpuProfile profile = load_gpu_profile("a100").value();
  const TransformerModel model = find_model("mtnlg-530b")->model();
  for (auto _ : state) {
    const auto prediction = predict_physical(model, kMtNlgPlan, profile, default_stack(profile));
    benchmark::DoNotOptimize(fast_iteration_times(prediction->work));
  }
}
BENCHMARK(predict_mtnlg)->Unit(benchmark::kMicrosecond);

/// The prediction of MT-NLG through `predict`, with sources and remarks as data.
void predict_mtnlg_by_entry(benchmark::State& state) {
  const Target target = resolve_target({.profile = "a100"}).value();
  const TransformerModel model = find_model("mtnlg-530b")->model();
  for (auto _ : state)
    benchmark::DoNotOptimize(predict(model, kMtNlgPlan, target));
}
BENCHMARK(predict_mtnlg_by_entry)->Unit(benchmark::kMicrosecond);

void memory_mtnlg(benchmark::State& state) {
  const GpuProfile profile = load_gpu_profile("a100").value();
  const TransformerModel model = find_model("mtnlg-530b")->model();
  for (auto _ : state)
    benchmark::DoNotOptimize(estimate_memory(model, kMtNlgPlan, profile));
}
BENCHMARK(memory_mtnlg)->Unit(benchmark::kNanosecond);

void memory_deepseek_v3(benchmark::State& state) {
  const GpuProfile profile = load_gpu_profile("a100").value();
  const TransformerModel model = find_model("deepseek-v3")->model();
  const ParallelPlan plan{.data = 64,
                          .pipeline = 16,
                          .global_batch = 15360,
                          .micro_batch = 1,
                          .expert = 64,
                          .sharding = Sharding::Optimizer,
                          .precision = Precision::Fp8,
                          .ends_count_as_layers = true};
  for (auto _ : state)
    benchmark::DoNotOptimize(estimate_memory(model, plan, profile, kMegatronCoreMemory));
}
BENCHMARK(memory_deepseek_v3)->Unit(benchmark::kNanosecond);

}  // namespace
}  // namespace vtrain
