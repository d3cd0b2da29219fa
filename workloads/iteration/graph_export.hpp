/// Execution graphs for other programs: a timeline for Perfetto (https://ui.perfetto.dev) or
/// chrome://tracing, and a picture for Graphviz.
#pragma once

#include <string>

namespace vtrain {

struct ExecutionGraph;
struct IterationWork;

/// Simulates the graph of this work and writes it in Chrome's trace event format: one track a stage, one
/// slice a task (with the idle time within it) and one for every send that holds the stage, in microseconds
/// with whole nanoseconds. A message that travels while its stage continues is an asynchronous event. Each
/// slice has the name of its operator and its kind as `cat` and colour. Its arguments are its micro-batch
/// and, with virtual stages, its chunk.
std::string timeline_json(const IterationWork& work, const ExecutionGraph& graph);

/// The graph of this work in the DOT language: every task with its name, stage, chunk, micro-batch, duration
/// and the gap after it, coloured by kind.
std::string graph_dot(const IterationWork& work, const ExecutionGraph& graph);

}  // namespace vtrain
