/// `fgd`: fragmentation gradient descent (Weng et al., USENIX ATC'23). The node whose fragmentation F_n
/// (`sched/placement/fragmentation.hpp`) grows least, or falls most, when the gang comes, and on it the GPU
/// for which that is so. Gangs larger than a node and jobs on part of a GPU:
/// `sched/placement/sharing_placement.hpp`.
///
/// What is published differs in that it compares floor(100 x sigmoid(change / 1000)); here the changes
/// themselves are compared. The sizes of jobs are those of the whole workload, so that this placement knows
/// what will come, as the published one does.
#pragma once

#include <memory>

#include "sched/placement/fragmentation.hpp"
#include "sched/placement/placement.hpp"

namespace vtrain {

/// An empty cluster under it, for the jobs of a workload.
std::unique_ptr<Placement> make_fgd_placement(const ClusterSpec& cluster, const Workload& workload);

/// What is left of a node's room after a gang has come: of whole GPUs, or, if it needs less than a GPU, of
/// one with exactly `part` free, `kWholeGpu` for a whole one. `left` keeps the parts that the result refers
/// to.
NodeRoom room_after(const NodeRoom& room, const GangRequest& request, std::int16_t part,
                    std::vector<std::int16_t>& left);

}  // namespace vtrain
