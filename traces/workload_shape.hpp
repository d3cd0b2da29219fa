/// The shape of two published traces, as tables that the generator draws from.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "core/result.hpp"
#include "core/units.hpp"

namespace vtrain {

/// How many jobs ask for this many GPUs.
struct GangWeight {
  GpuCount num_gpus{1};
  double weight = 0;  ///< number of jobs in the published trace
};

/// Run times of the jobs of some gang sizes.
struct DurationQuantiles {
  /// The fractions at which quantiles are kept: 0 is the shortest job, 1 the longest.
  static constexpr std::array<double, 12> kFractions = {0,    0.10, 0.25, 0.50,  0.75,  0.90,
                                                        0.95, 0.98, 0.99, 0.995, 0.999, 1};

  GpuCount most_gpus{1};  ///< holds for gangs up to this size, and above the size of the entry before
  std::array<double, kFractions.size()> seconds{};

  /// The run time that a fraction of jobs does not exceed: between the kept quantiles the logarithm is
  /// linear.
  Seconds at(double fraction) const;
  /// The fraction of jobs that do not exceed this run time: the inverse of `at`.
  double fraction_below(Seconds duration) const;
};

/// What is known of a published trace.
struct WorkloadShape {
  std::string_view name;
  std::string_view summary;
  std::span<const GangWeight> gangs;
  std::span<const DurationQuantiles> durations;  ///< ordered by `most_gpus`
  double day_amplitude =
      0;  ///< the rate of submission is proportional to 1 + amplitude x cos(2 pi (t - peak) / day)
  Seconds day_peak{0};  ///< when in the day the rate is highest
  /// The standard deviation of the logarithm of the gaps between submissions, for log-normal gaps.
  double gap_sigma = 0;

  const DurationQuantiles& durations_of(GpuCount num_gpus) const;
};

/// `itp` and `philly`.
std::span<const WorkloadShape> workload_shapes();

/// The shape of this name; the error lists the known ones.
Result<WorkloadShape> find_workload_shape(std::string_view name);

}  // namespace vtrain
