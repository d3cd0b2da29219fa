/// Algorithm 1 of the vTrain paper (Bang et al., MICRO 2024): when each task of an execution graph starts.
#pragma once

#include <vector>

#include "core/graph/execution_graph.hpp"

namespace vtrain {

/// Start of every task in ns, [tasks]: the largest start + duration + gap of the tasks it depends on, 0
/// without any.
///
/// Ready tasks (all dependencies done) wait in a FIFO; the result does not depend on its order. Linear in
/// tasks and dependencies. Throws `std::logic_error` if tasks wait for each other in a circle.
std::vector<double> simulate_graph(const ExecutionGraph& execution_graph);

}  // namespace vtrain
