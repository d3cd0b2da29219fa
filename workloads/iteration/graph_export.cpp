#include "workloads/iteration/graph_export.hpp"

#include <boost/graph/graphviz.hpp>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/graph/execution_graph.hpp"
#include "workloads/iteration/graph_builder.hpp"
#include "workloads/iteration/iteration_times.hpp"
#include "workloads/iteration/iteration_work.hpp"

namespace vtrain {
namespace {

/// A kind in words: `weight gradient`, `tensor communication`.
std::string_view kind_name(TaskKind kind) {
  switch (kind) {
    case TaskKind::Forward:
      return "forward";
    case TaskKind::Backward:
      return "backward";
    case TaskKind::WeightGradient:
      return "weight gradient";
    case TaskKind::Recompute:
      return "recompute";
    case TaskKind::Optimizer:
      return "optimizer";
    case TaskKind::TensorComm:
      return "tensor communication";
    case TaskKind::DataComm:
      return "data communication";
    case TaskKind::PipelineComm:
      return "pipeline communication";
  }
  return "";
}

/// A task's own name, or, of a whole block, its kind.
std::string shown_name(const IterationWork& work, const Task& task) {
  const bool is_block = task.op == Task::kNoOperator && task.kind != TaskKind::PipelineComm;
  return is_block && task.duration_ns > 0 ? std::string(kind_name(task.kind)) : task_name(work, task);
}

/// Names out of the fixed palette of the trace viewer (catapult's color_scheme.html).
std::string_view trace_colour(TaskKind kind) {
  switch (kind) {
    case TaskKind::Forward:
      return "good";
    case TaskKind::Backward:
      return "rail_response";
    case TaskKind::WeightGradient:
      return "rail_animation";
    case TaskKind::Recompute:
      return "yellow";
    case TaskKind::Optimizer:
      return "olive";
    case TaskKind::TensorComm:
      return "rail_load";
    case TaskKind::DataComm:
      return "terrible";
    case TaskKind::PipelineComm:
      return "grey";
  }
  return "";
}

struct Slice {
  std::string_view name;  ///< name as a JSON string, quoted
  std::string_view category;
  std::string_view colour;
  double start_ns = 0;
  double end_ns = 0;
};

class TimelineWriter {
 public:
  explicit TimelineWriter(const IterationWork& work) : work_(work) {
    text_ = R"({"displayTimeUnit":"ms","traceEvents":[)";
    text_ += R"({"ph":"M","pid":0,"name":"process_name","args":{"name":"pipeline"}})";
    for (std::size_t stage = 0; stage < work.stages.size(); ++stage) {
      fmt::format_to(
          std::back_inserter(text_),
          ",\n"
          R"({{"ph":"M","pid":0,"tid":{0},"name":"thread_name","args":{{"name":"stage {0}"}}}})"
          ",\n"
          R"({{"ph":"M","pid":0,"tid":{0},"name":"thread_sort_index","args":{{"sort_index":{0}}}}})",
          stage);
    }
  }

  void write(const Task& task, double start_ns) {
    if (task.kind == TaskKind::PipelineComm) {
      write_message(task, start_ns);
      return;
    }
    const Send* const send = send_after(work_.stages[task.stage], task);
    const double send_ns = send != nullptr ? send->stall().count() : 0;
    const double end_ns = start_ns + task.duration_ns + task.gap_ns;
    const std::string name = nlohmann::json(shown_name(work_, task)).dump();
    write_slice(task, {.name = name,
                       .category = kind_name(task.kind),
                       .colour = trace_colour(task.kind),
                       .start_ns = start_ns,
                       .end_ns = end_ns - send_ns});
    if (send_ns > 0) {
      write_slice(task, {.name = "\"send\"",
                         .category = "pipeline communication",
                         .colour = "grey",
                         .start_ns = end_ns - send_ns,
                         .end_ns = end_ns});
    }
  }

  std::string finish() && {
    text_ += "\n]}\n";
    return std::move(text_);
  }

