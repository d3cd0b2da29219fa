/// The timeline of one iteration, for Perfetto (https://ui.perfetto.dev) or chrome://tracing.
#pragma once

#include <string>

#include "core/graph/execution_graph.hpp"
#include "workloads/iteration/iteration_work.hpp"

namespace vtrain {

/// Simulates the graph of this work and writes it in Chrome's trace event format: one track a stage, one
/// slice a task (with the idle time within it) and one for every send that holds the stage, in microseconds
/// with whole nanoseconds. A message that travels while its stage goes on is an asynchronous event. Each
/// slice has the name of its operator, its kind as `cat` and colour, and as arguments its micro-batch and,
/// with virtual stages, its chunk.
std::string timeline_json(const IterationWork& work, const ExecutionGraph& graph);

}  // namespace vtrain
