/// `buddy`: buddy allocation. The GPUs of equal nodes of one type form one row, in which a node takes a power
/// of two of places, and blocks of 1, 2, 4, ... places begin at multiples of their size. A gang goes into the
/// smallest free block with enough GPUs, of equal ones the first in the tree of blocks: level by level from
/// the row down, each from its beginning (blocks of several levels have as many GPUs where places are without
/// one). The block is halved as long as its first half has enough, the gang takes the first GPUs of what
/// remains, and all the rest stays free as smaller blocks. Blocks that come free join their free neighbours.
/// So a gang waits while no aligned block is free, however many GPUs are, and large blocks are kept whole for
/// large gangs.
#pragma once

#include <memory>

#include "sched/placement/placement.hpp"

namespace vtrain {

/// An empty cluster under it, for the jobs of a workload.
std::unique_ptr<Placement> make_buddy_placement(const ClusterSpec& cluster, const Workload& workload);

}  // namespace vtrain
