/// The execution graph as a picture: input for Graphviz.
#pragma once

#include <string>

#include "core/graph/execution_graph.hpp"
#include "workloads/iteration/iteration_work.hpp"

namespace vtrain {

/// The graph of this work in the DOT language: every task with its name, stage, chunk, micro-batch, duration
/// and the gap after it, coloured by kind.
std::string graph_dot(const IterationWork& work, const ExecutionGraph& graph);

}  // namespace vtrain
