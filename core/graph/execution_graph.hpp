/// The execution graph of one training iteration: the one place that names Boost.Graph types.
#pragma once

#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <cstdint>
#include <iterator>
#include <utility>

#include "core/graph/task.hpp"

namespace vtrain {

/// Names a task of an `ExecutionGraph`: its position in the order of creation.
using TaskId = std::uint32_t;

/// A dependency: the second task starts no earlier than the first one's start + duration + gap.
using Dependency = std::pair<TaskId, TaskId>;

/// Tasks and their dependencies, in compressed form: built once, then only read.
struct ExecutionGraph {
  /// What holds them.
  using Graph = boost::compressed_sparse_row_graph<boost::directedS, Task, boost::no_property,
                                                   boost::no_property, TaskId, std::uint32_t>;

  ExecutionGraph() = default;
  /// A graph of `num_tasks` default tasks. `dependencies` are ordered by their first task and name existing
  /// tasks.
  template <class Iterator>
  ExecutionGraph(TaskId num_tasks, Iterator first, Iterator last)
      : graph(boost::edges_are_sorted, first, last, num_tasks,
              static_cast<std::uint32_t>(std::distance(first, last))) {}

  /// Tasks are numbered from 0 to one less.
  TaskId num_tasks() const { return boost::num_vertices(graph); }
  /// A task by its number.
  Task& operator[](TaskId task) { return graph[task]; }
  const Task& operator[](TaskId task) const { return graph[task]; }

  Graph graph;
};

}  // namespace vtrain
