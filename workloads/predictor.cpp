#include "workloads/predictor.hpp"

#include <algorithm>

#include "core/graph_simulation.hpp"
#include "workloads/stage_times.hpp"

namespace vtrain {

Nanoseconds send_after(const StageWork& stage, const Task& task) {
  if (!task.sends) return Nanoseconds(0);
  const bool is_forward =
      task.op == Task::kNoOperator ? task.kind == TaskKind::Forward : task.op < stage.forward.size();
  return is_forward ? stage.send_forward : stage.send_backward;
}

IterationTimes simulated_iteration_times(const IterationWork& work, const ExecutionGraph& graph) {
  const std::vector<double> start = simulate_graph(graph);
  IterationTimes times;
  times.stages.resize(work.stages.size());
  for (TaskId id = 0; id < graph.num_tasks(); ++id) {
    const Task& task = graph[id];
    StageTimes& stage = times.stages[task.stage];
    const Nanoseconds end(start[id] + task.duration_ns + task.gap_ns);
    stage.end = std::max(stage.end, end);
    if (is_communication(task.kind)) {
      times.communication_end = std::max(times.communication_end, end);
      times.communication_sum += Nanoseconds(task.duration_ns);
    } else {
      stage.compute += Nanoseconds(task.duration_ns);
    }
  }
  set_slowest(times);
  for (TaskId id = 0; id < graph.num_tasks(); ++id) {
    const Task& task = graph[id];
    if (task.stage != times.slowest_stage) continue;
    const Nanoseconds send = send_after(work.stages[task.stage], task);
    part_of(times.breakdown, task.kind) += Nanoseconds(task.duration_ns + task.gap_ns) - send;
    times.breakdown.pipeline_comm += send;
  }
  set_bubble(times);
  return times;
}

}  // namespace vtrain
