/// Names for the tasks of an execution graph, for people.
#pragma once

#include <string>
#include <string_view>

#include "core/task.hpp"
#include "workloads/iteration_work.hpp"

namespace vtrain {

/// The operator that a task belongs to, or null for a task that stands for an empty block.
const Operator* find_operator(const IterationWork& work, const Task& task);

/// The operator's name and, if it has one, its layer: `Fwd_transformer 12`.
std::string task_name(const IterationWork& work, const Task& task);

/// `forward`, `backward`, `recompute`, `optimizer`, `tensor communication` or `data communication`.
std::string_view kind_name(TaskKind kind);

}  // namespace vtrain
