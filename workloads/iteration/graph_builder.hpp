/// Turns the work of an iteration into an execution graph, and finds the work of its tasks.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.hpp"
#include "core/graph/execution_graph.hpp"
#include "workloads/iteration/iteration_work.hpp"

namespace vtrain {

/// Unit of work of a task in the graph.
enum class GraphDetail {
  Blocks,     ///< one task a pass of a micro-batch on a stage, without operators
  Operators,  ///< one task an operator
  Kernels,    ///< one task a kernel; an operator without kernels stays one task
};

/// Largest number of tasks in a graph: about 2 GB.
inline constexpr std::int64_t kMaxTasks = std::int64_t{1} << 25;

/// Builds the graph of one iteration under the schedule of the work. Each task has a larger number than those
/// it depends on.
///
/// Tasks of a block depend on each other in a chain. A block depends on the block before it on its stage.
/// Unless it recomputes, it also depends on the block before it of its micro-batch, and on the message
/// between them if that has a latency. Gradient reduction follows the last block of its stage (and that of
/// stage 0, if the work says so). The optimizer of a stage follows the last task of every stage.
///
/// An error of kind `Failed` if there would be more than `kMaxTasks` tasks. Linear in tasks.
Result<ExecutionGraph> build_graph(const IterationWork& work, GraphDetail detail);

/// The operator that a task belongs to; null for a task that is an empty block or a message.
const Operator* find_operator(const IterationWork& work, const Task& task);

/// The operator's name and, if it has one, its layer: `Fwd_transformer 12`. `send` for a message.
std::string task_name(const IterationWork& work, const Task& task);

/// The message that a task sends at the end of its gap; null unless `Task::sends`. The gap includes
/// `Send::stall`.
const Send* send_after(const StageWork& stage, const Task& task);

}  // namespace vtrain
