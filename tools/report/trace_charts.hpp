/// The numbers of the pictures of a trace, as the JSON that report.js reads; null if there is nothing to
/// draw.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "traces/editing/statistics.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain::report {

/// Names of the counted quantities, in the order of the lines of most pictures.
inline constexpr std::array<std::string_view, 2> kWorkNames = {"jobs", "GPU-hours"};

/// Run times in ascending order, with the jobs and the GPU-hours up to each.
struct WeightedDurations {
  std::vector<double> seconds;
  /// Sums over this and all shorter run times, by position in `kWorkNames`.
  std::array<std::vector<double>, 2> up_to;

  /// Smallest run time such that jobs up to it are at least `percent` of the jobs (`name` 0) or GPU-hours
  /// (1). Requires at least one run time.
  double percentile(std::size_t name, int percent) const;
};
/// Run times of the jobs with a known duration.
WeightedDurations weighted_durations(const Workload& workload);

/// Run times over jobs and over GPU-hours: `{"exact", "x": [seconds], "percent": [[...], [...]]}`.
nlohmann::json duration_json(const Workload& workload);
/// Gaps between submissions, as `duration_json` but with one line.
nlohmann::json gap_json(const Workload& workload);
/// Recorded waits, as `duration_json` but with one line.
nlohmann::json recorded_wait_json(const Workload& workload);

/// Jobs and GPU-hours by powers of two of GPUs: `{"labels", "amounts": [[jobs], [GPU-hours]], "totals"}`.
nlohmann::json work_by_size_json(const TraceStatistics& statistics);
/// Jobs and GPU-hours by name; all beyond the tenth together. Null for fewer than two names.
nlohmann::json work_by_name_json(std::span<const NamedShare> shares, const TraceStatistics& statistics);
/// Jobs and GPU-hours by hour of the day, for submissions over two days or more.
nlohmann::json work_by_hour_json(const Workload& workload);

/// Jobs and GPU-hours submitted in at most 300 equal spans, in per cent of all:
/// `{"x": [seconds], "submitted": [{"mean"}, {"mean"}]}`.
nlohmann::json submitted_json(const Workload& workload);
/// GPUs in use if every job started at once: `{"exact", "x", "demand": [{"mean", "low", "high"}]}`.
nlohmann::json demand_json(const Workload& workload);

}  // namespace vtrain::report
