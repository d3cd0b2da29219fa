/// The execution graph of one training iteration, and the start of each of its tasks. No other file names
/// Boost.Graph types.
#pragma once

#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "core/graph/task.hpp"

namespace vtrain {

/// Names a task of an `ExecutionGraph`: its position in the order of creation.
using TaskId = std::uint32_t;

/// A dependency: the second task starts no earlier than the first one's start + duration + gap.
using TaskDependency = std::pair<TaskId, TaskId>;

/// Tasks and their dependencies, in compressed form: built once, then only read.
struct ExecutionGraph {
  /// Boost.Graph type of the tasks and dependencies.
  using Graph = boost::compressed_sparse_row_graph<boost::directedS, Task, boost::no_property,
                                                   boost::no_property, TaskId, std::uint32_t>;

  ExecutionGraph() = default;
  /// A graph of `num_tasks` default tasks. `dependencies` are ordered by their first task and name existing
  /// tasks.
  template <class Iterator>
  ExecutionGraph(TaskId num_tasks, Iterator first, Iterator last)
      : graph(boost::edges_are_sorted, first, last, num_tasks,
              static_cast<std::uint32_t>(std::distance(first, last))) {}

  /// Number of tasks; their ids count from 0.
  TaskId num_tasks() const { return boost::num_vertices(graph); }
  /// A task by its number.
  Task& operator[](TaskId task) { return graph[task]; }
  const Task& operator[](TaskId task) const { return graph[task]; }

  Graph graph;
};

/// Algorithm 1 of the vTrain paper (Bang et al., MICRO 2024): the start of every task in ns, [tasks]. It is
/// the largest start + duration + gap of the tasks it depends on, 0 without any.
///
/// Ready tasks (all dependencies done) wait in a FIFO; the result does not depend on its order. Linear in
/// tasks and dependencies. Throws `std::logic_error` if tasks wait for each other in a circle.
std::vector<double> simulate_graph(const ExecutionGraph& execution_graph);

}  // namespace vtrain
