/// Where each stretch of a job is drawn in a Gantt chart: across is time, up and down are GPUs.
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

/// Gives each run the GPUs that it will be drawn on: those of its nodes, or of the whole cluster for a run
/// without nodes; the lowest gap that holds the gang's share in one piece, else the lowest free ones. Lanes
/// number the GPUs of the cluster from 0, node after node. Neighbouring lanes of a run are one bar, also
/// those of two nodes. In order of begin; the bars of a run follow each other. Runs that cannot have happened
/// (more GPUs at once than there are) are cut to what is free. O(runs x (log runs + GPUs)).
std::vector<GanttBar> lay_out_gantt(const ClusterSpec& cluster, std::span<const JobSegment> runs);

/// The stretches that a chart of bounded size draws.
struct DrawnSegments {
  std::vector<JobSegment> segments;  ///< in the order given
  double gpu_time_ratio = 1;         ///< their part of the GPU time of all
};

/// Keeps the `most` segments with the most GPU time; of equal ones the first. O(n log n).
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
