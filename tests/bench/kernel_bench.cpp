// Time of one look-up in the tables of a GPU profile. A plan search does millions of them.
#include <benchmark/benchmark.h>

#include "workloads/stack/kernel_cost.hpp"

namespace vtrain {
namespace {

const GpuProfile& h100() {
  static const GpuProfile profile = load_gpu_profile("h100").value();
  return profile;
}

void gemm_between_nodes(benchmark::State& state) {
  GemmShape shape{.m = 5000, .n = 28672, .k = 7680};
  for (auto _ : state) {
    benchmark::DoNotOptimize(shape);
    benchmark::DoNotOptimize(gemm_time(h100(), Precision::Bf16, shape));
  }
}
BENCHMARK(gemm_between_nodes);

void gemm_on_a_node(benchmark::State& state) {
  GemmShape shape{.m = 4096, .n = 8192, .k = 8192};
  for (auto _ : state) {
    benchmark::DoNotOptimize(shape);
    benchmark::DoNotOptimize(gemm_time(h100(), Precision::Fp8, shape));
  }
}
BENCHMARK(gemm_on_a_node);

void gemm_by_the_tile_model(benchmark::State& state) {
  const GpuProfile a100 = load_gpu_profile("a100").value();
  GemmShape shape{.m = 5000, .n = 28672, .k = 7680};
  for (auto _ : state) {
    benchmark::DoNotOptimize(shape);
    benchmark::DoNotOptimize(modelled_gemm_time(a100, Precision::Bf16, shape));
  }
}
BENCHMARK(gemm_by_the_tile_model);

void attention_forward(benchmark::State& state) {
  AttentionShape shape{.sequence = 5000, .queries = 5000, .heads = 24, .head_size = 128};
  for (auto _ : state) {
    benchmark::DoNotOptimize(shape);
    benchmark::DoNotOptimize(attention_forward_time(h100(), AttentionKernel::Flash3, shape));
  }
}
BENCHMARK(attention_forward);

void attention_backward(benchmark::State& state) {
  AttentionShape shape{.sequence = 5000, .queries = 5000, .heads = 24, .head_size = 128};
  for (auto _ : state) {
    benchmark::DoNotOptimize(shape);
    benchmark::DoNotOptimize(attention_backward_time(h100(), AttentionKernel::Flash3, shape));
  }
}
BENCHMARK(attention_backward);

void collective_within_a_node(benchmark::State& state) {
  Bytes size(3e7);
  for (auto _ : state) {
    benchmark::DoNotOptimize(size);
    benchmark::DoNotOptimize(
        collective_time(h100(), Collective::AllGather, {8, 8}, size, Libraries::Current));
  }
}
BENCHMARK(collective_within_a_node);

void collective_across_nodes(benchmark::State& state) {
  Bytes size(3e7);
  for (auto _ : state) {
    benchmark::DoNotOptimize(size);
    benchmark::DoNotOptimize(
        collective_time(h100(), Collective::AllReduce, {64, 8}, size, Libraries::Current));
  }
}
BENCHMARK(collective_across_nodes);

void load_profile(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(load_gpu_profile("b200"));
}
BENCHMARK(load_profile)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace vtrain
