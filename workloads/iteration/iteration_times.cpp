#include "workloads/iteration/iteration_times.hpp"

#include <algorithm>

#include "core/graph/execution_graph.hpp"
#include "workloads/iteration/stage_times.hpp"

namespace vtrain {

const Send* send_after(const StageWork& stage, const Task& task) {
  if (!task.sends) return nullptr;
  const ChunkWork& chunk = stage.chunks[task.chunk];
  const bool is_forward =
      task.op == Task::kNoOperator ? task.kind == TaskKind::Forward : task.op < chunk.forward.size();
  return is_forward ? &chunk.send_forward : &chunk.send_backward;
}

IterationTimes simulated_iteration_times(const IterationWork& work, const ExecutionGraph& graph) {
  const std::vector<double> start = simulate_graph(graph);
  IterationTimes times;
  times.stages.resize(work.stages.size());
  for (TaskId id = 0; id < graph.num_tasks(); ++id) {
    const Task& task = graph[id];
    if (task.kind == TaskKind::PipelineComm) continue;  // on its way, not on the stage
    StageTimes& stage = times.stages[task.stage];
    const Nanoseconds end(start[id] + task.duration_ns + task.gap_ns);
    stage.end = std::max(stage.end, end);
    if (is_collective(task.kind)) {
      times.communication_end = std::max(times.communication_end, end);
      times.communication_sum += Nanoseconds(task.duration_ns);
    } else {
      stage.compute += Nanoseconds(task.duration_ns);
    }
  }
  std::vector<Breakdown> breakdowns(work.stages.size());
  for (TaskId id = 0; id < graph.num_tasks(); ++id) {
    const Task& task = graph[id];
    if (task.kind == TaskKind::PipelineComm) continue;
    Breakdown& breakdown = breakdowns[task.stage];
    part_of(breakdown, task.kind) += Nanoseconds(task.duration_ns + task.gap_ns);
    if (const Send* const send = send_after(work.stages[task.stage], task)) {
      part_of(breakdown, task.kind) -= send->stall();
      breakdown.pipeline_comm += send->hold;
    }
  }
  for (const StageTimes& stage : times.stages)
    times.iteration = std::max(times.iteration, stage.end);
  set_breakdown(times, breakdowns, iteration_without_latency(work));
  return times;
}

}  // namespace vtrain
