// Cost of timing a pipeline from the times of its blocks, against depth, micro-batches and schedule. Inner
// stages are alike, as in plan searches; the first or the last one is slower.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "workloads/pipeline/pipeline_times.hpp"

namespace vtrain {
namespace {

enum class Slowest { LastStage, FirstStage };
enum class Sends { Hold, Latency };

std::vector<BlockTimes> made_up_blocks(const PipelineShape& shape, Slowest slowest, Sends sends) {
  const Nanoseconds send(400'000);
  BlockTimes inner{.forward = Nanoseconds(17'300'000), .backward = Nanoseconds(35'100'000)};
  if (sends == Sends::Hold) {
    inner.forward += send;
    inner.backward += send;
  } else {
    inner.forward_latency = inner.backward_latency = send;
  }
  std::vector<BlockTimes> blocks(static_cast<std::size_t>(shape.num_stages * shape.num_chunks), inner);
  BlockTimes& slow = slowest == Slowest::LastStage ? blocks.back() : blocks.front();
  slow.forward += Nanoseconds(610'000);
  slow.backward += Nanoseconds(1'330'000);
  return blocks;
}

/// Arguments: stages, chunks, micro-batches.
void run(benchmark::State& state, Schedule schedule, Slowest slowest, Sends sends) {
  const PipelineShape shape{state.range(0), state.range(1), state.range(2)};
  std::vector<BlockTimes> blocks = made_up_blocks(shape, slowest, sends);
  if (splits_backward(schedule)) {
    for (BlockTimes& times : blocks) {
      times.weight = times.backward / 2;
      times.backward -= times.weight;
    }
  }
  PipelineTimer timer;
  for (auto _ : state)
    benchmark::DoNotOptimize(timer.stage_ends(schedule, shape, blocks).front());
}

void last_stage_slowest(benchmark::State& state) {
  run(state, Schedule::OneForwardOneBackward, Slowest::LastStage, Sends::Hold);
}
void first_stage_slowest(benchmark::State& state) {
  run(state, Schedule::OneForwardOneBackward, Slowest::FirstStage, Sends::Hold);
}
void last_stage_slowest_with_latency(benchmark::State& state) {
  run(state, Schedule::OneForwardOneBackward, Slowest::LastStage, Sends::Latency);
}
void first_stage_slowest_with_latency(benchmark::State& state) {
  run(state, Schedule::OneForwardOneBackward, Slowest::FirstStage, Sends::Latency);
}
void zero_bubble(benchmark::State& state) {
  run(state, Schedule::ZeroBubble, Slowest::LastStage, Sends::Latency);
}
void gpipe(benchmark::State& state) {
  run(state, Schedule::GPipe, Slowest::LastStage, Sends::Latency);
}
void interleaved(benchmark::State& state) {
  run(state, Schedule::OneForwardOneBackward, Slowest::LastStage, Sends::Latency);
}

void depths_and_micro_batches(benchmark::internal::Benchmark* made) {
  made->ArgNames({"stages", "chunks", "micro_batches"});
  for (const std::int64_t stages : {1, 8, 35, 105}) {
    for (const std::int64_t micro_batches : {20, 160, 1920})
      made->Args({stages, 1, micro_batches});
  }
  made->Unit(benchmark::kMicrosecond);
}
BENCHMARK(last_stage_slowest)->Apply(depths_and_micro_batches);
BENCHMARK(first_stage_slowest)->Apply(depths_and_micro_batches);
BENCHMARK(last_stage_slowest_with_latency)->Apply(depths_and_micro_batches);
BENCHMARK(first_stage_slowest_with_latency)->Apply(depths_and_micro_batches);
BENCHMARK(zero_bubble)->Apply(depths_and_micro_batches);
BENCHMARK(gpipe)->Apply(depths_and_micro_batches);
BENCHMARK(interleaved)
    ->ArgNames({"stages", "chunks", "micro_batches"})
    ->ArgsProduct({{4, 8, 16}, {2, 6}, {32, 256, 1920}})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace vtrain
