/// Turns the work of an iteration into an execution graph, and finds the work of its tasks.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.hpp"
#include "core/graph/execution_graph.hpp"
#include "workloads/iteration/iteration_work.hpp"

namespace vtrain {

/// What a task of the graph is.
enum class GraphDetail {
  Blocks,     ///< one task a pass of a micro-batch on a stage, without operators
  Operators,  ///< one task an operator
  Kernels,    ///< one task a kernel; an operator without kernels stays one task
};

/// Most tasks a graph may have: about 2 GB.
inline constexpr std::int64_t kMaxTasks = std::int64_t{1} << 25;

/// The graph of one iteration under the schedule of the work. Tasks are numbered so that each comes after
/// those it depends on.
///
/// Tasks of a block depend on each other in a chain. A block depends on the one before it on its stage and,
/// unless it recomputes, on the one before it of its micro-batch, with the message between them if there is a
/// latency. Gradient reduction follows the last block of its stage (and that of stage 0, if the work says
/// so), and the optimizer of a stage follows the last task of every stage.
///
/// An error of kind `Failed` if there would be more than `kMaxTasks` tasks. Linear in tasks.
Result<ExecutionGraph> build_graph(const IterationWork& work, GraphDetail detail);

/// The operator that a task belongs to, or null for a task that stands for an empty block or a message.
const Operator* find_operator(const IterationWork& work, const Task& task);

/// The operator's name and, if it has one, its layer: `Fwd_transformer 12`. `send` for a message.
std::string task_name(const IterationWork& work, const Task& task);

/// What a task sends at the end of its gap, `Send::stall` of which is part of the gap; null unless
/// `Task::sends`.
const Send* send_after(const StageWork& stage, const Task& task);

}  // namespace vtrain
