#include "core/graph/execution_graph.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace vtrain {

std::vector<double> simulate_graph(const ExecutionGraph& execution_graph) {
  const ExecutionGraph::Graph& graph = execution_graph.graph;
  const TaskId num_tasks = execution_graph.num_tasks();
  std::vector<std::uint32_t> num_waiting_for(num_tasks, 0);
  for (auto [edge, end] = boost::edges(graph); edge != end; ++edge)
    ++num_waiting_for[boost::target(*edge, graph)];

  // Every task enters the FIFO once, so an array that is filled at one end and read at the other holds it.
  std::vector<TaskId> ready;
  ready.reserve(num_tasks);
  for (TaskId task = 0; task < num_tasks; ++task) {
    if (num_waiting_for[task] == 0) ready.push_back(task);
  }
  std::vector<double> start(num_tasks, 0.0);
  for (std::size_t next = 0; next < ready.size(); ++next) {
    const TaskId task = ready[next];
    const Task& done = graph[task];
    const double end = start[task] + done.duration_ns + done.gap_ns;
    for (auto [successor, last] = boost::adjacent_vertices(task, graph); successor != last; ++successor) {
      start[*successor] = std::max(start[*successor], end);
      if (--num_waiting_for[*successor] == 0) ready.push_back(*successor);
    }
  }
  if (ready.size() != num_tasks) {
    throw std::logic_error(fmt::format("execution graph: {} of {} tasks wait for each other in a circle",
                                       num_tasks - ready.size(), num_tasks));
  }
  return start;
}

}  // namespace vtrain
