/// The execution graph of one training iteration: the one place that names Boost.Graph types.
#pragma once

#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <cstdint>

#include "core/task.hpp"

namespace vtrain {

/// Names a task of an `ExecutionGraph`.
using TaskId = std::uint32_t;

/// Tasks and their dependencies, in compressed form: built once, then only read.
struct ExecutionGraph {
  using Graph = boost::compressed_sparse_row_graph<boost::directedS, Task, boost::no_property,
                                                   boost::no_property, TaskId, std::uint32_t>;
  Graph graph;
};

}  // namespace vtrain
