/// Names for the tasks of an execution graph, for people.
#pragma once

#include <string>
#include <string_view>

#include "core/graph/task.hpp"
#include "workloads/iteration/iteration_work.hpp"

namespace vtrain {

/// The operator that a task belongs to, or null for a task that stands for an empty block or a message.
const Operator* find_operator(const IterationWork& work, const Task& task);

/// The operator's name and, if it has one, its layer: `Fwd_transformer 12`. `send` for a message.
std::string task_name(const IterationWork& work, const Task& task);

/// A kind in words: `weight gradient`, `tensor communication`.
std::string_view kind_name(TaskKind kind);

}  // namespace vtrain
