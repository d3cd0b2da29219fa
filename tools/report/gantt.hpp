/// Layout of segments in a Gantt chart: time runs across, GPUs run down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sched/cluster/cluster.hpp"
#include "sched/disruption/outage.hpp"
#include "sched/simulation/simulation.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain::report {

/// One bar: `num_lanes` neighbouring GPUs from `first_lane` on, held by one job from `begin` to `end`.
struct GanttBar {
  JobId job;
  SimTime begin{};
  SimTime end{};
  std::int32_t first_lane = 0;
  std::int32_t num_lanes = 0;
};

/// Chooses the lanes of each segment: among the GPUs of its nodes, or of the whole cluster without nodes. It
/// takes the lowest gap that holds the gang's share in one piece, else the lowest free lanes. Lanes number
/// the GPUs of the cluster from 0, node after node. Neighbouring lanes of a segment are one bar, even across
/// nodes. Bars are in order of begin; the bars of a segment are adjacent. Impossible segments (more GPUs at
/// once than exist) are cut to the free lanes. O(runs x (log runs + GPUs)).
std::vector<GanttBar> lay_out_gantt(const ClusterSpec& cluster, std::span<const JobSegment> runs);

/// Segments that a chart of bounded size draws.
struct DrawnSegments {
  std::vector<JobSegment> segments;  ///< order as given
  double gpu_time_ratio = 1;         ///< share of these segments in all GPU time
};

/// Keeps the `most` segments with the most GPU time; among equal ones the first. O(n log n).
DrawnSegments largest_segments(std::span<const JobSegment> segments, std::size_t most);

/// A node out of service: all of its GPUs.
struct OutageBar {
  Outage outage;
  std::int32_t first_lane = 0;
  std::int32_t num_lanes = 0;
};

/// The bars of outages, in their order, with the numbers of lanes that `lay_out_gantt` gives.
std::vector<OutageBar> lay_out_outages(const ClusterSpec& cluster, std::span<const Outage> outages);

}  // namespace vtrain::report
