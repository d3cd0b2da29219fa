/// `best-fit`: the node on which the least is free after the gang has come, and on it the GPU with the least
/// free that suffices. Gangs larger than a node and jobs on part of a GPU:
/// `sched/placement/sharing_placement.hpp`.
#pragma once

#include <memory>

#include "sched/placement/placement.hpp"

namespace vtrain {

/// An empty cluster under it, for the jobs of a workload.
std::unique_ptr<Placement> make_best_fit_placement(const ClusterSpec& cluster, const Workload& workload);

}  // namespace vtrain
