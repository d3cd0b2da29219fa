/// All placements. The description of each opens its source file.
#pragma once

#include <memory>

#include "sched/placement/placement.hpp"

namespace vtrain {

/// Each function makes one placement with an empty cluster, for the jobs of a workload.
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
