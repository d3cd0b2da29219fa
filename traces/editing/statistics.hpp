/// Statistics of a trace, for `vtrain trace info`.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Minimum, mean, maximum and percentiles of durations.
struct Distribution {
  /// The percentiles that are kept, in per cent.
  static constexpr std::array<int, 7> kPercents = {10, 25, 50, 75, 90, 95, 99};

  std::int64_t count = 0;
  SimDuration minimum{};
  SimDuration maximum{};
  Seconds mean{0};
  /// Percentiles by nearest rank: the smallest value of the sample that at least p per cent of all values do
  /// not exceed.
  std::array<SimDuration, kPercents.size()> percentiles{};
};

/// The distribution of a sample, all 0 if it is empty. Reorders `values`.
Distribution describe(std::vector<SimDuration>& values);

/// Jobs with a common property, and their GPU-hours.
struct JobShare {
  std::int64_t jobs = 0;
  double gpu_hours = 0;
};

/// The jobs with a common name, for instance a tenant.
struct NamedShare {
  std::string name;
  JobShare share;
};

/// The first shares of a list, and the sum of the others.
struct FirstShares {
  std::span<const NamedShare> shown;
  JobShare others{};
  std::int64_t num_others = 0;
};

/// The first `most` shares or fewer, in the given order.
FirstShares first_shares(std::span<const NamedShare> shares, std::size_t most);

/// Sums over the jobs of a trace.
struct TraceTotals {
  std::int64_t jobs = 0;
  SimTime first_submit{};
  SimTime last_submit{};
  double gpu_hours = 0;       ///< sum of GPUs x duration; a shared GPU counts as a whole one
  double used_gpu_hours = 0;  ///< sum of used parts of GPUs x duration
  std::int64_t unpriced = 0;  ///< jobs whose duration is not known yet; they add no GPU-hours

  /// Time from the first submission to the last.
  SimDuration span() const { return last_submit - first_submit; }
  /// `used_gpu_hours` if jobs share GPUs, otherwise `gpu_hours`.
  double gpu_hours_of(bool gpus_are_shared) const { return gpus_are_shared ? used_gpu_hours : gpu_hours; }
  /// Submitted work divided by the work that the cluster can do in `span()`: GPU-hours / (GPUs x hours). NaN
  /// when the span is 0.
  double offered_load(GpuCount cluster, bool gpus_are_shared = false) const;
};

/// Sums over `workload`, which is ordered by submission. O(n).
TraceTotals trace_totals(const Workload& workload);

/// Totals of a trace, and distributions of its jobs.
struct TraceStatistics : TraceTotals {
  std::int64_t with_work = 0;  ///< jobs with a number of iterations
  std::int64_t with_deadline = 0;
  std::int64_t with_requested_time = 0;
  std::int64_t with_original_start = 0;
  std::int64_t on_shared_gpus = 0;               ///< jobs that use a part of each GPU
  std::int64_t elastic = 0;                      ///< jobs with a largest number of GPUs
  std::map<std::int32_t, JobShare> by_num_gpus;  ///< GPUs of a job -> jobs with this number
  // Shares with a name, most GPU-hours first, then by name:
  std::vector<NamedShare> tenants;
  std::vector<NamedShare> users;
  std::vector<NamedShare> gpu_types;
  std::vector<NamedShare> models;
  /// Jobs by status, in the order of `JobStatus`; empty if no job has one.
  std::vector<NamedShare> statuses;
  Distribution duration;       ///< durations of jobs whose duration is known
  Distribution inter_arrival;  ///< gaps between consecutive submissions
  Distribution recorded_wait;  ///< times from submission to recorded start, of jobs with such a start
};

/// Statistics of `workload`, which is ordered by submission. O(n log n).
TraceStatistics trace_statistics(const Workload& workload);

}  // namespace vtrain
