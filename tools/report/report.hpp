/// The page of `vtrain compare`: one self-contained HTML file that answers "which policy?".
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sched/cluster/cluster.hpp"
#include "sched/metrics/metrics.hpp"
#include "sched/simulation/simulation.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// One policy's schedule. `result` must outlive the call and have one outcome for each job of the workload.
struct ReportRun {
  Summary summary;
  const SimulationResult* result = nullptr;
};

/// What the page says. The texts may hold any bytes; they are escaped.
struct ReportInput {
  const Workload* workload = nullptr;
  ClusterSpec cluster;
  bool gpus_are_shared = false;  ///< jobs that use a part of a GPU leave the rest to others
  std::string trace_name;
  bool deadlines_are_made = false;  ///< the deadlines are not those of a recorded trace but made by a rule
  std::string
      interruption_cost{};      ///< what preemption and resizing cost, a sentence; empty if nothing does so
  std::vector<ReportRun> runs;  ///< at least one, in the order of the table
  /// Label and value, shown in this order: inputs with hashes, seeds, versions, the command to repeat it.
  std::vector<std::pair<std::string, std::string>> provenance;
  std::vector<std::string> assumptions;  ///< what is synthetic or assumed, one sentence each
};

/// The whole page: the answer in a sentence, the table of metrics, pictures, provenance. It asks the network
/// for nothing, stays below 1 MB for up to a dozen policies whatever the number of jobs (time series are
/// reduced to at most 500 spans of time with their smallest, mean and largest value, distributions to 500
/// points), and is the same bytes for the same input. The Gantt chart is there when all runs were recorded;
/// of a policy with very many segments it has those with the most GPU time, and says so. Throws
/// std::logic_error for an input without workload, runs or results. O(n log n) in the number of jobs.
std::string render_report(const ReportInput& input);

}  // namespace vtrain
