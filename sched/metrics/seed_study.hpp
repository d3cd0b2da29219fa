/// Metrics of policies under several seeds: means, differences, and how sure they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sched/metrics/metric_table.hpp"
#include "sched/metrics/metrics.hpp"

namespace vtrain {

/// The share of the intervals below that hold the true mean.
inline constexpr double kSeedCoverage = 0.95;

/// Mean of some values with its confidence interval, by Student's t.
struct Estimate {
  double mean = 0;           ///< NaN without values
  double half_width = 0;     ///< half of the interval; infinite for one value
  std::int64_t samples = 0;  ///< values that exist

  /// True if the interval does not hold 0: the mean is larger than the noise.
  bool is_clear() const { return mean - half_width > 0 || mean + half_width < 0; }
};

/// Estimates the mean of the values that are numbers.
Estimate estimate_of(std::span<const double> values);

/// The values of `run_metrics` of one replay.
class RunValues {
 public:
  /// A replay without values: all are NaN.
  RunValues();
  /// The values of a replay.
  explicit RunValues(const Summary& summary);

  /// Value of a metric, which is an element of `run_metrics`.
  double of(const Metric& metric) const;
  /// Sets the value of such a metric.
  void set(const Metric& metric, double value);

 private:
  std::vector<double> values_;  ///< one for each of `run_metrics`
};

/// The metrics of all policies under one seed.
struct SeededRuns {
  std::uint64_t seed = 0;           ///< seed of everything random
  std::vector<RunValues> values{};  ///< one for each policy
};

/// Replays of the same question under several seeds. Under one seed all policies have the same jobs (common
/// random numbers), so that differences are paired by seed. A policy that was not replayed has no values
/// under any seed.
struct SeedStudy {
  std::vector<std::string> policies{};  ///< names, two of which never agree
  std::vector<SeededRuns> seeds{};      ///< in ascending order of the seeds
  std::string resampled = "none";       ///< what each seed draws anew of a trace: `none`, `days`, `weeks`

  /// The values of a metric under one policy, by seed.
  std::vector<double> values(const Metric& metric, std::size_t policy) const;
  /// The mean of a metric under one policy.
  Estimate mean(const Metric& metric, std::size_t policy) const;
  /// The mean difference of one policy from another, paired by seed.
  Estimate difference(const Metric& metric, std::size_t policy, std::size_t from) const;
};

}  // namespace vtrain
