/// Comparison of the objects of a cluster with each other: GPUs in use, quota in use.
#pragma once

#include "tools/live/live_state.hpp"

namespace vtrain {

/// Counts GPUs of running jobs as those of nodes that take no jobs where the others have too few, and as
/// those of a node that no file has where all have too few. Workloads do not tell their nodes.
void count_gpus_in_use(LiveState& state);

/// Compares the quota that queues say is held with that of the workloads.
void compare_usage(LiveState& state);

}  // namespace vtrain
