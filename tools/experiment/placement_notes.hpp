/// What users are told of placements: their names, and what one makes of a trace's GPU types and shares.
#pragma once

#include <string>
#include <vector>

#include "sched/cluster/cluster.hpp"
#include "sched/placement/placement.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// The help text of `--placement`: a line for each.
std::string placement_help();

/// What of the GPU types and shares that jobs ask for is ignored or cannot be had, a sentence each.
std::vector<std::string> placement_notes(const Workload& workload, const ClusterSpec& cluster,
                                         PlacementKind placement);

}  // namespace vtrain