 private:
  /// Rounding both ends, not the length, keeps neighbours from overlapping.
  void write_slice(const Task& task, const Slice& slice) {
    const auto start = static_cast<double>(std::llround(slice.start_ns));
    const auto end = static_cast<double>(std::llround(slice.end_ns));
    fmt::format_to(
        std::back_inserter(text_),
        ",\n"
        R"({{"ph":"X","pid":0,"tid":{},"ts":{:.3f},"dur":{:.3f},"name":{},"cat":"{}","cname":"{}")",
        task.stage, start / 1000, (end - start) / 1000, slice.name, slice.category, slice.colour);
    write_arguments(task);
    text_ += '}';
  }

  /// Messages of one stage may overlap each other and its blocks, which slices of one track must not: they
  /// are asynchronous events, each with its own name.
  void write_message(const Task& task, double start_ns) {
    ++num_messages_;
    for (const auto& [phase, time_ns] :
         {std::pair('b', start_ns), std::pair('e', start_ns + task.duration_ns)}) {
      fmt::format_to(std::back_inserter(text_),
                     ",\n"
                     R"({{"ph":"{}","pid":0,"tid":{},"ts":{:.3f},"id":{},"name":"send","cat":"{}")",
                     phase, task.stage, static_cast<double>(std::llround(time_ns)) / 1000, num_messages_,
                     kind_name(task.kind));
      write_arguments(task);
      text_ += '}';
    }
  }

  void write_arguments(const Task& task) {
    if (task.micro_batch < 0) return;
    fmt::format_to(std::back_inserter(text_), R"(,"args":{{"micro_batch":{})", task.micro_batch);
    if (work_.stages[task.stage].chunks.size() > 1) {
      fmt::format_to(std::back_inserter(text_), R"(,"chunk":{})", task.chunk);
    }
    text_ += '}';
  }

  const IterationWork& work_;
  std::string text_;
  std::int64_t num_messages_ = 0;
};

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

/// Escapes backslashes and quotes of a name for DOT.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

/// True if the tasks of a graph are whole blocks, which are few enough for a picture.
bool has_blocks_alone(const ExecutionGraph& graph) {
  for (TaskId task = 0; task < graph.num_tasks(); ++task) {
    if (graph[task].op != Task::kNoOperator) return false;
  }
  return true;
}

/// The label of a block: its kind, micro-batch and time.
std::string block_node(const IterationWork& work, TaskId id, const Task& task) {
  const std::string micro_batch = task.micro_batch < 0 ? "" : fmt::format(" {}", task.micro_batch);
  const bool has_chunks = work.stages[task.stage].chunks.size() > 1 && task.micro_batch >= 0;
  return fmt::format("{}[label=\"{}{}{}\\n{:.4g} ms\",fillcolor={}];\n", id, escaped(shown_name(work, task)),
                     micro_batch, has_chunks ? fmt::format(", chunk {}", task.chunk) : "",
                     task.duration_ns / 1e6, fill_colour(task.kind));
}

/// Blocks as DOT, with a cluster for each stage.
std::string block_dot(const IterationWork& work, const ExecutionGraph& graph) {
  std::vector<std::string> clusters(work.stages.size());
  for (TaskId task = 0; task < graph.num_tasks(); ++task)
    clusters[graph[task].stage] += block_node(work, task, graph[task]);
  std::string text = "digraph G {\nrankdir=LR;\nnode [shape=box, style=filled];\n";
  for (std::size_t stage = 0; stage < clusters.size(); ++stage)
    text += fmt::format("subgraph cluster_{0} {{\nlabel=\"stage {0}\";\n{1}}}\n", stage, clusters[stage]);
  const auto [first, last] = boost::edges(graph.graph);
  for (auto edge = first; edge != last; ++edge)
    text += fmt::format("{}->{};\n", boost::source(*edge, graph.graph), boost::target(*edge, graph.graph));
  return text + "}\n";
}

}  // namespace

std::string timeline_json(const IterationWork& work, const ExecutionGraph& graph) {
  const std::vector<double> start = simulate_graph(graph);
  TimelineWriter writer(work);
  for (TaskId task = 0; task < graph.num_tasks(); ++task)
    writer.write(graph[task], start[task]);
  return std::move(writer).finish();
}

std::string graph_dot(const IterationWork& work, const ExecutionGraph& graph) {
  if (has_blocks_alone(graph)) return block_dot(work, graph);
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
