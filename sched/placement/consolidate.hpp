/// `consolidate`: gangs as close together as the topology has room. The levels are NVLink island, node, rack
/// and the nodes of a GPU type. A gang goes to the lowest level of which one part has room for it, there to
/// the part with the least room; within it to as few parts of the level below as can be: the one with the
/// most room as long as it needs more than any has, then the tightest that has room for the rest (the rule of
/// Kueue's topology-aware scheduling). So it always finds a place when a type has enough free GPUs.
///
/// `consolidate-strict`: a gang of at most the size of the largest node waits for one node. A larger one
/// waits for as many wholly free nodes of that size as it fills, and one node with room for the rest; all in
/// one rack if possible (that with the fewest such nodes that suffice), otherwise over as few racks as can
/// be.
#pragma once

#include <memory>

#include "sched/placement/placement.hpp"

namespace vtrain {

/// An empty cluster under each, for the jobs of a workload.
std::unique_ptr<Placement> make_consolidate_placement(const ClusterSpec& cluster, const Workload& workload);
std::unique_ptr<Placement> make_consolidate_strict_placement(const ClusterSpec& cluster,
                                                             const Workload& workload);

}  // namespace vtrain
