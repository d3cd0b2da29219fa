/// `yarn`: a gang of at most the largest node's size goes to the first node with room. A larger one takes
/// wholly free nodes in index order, each no larger than what it still needs, and for the rest the first
/// other node with room (Tiresias, NSDI'19, the simulator's "yarn" scheme, which knows equal nodes only).
#pragma once

#include <memory>

#include "sched/placement/placement.hpp"

namespace vtrain {

/// An empty cluster under it, for the jobs of a workload.
std::unique_ptr<Placement> make_yarn_placement(const ClusterSpec& cluster, const Workload& workload);

}  // namespace vtrain
