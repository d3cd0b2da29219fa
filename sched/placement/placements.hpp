/// All placements. What each is opens its source file.
#pragma once

#include <memory>

#include "sched/placement/placement.hpp"

namespace vtrain {

/// Each makes an empty cluster under one placement, for the jobs of a workload.
std::unique_ptr<Placement> make_best_fit_placement(const ClusterSpec& cluster, const Workload& workload);
std::unique_ptr<Placement> make_buddy_placement(const ClusterSpec& cluster, const Workload& workload);
std::unique_ptr<Placement> make_consolidate_placement(const ClusterSpec& cluster, const Workload& workload);
std::unique_ptr<Placement> make_consolidate_strict_placement(const ClusterSpec& cluster,
                                                             const Workload& workload);
std::unique_ptr<Placement> make_count_by_type_placement(const ClusterSpec& cluster, const Workload& workload);
std::unique_ptr<Placement> make_count_placement(const ClusterSpec& cluster, const Workload& workload);
std::unique_ptr<Placement> make_fgd_placement(const ClusterSpec& cluster, const Workload& workload);
std::unique_ptr<Placement> make_yarn_placement(const ClusterSpec& cluster, const Workload& workload);

}  // namespace vtrain
