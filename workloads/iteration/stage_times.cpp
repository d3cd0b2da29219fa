#include "workloads/iteration/stage_times.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace vtrain {
namespace {

ChainTotals total_chain(const std::vector<Operator>& operators, const Send& send) {
  ChainTotals totals;
  for (const Operator& op : operators) {
    const Nanoseconds span = op.duration + op.gap;
    totals.pass += span.count();
    add_operator(totals.breakdown, op);
    if (is_collective(op.kind)) {
      totals.collective_time += op.duration.count();
      totals.has_collective = true;
      totals.after_collective = 0;
    } else {
      totals.kernel_time += op.duration.count();
      totals.after_collective += span.count();
    }
  }
  totals.span = totals.pass + send.stall().count();
  totals.breakdown.pipeline_comm += send.hold;
  // The send stalls the stage in the last operator: a collective there ends with it.
  const bool ends_in_collective = !operators.empty() && is_collective(operators.back().kind);
  if (!ends_in_collective) totals.after_collective += send.stall().count();
  return totals;
}

}  // namespace

PipelineShape pipeline_shape(const IterationWork& work) {
  const std::size_t num_chunks = work.stages.empty() ? 0 : work.stages.front().chunks.size();
  for (const StageWork& stage : work.stages) {
    if (stage.chunks.size() != num_chunks) throw std::logic_error("iteration work: stages of unequal chunks");
    for (const ChunkWork& chunk : stage.chunks) {
      if (!chunk.weight.empty() && !splits_backward(work.schedule)) {
        throw std::logic_error("iteration work: a schedule without a pass for weight gradients");
      }
    }
  }
  return {static_cast<std::int64_t>(work.stages.size()), static_cast<std::int64_t>(num_chunks),
          work.num_micro_batches};
}

BlockTimes with_sends(BlockTimes passes, const Send& forward, const Send& backward, Messages messages) {
  if (messages == Messages::AreInstant) {
    passes.forward += forward.hold;
    passes.backward += backward.hold;
    return passes;
  }
  passes.forward += forward.stall();
  passes.backward += backward.stall();
  passes.forward_latency = forward.latency;
  passes.backward_latency = backward.latency;
  return passes;
}

ChunkTotals total_chunk(const ChunkWork& work) {
  return {.forward = total_chain(work.forward, work.send_forward),
          .recompute = total_chain(work.recompute, {}),
          .backward = total_chain(work.backward, work.send_backward),
          .weight = total_chain(work.weight, {})};
}

OnceTotals total_once(const StageWork& work) {
  return {.data_parallel = total_chain(work.data_parallel, {}), .optimizer = total_chain(work.optimizer, {})};
}

Nanoseconds& part_of(Breakdown& breakdown, TaskKind kind) {
  switch (kind) {
    case TaskKind::TensorComm:
      return breakdown.tensor_comm;
    case TaskKind::DataComm:
      return breakdown.data_comm;
    case TaskKind::Optimizer:
      return breakdown.optimizer;
    case TaskKind::PipelineComm:
      return breakdown.pipeline_comm;
    case TaskKind::Forward:
    case TaskKind::Backward:
    case TaskKind::WeightGradient:
    case TaskKind::Recompute:
      break;
  }
  return breakdown.compute;
}

void add_operator(Breakdown& breakdown, const Operator& op) {
  Nanoseconds& part = part_of(breakdown, op.kind);
  part += op.duration + op.gap;
  if (&part != &breakdown.compute) return;
  breakdown.products += op.products;
  breakdown.attention += op.attention;
  breakdown.cpu_wait += op.gap;
}

Nanoseconds busy_time(const Breakdown& breakdown) {
  return breakdown.compute + breakdown.tensor_comm + breakdown.pipeline_comm + breakdown.data_comm +
         breakdown.optimizer;
}

std::size_t busiest_stage(std::span<const Nanoseconds> busy) {
  constexpr double kRounding = 1e-9;
  const Nanoseconds most = (1 - kRounding) * *std::max_element(busy.begin(), busy.end());
  const auto first =
      std::find_if(busy.begin(), busy.end(), [most](Nanoseconds time) { return time >= most; });
  return static_cast<std::size_t>(first - busy.begin());
}

void divide_idle_time(Breakdown& breakdown, Nanoseconds busy, Nanoseconds iteration,
                      Nanoseconds without_latency) {
  // Rounding may leave a stage that never waits a hair above the iteration time.
  breakdown.bubble = std::max(Nanoseconds(0), without_latency - busy);
  breakdown.pipeline_comm += std::max(Nanoseconds(0), iteration - busy - breakdown.bubble);
}

void set_breakdown(IterationTimes& times, std::span<const Breakdown> stages, Nanoseconds without_latency) {
  std::vector<Nanoseconds> busy(stages.size());
  std::transform(stages.begin(), stages.end(), busy.begin(), busy_time);
  const std::size_t slowest = busiest_stage(busy);
  times.slowest_stage = static_cast<std::int64_t>(slowest);
  times.breakdown = stages[slowest];
  divide_idle_time(times.breakdown, busy[slowest], times.iteration, without_latency);
}

}  // namespace vtrain
