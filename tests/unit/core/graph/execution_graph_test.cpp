#include "core/graph/execution_graph.hpp"

#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

namespace vtrain {
namespace {

ExecutionGraph graph_of(TaskId num_tasks, const std::vector<TaskDependency>& dependencies) {
  ExecutionGraph graph(num_tasks, dependencies.begin(), dependencies.end());
  for (TaskId task = 0; task < num_tasks; ++task)
    graph[task].duration_ns = 10 * (task + 1);
  return graph;
}

TEST_CASE("execution_graph: a task starts when the last of its dependencies ends") {
  // 0 (10) and 1 (20) before 2 (30) before 3.
  ExecutionGraph graph = graph_of(4, {{0, 2}, {1, 2}, {2, 3}});
  CHECK(graph.num_tasks() == 4);
  CHECK(simulate_graph(graph) == std::vector<double>{0, 0, 20, 50});
  graph[0].gap_ns = 15;
  CHECK(simulate_graph(graph) == std::vector<double>{0, 0, 25, 55});
}

TEST_CASE("execution_graph: the order of numbers does not matter") {
  // 3 before 1 before 0; 2 alone.
  CHECK(simulate_graph(graph_of(4, {{1, 0}, {3, 1}})) == std::vector<double>{60, 40, 0, 0});
}

TEST_CASE("execution_graph: no tasks") {
  CHECK(simulate_graph(ExecutionGraph()).empty());
}

TEST_CASE("execution_graph: a circle is an error") {
  CHECK_THROWS_AS(simulate_graph(graph_of(3, {{0, 1}, {1, 2}, {2, 1}})), std::logic_error);
  CHECK_THROWS_AS(simulate_graph(graph_of(1, {{0, 0}})), std::logic_error);
}

}  // namespace
}  // namespace vtrain
