/// Errors of the estimates of starts that would have been made in the past of a log.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "policies/registry.hpp"
#include "sched/cluster/cluster.hpp"
#include "sched/placement/placement.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Real schedulers look at their queues once in a while: a start so long after a bound counts as within it.
inline constexpr SimDuration kSchedulingCycle = std::chrono::minutes(1);

/// Options of a back-test.
struct BacktestOptions {
  std::string policy = "easy";      ///< spec of the scheduler's policy
  std::int64_t submissions = 2000;  ///< most submissions for which an estimate is made, at random
  std::int64_t samples = 50;        ///< simulations for each
  std::uint64_t seed = 1;           ///< seed of the choice and of the draws
  unsigned threads = 0;             ///< 0: one per processor
  /// Starts that the scheduler itself estimated, by name of the job.
  std::map<std::string, SimTime, std::less<>> own_estimates{};
};

/// Errors of one way to estimate.
struct BacktestRow {
  std::string method{};        ///< name
  std::int64_t estimates = 0;  ///< submissions for which it gave an estimate
  double median_error_s = 0;   ///< median of the absolute errors of starts
  /// Median over jobs that waited more than a `kSchedulingCycle`; none if no job did.
  std::optional<double> waited_median_error_s{};
  double p90_error_s = 0;  ///< 90th percentile of the absolute errors
  double mean_bias_s = 0;  ///< mean of estimate - start: above 0 if estimates are too late
  // Parts of the starts that were not later than p50 or p90: of all, and of jobs that waited.
  std::optional<double> within_p50{};
  std::optional<double> within_p90{};
  std::optional<double> waited_within_p50{};
  std::optional<double> waited_within_p90{};
};

/// A back-test.
struct Backtest {
  std::vector<BacktestRow> rows{};  ///< vtrain's, then naive ones
  std::int64_t submissions = 0;     ///< submissions for which estimates were made
  std::int64_t at_once = 0;         ///< submissions of jobs that started within a `kSchedulingCycle`
  std::int64_t impossible = 0;      ///< submissions left out, as jobs then held more than there is
  std::int64_t without_start = 0;   ///< jobs of the log without a start
};

/// Makes estimates for submissions of a log as they would have been made then, from jobs that had ended, ran
/// and waited, and compares them with what happened. A submission counts if thirty jobs had ended before it.
/// Errors: those of `estimate_starts`; a log without starts; no submission that counts.
Result<Backtest> run_backtest(const Workload& log, const ClusterSpec& cluster, const BacktestOptions& options,
                              const PolicyRegistry& registry);

}  // namespace vtrain
