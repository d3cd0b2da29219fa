#include "workloads/stage_times.hpp"

#include <algorithm>

namespace vtrain {
namespace {

ChainTotals total_chain(const std::vector<Operator>& operators, Nanoseconds hold) {
  ChainTotals totals;
  for (const Operator& op : operators) {
    const Nanoseconds span = op.duration + op.gap;
    totals.span += span.count();
    part_of(totals.breakdown, op.kind) += span;
    if (is_collective(op.kind)) {
      totals.collective_time += op.duration.count();
      totals.has_collective = true;
      totals.after_collective = 0;
    } else {
      totals.kernel_time += op.duration.count();
      totals.after_collective += span.count();
    }
  }
  totals.span += hold.count();
  totals.breakdown.pipeline_comm += hold;
  // The send holds the stage in the last operator: a collective there ends with it.
  const bool ends_in_collective = !operators.empty() && is_collective(operators.back().kind);
  if (!ends_in_collective) totals.after_collective += hold.count();
  return totals;
}

}  // namespace

ChunkTotals total_chunk(const ChunkWork& work) {
  return {.forward = total_chain(work.forward, work.send_forward.hold),
          .recompute = total_chain(work.recompute, Nanoseconds(0)),
          .backward = total_chain(work.backward, work.send_backward.hold),
          .weight = total_chain(work.weight, Nanoseconds(0))};
}

OnceTotals total_once(const StageWork& work) {
  return {.data_parallel = total_chain(work.data_parallel, Nanoseconds(0)),
          .optimizer = total_chain(work.optimizer, Nanoseconds(0))};
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

void set_slowest(IterationTimes& times) {
  const auto slowest =
      std::max_element(times.stages.begin(), times.stages.end(),
                       [](const StageTimes& a, const StageTimes& b) { return a.end < b.end; });
  times.slowest_stage = slowest - times.stages.begin();
  times.iteration = slowest->end;
}

void set_bubble(IterationTimes& times) {
  const Breakdown& parts = times.breakdown;
  const Nanoseconds busy =
      parts.compute + parts.tensor_comm + parts.pipeline_comm + parts.data_comm + parts.optimizer;
  // Rounding may leave a stage that never waits a hair above the iteration time.
  times.breakdown.bubble = std::max(Nanoseconds(0), times.iteration - busy);
}

}  // namespace vtrain
