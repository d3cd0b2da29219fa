#include "workloads/iteration/graph_dot.hpp"

#include <boost/graph/graphviz.hpp>
#include <ostream>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "workloads/iteration/task_names.hpp"

namespace vtrain {
namespace {

std::string_view fill_colour(TaskKind kind) {
  switch (kind) {
    case TaskKind::Forward:
      return "palegreen";
    case TaskKind::Backward:
      return "lightblue";
    case TaskKind::WeightGradient:
      return "paleturquoise";
    case TaskKind::Recompute:
      return "khaki";
    case TaskKind::Optimizer:
      return "lightgrey";
    case TaskKind::TensorComm:
      return "orange";
    case TaskKind::DataComm:
      return "salmon";
    case TaskKind::PipelineComm:
      return "plum";
  }
  return "white";
}

/// Backslashes and quotes of a name as DOT wants them.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string graph_dot(const IterationWork& work, const ExecutionGraph& graph) {
  std::ostringstream out;
  const auto write_task = [&](std::ostream& stream, TaskId id) {
    const Task& task = graph[id];
    const std::string micro_batch =
        task.micro_batch < 0 ? "" : fmt::format(", micro-batch {}", task.micro_batch);
    const std::string chunk = work.stages[task.stage].chunks.size() > 1 && task.micro_batch >= 0
                                  ? fmt::format(", chunk {}", task.chunk)
                                  : "";
    const std::string gap = task.gap_ns == 0 ? "" : fmt::format(" + {:.3f}", task.gap_ns / 1000);
    stream << fmt::format(R"([label="{}\nstage {}{}{}\n{:.3f}{} us", fillcolor={}])",
                          escaped(task_name(work, task)), task.stage, chunk, micro_batch,
                          task.duration_ns / 1000, gap, fill_colour(task.kind));
  };
  const auto write_dependency = [](std::ostream&, const auto&) {};
  const auto write_graph = [](std::ostream& stream) {
    stream << "rankdir=LR;\nnode [shape=box, style=filled];\n";
  };
  boost::write_graphviz(out, graph.graph, write_task, write_dependency, write_graph);
  return std::move(out).str();
}

}  // namespace vtrain
