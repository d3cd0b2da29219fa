/// The page of `vtrain trace info --report`: contents of a trace in a sentence, tables and pictures.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sched/cluster/cluster.hpp"
#include "traces/editing/statistics.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Contents of the page. The texts may hold any bytes; they are escaped.
struct TraceReportInput {
  const Workload* workload = nullptr;           ///< one or more jobs, ordered by submission
  const TraceStatistics* statistics = nullptr;  ///< statistics of these jobs
  std::optional<ClusterSpec> cluster{};         ///< cluster that the offered load refers to
  std::string trace_name{};
  std::vector<std::string> assumptions{};  ///< a sentence each
  /// Label and value, shown in this order: files, skipped rows, versions, the command to repeat it.
  std::vector<std::pair<std::string, std::string>> provenance{};
};

/// The whole page. It works offline, stays below 1 MB for any number of jobs, and has the same bytes for the
/// same input. Throws std::logic_error for an input without jobs. O(n log n).
std::string render_trace_report(const TraceReportInput& input);

}  // namespace vtrain
