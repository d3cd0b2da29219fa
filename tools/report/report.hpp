/// The page of `vtrain compare`: one self-contained HTML file that compares policies.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sched/cluster/cluster.hpp"
#include "sched/metrics/metrics.hpp"
#include "sched/simulation/simulation.hpp"
#include "tools/report/seed_tables.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// One policy's schedule. `result` must outlive the call and have one outcome for each job of the workload.
struct ReportRun {
  Summary summary;                           ///< metrics of the schedule
  const SimulationResult* result = nullptr;  ///< schedule with one outcome for each job
};

/// Contents of the page. The texts may hold any bytes; they are escaped.
struct ReportInput {
  const Workload* workload = nullptr;  ///< jobs of all runs; never null
  ClusterSpec cluster;                 ///< cluster of all runs
  bool gpus_are_shared = false;        ///< jobs may share a GPU, each using a part
  std::string trace_name;              ///< name of the trace in the title
  bool deadlines_are_made = false;     ///< a rule made the deadlines; the trace has none
  std::string
      interruption_cost{};      ///< sentence on the cost of preemption and resizing; empty if neither happens
  std::vector<ReportRun> runs;  ///< one or more, in the order of the table
  /// The policies of `runs` over several seeds, which give the answer; none: the runs do.
  std::optional<SeedComparison> seeds{};
  std::string detail{};  ///< the runs in a word or two, beside `seeds`: `Seed 1`, `The trace`
  /// Label and value, shown in this order: inputs with hashes, seeds, versions, the command to repeat it.
  std::vector<std::pair<std::string, std::string>> provenance;
  std::vector<std::string> assumptions;  ///< synthetic or assumed values, one sentence each
};

/// The whole page: the answer in a sentence, the table of metrics, pictures, provenance. It works offline and
/// has the same bytes for the same input. It stays below 1 MB for up to a dozen policies and any number of
/// jobs. Time series are reduced to at most 500 spans with their smallest, mean and largest value;
/// distributions to 500 points. The Gantt chart is present if all segments were recorded. If a policy has
/// very many, the chart shows those with the most GPU time, and says so. Throws std::logic_error for an input
/// without workload, runs or results. O(n log n) in the number of jobs.
std::string render_report(const ReportInput& input);

}  // namespace vtrain
