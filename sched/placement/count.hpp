/// `count`: the cluster is one number of free GPUs; a gang fits if enough of them are free anywhere. Where
/// jobs ask for GPU types, it is one number for each type; a gang that asks for none takes GPUs of any, those
/// of the type that the cluster names first before others.
#pragma once

#include <memory>

#include "sched/placement/placement.hpp"

namespace vtrain {

/// An empty cluster under it, for the jobs of a workload.
std::unique_ptr<Placement> make_count_placement(const ClusterSpec& cluster, const Workload& workload);

}  // namespace vtrain
