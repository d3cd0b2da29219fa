#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/rng.hpp"
#include "workloads/graph_builder.hpp"
#include "workloads/predictor.hpp"

namespace vtrain {
namespace {

/// Both ways add fractional times in different orders, and the fast path rounds each block to 2^-30 ns or,
/// above some hours, a little coarser; random works are far shorter.
constexpr double kFractionalTolerance_ns = 1e-3;

/// Random works over every shape that the schedule distinguishes.
class WorkGenerator {
 public:
  WorkGenerator(std::uint64_t seed, bool fractional) : random_(seed, "work"), fractional_(fractional) {}

  IterationWork next() {
    IterationWork work;
    work.stages.resize(1 + random_.below(9));
    work.num_micro_batches = static_cast<std::int64_t>(1 + random_.below(random_.below(4) == 0 ? 120 : 14));
    work.reduction_waits_for_first_stage = random_.below(2) == 0;
    uniform_stages_ = random_.below(3) == 0;
    const bool has_data_parallel = random_.below(3) != 0;
    const bool has_optimizer = random_.below(5) != 0;
    for (std::size_t i = 0; i < work.stages.size(); ++i) {
      StageWork& stage = work.stages[i];
      if (uniform_stages_ && i > 0) {
        stage = work.stages.front();
      } else {
        stage.forward = chain(TaskKind::Forward, 4);
        stage.recompute = chain(TaskKind::Recompute, 3);
        stage.backward = chain(TaskKind::Backward, 4);
        stage.send_forward = Nanoseconds(time(300));
        stage.send_backward = Nanoseconds(time(300));
        if (has_data_parallel && random_.below(8) != 0) stage.data_parallel = chain(TaskKind::DataComm, 2);
        if (has_optimizer && random_.below(8) != 0) stage.optimizer = chain(TaskKind::Optimizer, 2);
      }
    }
    return work;
  }

 private:
  double time(std::uint64_t bound) {
    return fractional_ ? random_.uniform(0, static_cast<double>(bound))
                       : static_cast<double>(random_.below(bound));
  }

  std::vector<Operator> chain(TaskKind kind, std::uint64_t longest) {
    std::vector<Operator> operators;
    // One in about six chains is empty.
    const std::uint64_t length = random_.below(6) == 0 ? 0 : 1 + random_.below(longest);
    for (std::uint64_t i = 0; i < length; ++i) {
      Operator op;
      op.kind = kind != TaskKind::DataComm && random_.below(4) == 0 ? TaskKind::TensorComm : kind;
      op.duration = Nanoseconds(time(1000));
      op.gap = Nanoseconds(random_.below(2) == 0 ? time(50) : -std::min(op.duration.count(), time(50)));
      operators.push_back(op);
    }
    return operators;
  }

  RandomStream random_;
  bool fractional_;
  bool uniform_stages_ = false;
};

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

void check_random_works(std::uint64_t seed, int count, bool fractional) {
  WorkGenerator generator(seed, fractional);
  int num_short = 0;
  int num_single = 0;
  for (int i = 0; i < count; ++i) {
    CAPTURE(i);
    const IterationWork work = generator.next();
    const auto num_stages = static_cast<std::int64_t>(work.stages.size());
    num_short += num_stages > work.num_micro_batches ? 1 : 0;
    num_single += num_stages == 1 ? 1 : 0;
    const auto graph = build_graph(work, GraphDetail::Operators);
    REQUIRE(graph);
    check_same(fast_iteration_times(work), simulated_iteration_times(work, *graph),
               fractional ? kFractionalTolerance_ns : 0);
  }
  // The generator reaches the corners it is meant to reach.
  CHECK(num_short > count / 10);
  CHECK(num_single > count / 20);
}

TEST_CASE("fast_path: equals the simulation of the graph exactly on 2,000 works in whole nanoseconds") {
  check_random_works(1, 2000, false);
}

TEST_CASE("fast_path: equals the simulation of the graph on 1,000 works in fractions") {
  check_random_works(2, 1000, true);
}

Operator op_of(TaskKind kind, double duration) {
  Operator op;
  op.kind = kind;
  op.duration = Nanoseconds(duration);
  return op;
}

/// `num_stages` equal stages of forward 1, backward 2.
IterationWork uniform_work(std::size_t num_stages, std::int64_t num_micro_batches) {
  IterationWork work;
  work.num_micro_batches = num_micro_batches;
  StageWork stage;
  stage.forward = {op_of(TaskKind::Forward, 1)};
  stage.backward = {op_of(TaskKind::Backward, 2)};
  work.stages.assign(num_stages, stage);
  return work;
}

TEST_CASE("fast_path: uniform stages take (micro-batches + stages - 1) rounds") {
  // (8 + 4 - 1) * (1 + 2) = 33, of which a stage works 8 * 3 = 24.
  const IterationTimes times = fast_iteration_times(uniform_work(4, 8));
  CHECK(times.iteration.count() == 33);
  CHECK(times.stages.front().end.count() == 33);
  CHECK(times.stages.front().compute.count() == 24);
  CHECK(times.breakdown.bubble.count() == 9);
  CHECK(times.slowest_stage == 0);
}

TEST_CASE("fast_path: many micro-batches cost no more than few") {
  // (10^9 + 63) * 3, without a step for each: the steady state is reached at once.
  const IterationTimes times = fast_iteration_times(uniform_work(64, 1'000'000'000));
  CHECK(times.iteration.count() == 3'000'000'189.0);
}

TEST_CASE("fast_path: recomputation overlaps the wait for the gradient") {
  IterationWork work = uniform_work(2, 1);
  work.stages[0].recompute = {op_of(TaskKind::Recompute, 1)};
  // Stage 0: forward to 1. Stage 1: forward to 2, backward to 4. Stage 0 recomputes from 1 to 2, then waits:
  // backward to 6.
  CHECK(fast_iteration_times(work).iteration.count() == 6);
  work.stages[0].recompute.front().duration = Nanoseconds(7);
  // Now it recomputes from 1 to 8.
  CHECK(fast_iteration_times(work).iteration.count() == 10);
}

TEST_CASE("fast_path: gradient reduction waits for stage 0 if the work says so") {
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

TEST_CASE("fast_path: the optimizer starts when every stage is done") {
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
