#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/unit/workloads/random_work.hpp"
#include "workloads/iteration/graph_builder.hpp"
#include "workloads/iteration/iteration_times.hpp"
#include "workloads/iteration/stage_times.hpp"
#include "workloads/pipeline/block_recurrence.hpp"
#include "workloads/pipeline/pipeline_times.hpp"

namespace vtrain {
namespace {

/// Tolerance for fractional times. The two implementations add in different orders, and the fast one rounds
/// each block to 2^-30 ns, or more coarsely above some hours. Random works are far shorter.
constexpr double kFractionalTolerance_ns = 1e-3;

void check_same(const IterationTimes& fast, const IterationTimes& graph, double tolerance) {
  const auto same = [tolerance](Nanoseconds a, Nanoseconds b) {
    return std::abs((a - b).count()) <= tolerance;
  };
  CHECK(same(fast.iteration, graph.iteration));
  CHECK(same(fast.communication_end, graph.communication_end));
  CHECK(same(fast.communication_sum, graph.communication_sum));
  REQUIRE(fast.stages.size() == graph.stages.size());
  for (std::size_t stage = 0; stage < fast.stages.size(); ++stage) {
    CHECK(same(fast.stages[stage].end, graph.stages[stage].end));
    CHECK(same(fast.stages[stage].compute, graph.stages[stage].compute));
  }
  if (fast.slowest_stage != graph.slowest_stage) {
    // Only stages that end at the same time may be taken for each other, and only where rounding decides.
    CHECK(tolerance > 0);
    return;
  }
  CHECK(same(fast.breakdown.compute, graph.breakdown.compute));
  CHECK(same(fast.breakdown.tensor_comm, graph.breakdown.tensor_comm));
  CHECK(same(fast.breakdown.pipeline_comm, graph.breakdown.pipeline_comm));
  CHECK(same(fast.breakdown.data_comm, graph.breakdown.data_comm));
  CHECK(same(fast.breakdown.optimizer, graph.breakdown.optimizer));
  CHECK(same(fast.breakdown.bubble, graph.breakdown.bubble));
}

struct ScheduleCase {
  std::string name;
  Schedule schedule;
  bool interleaved;
};

const ScheduleCase kSchedules[] = {{"1F1B", Schedule::OneForwardOneBackward, false},
                                   {"interleaved 1F1B", Schedule::OneForwardOneBackward, true},
                                   {"zero bubble", Schedule::ZeroBubble, false},
                                   {"GPipe", Schedule::GPipe, false}};

void check_random_works(const ScheduleCase& schedule, std::uint64_t seed, int count, bool fractional) {
  INFO(schedule.name);
  WorkGenerator generator(seed, schedule.schedule, schedule.interleaved, fractional);
  const double tolerance = fractional ? kFractionalTolerance_ns : 0;
  int num_short = 0;
  int num_single = 0;
  int num_longer = 0;
  for (int i = 0; i < count; ++i) {
    CAPTURE(i);
    IterationWork work = generator.next();
    CAPTURE(work.num_micro_batches);
    CAPTURE(work.stages.size());
    const auto num_stages = static_cast<std::int64_t>(work.stages.size());
    num_short += num_stages > work.num_micro_batches ? 1 : 0;
    num_single += num_stages == 1 ? 1 : 0;
    const auto graph = build_graph(work, GraphDetail::Operators);
    REQUIRE(graph);
    const IterationTimes times = simulated_iteration_times(work, *graph);
    check_same(fast_iteration_times(work), times, tolerance);
    const Breakdown& parts = times.breakdown;
    const Nanoseconds sum = parts.compute + parts.tensor_comm + parts.pipeline_comm + parts.data_comm +
                            parts.optimizer + parts.bubble;
    CHECK(std::abs((sum - times.iteration).count()) <= tolerance);
    // What messages on their way take is what the iteration would be shorter for without them.
    IterationWork without = work;
    for (StageWork& stage : without.stages) {
      for (ChunkWork& chunk : stage.chunks) {
        chunk.send_forward = {.hold = chunk.send_forward.hold};
        chunk.send_backward = {.hold = chunk.send_backward.hold};
      }
    }
    const auto graph_without = build_graph(without, GraphDetail::Operators);
    REQUIRE(graph_without);
    const IterationTimes times_without = simulated_iteration_times(without, *graph_without);
    if (times_without.slowest_stage == times.slowest_stage)
      CHECK(std::abs((times_without.breakdown.bubble - parts.bubble).count()) <= tolerance);
    num_longer += times_without.iteration < times.iteration ? 1 : 0;
    for (StageWork& stage : work.stages) {
      stage.data_parallel.clear();
      stage.optimizer.clear();
    }
    const std::vector<Nanoseconds> ends = event_driven_ends(work);
    const IterationTimes passes = fast_iteration_times(work);
    for (std::size_t stage = 0; stage < ends.size(); ++stage)
      CHECK(std::abs((passes.stages[stage].end - ends[stage]).count()) <= tolerance);
  }
  // The generator reaches the corners it is meant to reach.
  if (!schedule.interleaved) CHECK(num_short > count / 10);
  CHECK(num_single > count / 20);
  CHECK(num_longer > count / 10);
}

TEST_CASE(
    "iteration_times: equals the graph and a clock exactly on works in whole nanoseconds, every schedule") {
  for (const ScheduleCase& schedule : kSchedules)
    check_random_works(schedule, 1, 1500, false);
}

TEST_CASE("iteration_times: equals the graph and a clock on works in fractions, every schedule") {
  for (const ScheduleCase& schedule : kSchedules)
    check_random_works(schedule, 2, 500, true);
}

/// The blocks of a work as sums.
std::vector<BlockTimes> blocks_of(const IterationWork& work) {
  std::vector<BlockTimes> blocks;
  for (const StageWork& stage : work.stages) {
    for (const ChunkWork& chunk : stage.chunks) {
      blocks.push_back({.forward = total_span(chunk.forward) + chunk.send_forward.stall(),
                        .recompute = total_span(chunk.recompute),
                        .backward = total_span(chunk.backward) + chunk.send_backward.stall(),
                        .weight = total_span(chunk.weight),
                        .forward_latency = chunk.send_forward.latency,
                        .backward_latency = chunk.send_backward.latency});
    }
  }
  return blocks;
}

TEST_CASE("pipeline_times: one timer for all pipelines equals a clock exactly, every schedule") {
  PipelineTimer timer;
  for (const ScheduleCase& schedule : kSchedules) {
    INFO(schedule.name);
    WorkGenerator generator(3, schedule.schedule, schedule.interleaved, false);
    for (int i = 0; i < 1000; ++i) {
      CAPTURE(i);
      const IterationWork work = generator.next();
      const PipelineShape shape = pipeline_shape(work);
      CAPTURE(shape.num_stages);
      CAPTURE(shape.num_micro_batches);
      const auto ends = timer.stage_ends(work.schedule, shape, blocks_of(work));
      const std::vector<Nanoseconds> expected = event_driven_ends(work);
      CHECK(std::equal(ends.begin(), ends.end(), expected.begin(), expected.end()));
    }
  }
}

/// A deep pipeline as in a plan search: inner stages are equal, the ends a little faster or slower.
std::vector<BlockTimes> searched_blocks(RandomStream& random, std::int64_t num_stages, bool splits) {
  const auto time = [&random](std::uint64_t bound) {
    return Nanoseconds(static_cast<double>(random.below(bound)));
  };
  BlockTimes inner{.forward = Nanoseconds(1000) + time(1000), .backward = Nanoseconds(1500) + time(2000)};
  if (random.below(3) == 0) inner.recompute = time(1500);
  if (random.below(2) == 0) inner.forward_latency = time(random.below(2) == 0 ? 50 : 2000);
  if (random.below(3) != 0) inner.backward_latency = inner.forward_latency;
  if (splits) inner.weight = Nanoseconds(500) + time(1500);
  std::vector<BlockTimes> blocks(static_cast<std::size_t>(num_stages), inner);
  for (BlockTimes* end : {&blocks.front(), &blocks.back()}) {
    if (random.below(4) == 0) continue;
    const Nanoseconds slower = time(random.below(2) == 0 ? 10 : 900);
    const double sign = random.below(3) == 0 ? -1 : 1;
    end->forward += sign * slower;
    end->backward += sign * slower;
  }
  return blocks;
}

TEST_CASE("pipeline_times: rounds equal the recurrence over all blocks on deep pipelines") {
  RandomStream random(4, "deep pipelines");
  PipelineTimer timer;
  BlockRecurrence recurrence;
  for (int i = 0; i < 600; ++i) {
    CAPTURE(i);
    const Schedule schedule = kSchedules[std::array{0, 2, 3}[random.below(3)]].schedule;
    const PipelineShape shape{static_cast<std::int64_t>(1 + random.below(random.below(4) == 0 ? 60 : 20)), 1,
                              static_cast<std::int64_t>(1 + random.below(random.below(4) == 0 ? 2500 : 150))};
    CAPTURE(shape.num_stages);
    CAPTURE(shape.num_micro_batches);
    const std::vector<BlockTimes> blocks =
        searched_blocks(random, shape.num_stages, splits_backward(schedule));
    const auto ends = timer.stage_ends(schedule, shape, blocks);
    recurrence.run(make_schedule(schedule, shape), shape, blocks);
    for (std::size_t stage = 0; stage < ends.size(); ++stage)
      CHECK(ends[stage] == recurrence.stage_end(stage));
  }
}

Operator op_of(TaskKind kind, double duration) {
  Operator op;
  op.kind = kind;
  op.duration = Nanoseconds(duration);
  return op;
}

/// A work with `num_stages` equal stages, forward 1 and backward 2.
IterationWork uniform_work(std::size_t num_stages, std::int64_t num_micro_batches) {
  IterationWork work;
  work.num_micro_batches = num_micro_batches;
  ChunkWork chunk;
  chunk.forward = {op_of(TaskKind::Forward, 1)};
  chunk.backward = {op_of(TaskKind::Backward, 2)};
  work.stages.assign(num_stages, {.chunks = {chunk}});
  return work;
}

TEST_CASE("iteration_times: uniform stages take (micro-batches + stages - 1) rounds") {
  // (8 + 4 - 1) * (1 + 2) = 33, of which a stage works 8 * 3 = 24.
  const IterationTimes times = fast_iteration_times(uniform_work(4, 8));
  CHECK(times.iteration.count() == 33);
  CHECK(times.stages.front().end.count() == 33);
  CHECK(times.stages.front().compute.count() == 24);
  CHECK(times.breakdown.bubble.count() == 9);
  CHECK(times.slowest_stage == 0);
}

TEST_CASE("iteration_times: many micro-batches cost no more than few") {
  // (10^9 + 63) * 3, without a step for each: the steady state is reached at once.
  const IterationTimes times = fast_iteration_times(uniform_work(64, 1'000'000'000));
  CHECK(times.iteration.count() == 3'000'000'189.0);
}

TEST_CASE("iteration_times: recomputation overlaps the wait for the gradient") {
  IterationWork work = uniform_work(2, 1);
  work.stages[0].chunks[0].recompute = {op_of(TaskKind::Recompute, 1)};
  // Stage 0: forward to 1. Stage 1: forward to 2, backward to 4. Stage 0 recomputes from 1 to 2, then waits:
  // backward to 6.
  CHECK(fast_iteration_times(work).iteration.count() == 6);
  work.stages[0].chunks[0].recompute.front().duration = Nanoseconds(7);
  // Now it recomputes from 1 to 8.
  CHECK(fast_iteration_times(work).iteration.count() == 10);
}

TEST_CASE("iteration_times: gradient reduction waits for stage 0 if the work says so") {
  IterationWork work = uniform_work(2, 1);
  for (StageWork& stage : work.stages)
    stage.data_parallel = {op_of(TaskKind::DataComm, 10)};
  // Stage 1 is done at 4, stage 0 at 6.
  IterationTimes times = fast_iteration_times(work);
  CHECK(times.stages[1].end.count() == 14);
  CHECK(times.stages[0].end.count() == 16);
  CHECK(times.communication_end.count() == 16);
  CHECK(times.communication_sum.count() == 20);
  work.reduction_waits_for_first_stage = true;
  times = fast_iteration_times(work);
  CHECK(times.stages[1].end.count() == 16);
}

TEST_CASE("iteration_times: the slowest stage is the one with the most to do, not the one that ends last") {
  IterationWork work = uniform_work(2, 8);
  work.stages[1].chunks[0].forward.push_back(op_of(TaskKind::Forward, 2));
  // Stage 1 works from 1 to 41; stage 0 waits for its last gradient and ends at 43.
  const IterationTimes times = fast_iteration_times(work);
  CHECK(times.iteration.count() == 43);
  CHECK(times.stages[0].end > times.stages[1].end);
  CHECK(times.slowest_stage == 1);
  CHECK(times.breakdown.compute.count() == 40);
  CHECK(times.breakdown.bubble.count() == 3);
}

TEST_CASE("iteration_times: the optimizer starts when every stage is done") {
  IterationWork work = uniform_work(2, 1);
  work.stages[1].optimizer = {op_of(TaskKind::Optimizer, 5)};
  // Stage 0 is done at 6.
  const IterationTimes times = fast_iteration_times(work);
  CHECK(times.stages[0].end.count() == 6);
  CHECK(times.stages[1].end.count() == 11);
  CHECK(times.slowest_stage == 1);
  CHECK(times.breakdown.optimizer.count() == 5);
}

}  // namespace
}  // namespace vtrain
