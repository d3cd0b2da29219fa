// Time of one prediction of the physical semantics and of a plan search.
#include <benchmark/benchmark.h>

#include "workloads/model_zoo.hpp"
#include "workloads/physical_semantics.hpp"

namespace vtrain {
namespace {

const ParallelPlan kMtNlgPlan{
    .tensor = 8, .data = 12, .pipeline = 35, .global_batch = 1920, .micro_batch = 1};

void layer_cost(benchmark::State& state) {
  const GpuProfile profile = load_gpu_profile("a100").value();
  const TransformerModel model = find_model("mtnlg-530b")->model();
  for (auto _ : state)
    benchmark::DoNotOptimize(layer_costs(model, layer_key(kMtNlgPlan), profile, default_stack()));
}
BENCHMARK(layer_cost)->Unit(benchmark::kMicrosecond);

void predict_mtnlg(benchmark::State& state) {
  const GpuProfile profile = load_gpu_profile("a100").value();
  const TransformerModel model = find_model("mtnlg-530b")->model();
  for (auto _ : state) {
    const auto prediction = predict_physical(model, kMtNlgPlan, profile, default_stack());
    benchmark::DoNotOptimize(fast_iteration_times(prediction->work));
  }
}
BENCHMARK(predict_mtnlg)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace vtrain
