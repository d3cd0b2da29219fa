/// The page of `vtrain trace info --report`: what a trace holds, in a sentence, tables and pictures.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sched/cluster/cluster.hpp"
#include "traces/editing/statistics.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// What the page says. The texts may hold any bytes; they are escaped.
struct TraceReportInput {
  const Workload* workload = nullptr;           ///< at least one job, ordered by submission
  const TraceStatistics* statistics = nullptr;  ///< of these jobs
  std::optional<ClusterSpec> cluster{};         ///< what the offered load refers to
  std::string trace_name{};
  std::vector<std::string> assumptions{};  ///< a sentence each
  /// Label and value, shown in this order: files, skipped rows, versions, the command to repeat it.
  std::vector<std::pair<std::string, std::string>> provenance{};
};

/// The whole page. It asks the network for nothing, stays below 1 MB whatever the number of jobs, and is the
/// same bytes for the same input. Throws std::logic_error for an input without jobs. O(n log n).
std::string render_trace_report(const TraceReportInput& input);

}  // namespace vtrain
