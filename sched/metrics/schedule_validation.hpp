/// Simulated schedules against the recorded one: waits job by job, and the GPUs in use over time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "sched/metrics/metrics.hpp"
#include "sched/simulation/result.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Reason for which the wait of a job is not compared.
enum class LeftOut : std::uint8_t {
  CancelledWhileWaiting,  ///< the log has no start, and the job was cancelled
  NoRecordedStart,        ///< the log has no start for another reason
  StartBeforeSubmission,  ///< the log has a start before the submission
  Rejected,               ///< the job was rejected in the simulation
  NeverStarted,           ///< the job still waited when the simulation ended
};
/// Number of values of `LeftOut`.
inline constexpr std::size_t kNumLeftOut = 5;

/// Names of a reason.
struct LeftOutInfo {
  std::string_view key;   ///< key in files
  std::string_view text;  ///< words behind a number of jobs
};
/// All reasons, in the order of the enumeration.
inline constexpr std::array<LeftOutInfo, kNumLeftOut> kLeftOut = {{
    {"cancelled_while_waiting", "cancelled while waiting"},
    {"no_recorded_start", "without a recorded start"},
    {"start_before_submission", "with a recorded start before submission"},
    {"rejected", "rejected in the simulation"},
    {"never_started", "never started in the simulation"},
}};

/// Reason for which a job is left out; none for a job that is compared.
std::optional<LeftOut> left_out(const Job& job, const JobOutcome& outcome);

/// Time from submission to the recorded start, of a job that has one.
SimDuration recorded_wait(const Job& job);

/// Simulated waits against recorded ones over a set of jobs. A wait ends at the first start. The difference
/// of a job is its simulated wait minus the recorded one, its error the absolute difference. Figures are over
/// the jobs that are compared, NaN for none. Percentiles are nearest-rank ones.
struct WaitErrors {
  std::int64_t jobs = 0;                             ///< all jobs of the set
  std::int64_t compared = 0;                         ///< jobs with both waits
  std::array<std::int64_t, kNumLeftOut> left_out{};  ///< the other jobs, by reason
  double median_error_s = kNoValue;                  ///< median error, seconds
  double p90_error_s = kNoValue;                     ///< 90th percentile of the error, seconds
  double mean_error_s = kNoValue;                    ///< mean error, seconds
  double median_difference_s = kNoValue;             ///< median difference, seconds
  double mean_wait_s = kNoValue;                     ///< mean simulated wait, seconds
  double recorded_mean_wait_s = kNoValue;            ///< mean recorded wait, seconds
  double mean_run_time_s = kNoValue;                 ///< mean run time, seconds
  /// Spearman's correlation of the waits; none for fewer than three jobs, and if all waits on one side are
  /// equal.
  std::optional<double> rank_correlation{};

  /// The larger of the two mean waits over the smaller one; infinite if one alone is 0, NaN if both are.
  double factor_of_means() const;
};

/// Compares the waits of these jobs of the workload; numbers are those of `Workload::jobs`. O(n log n).
WaitErrors compare_waits(const Workload& workload, std::span<const JobOutcome> outcomes,
                         std::span<const std::size_t> jobs);
/// Compares the waits of all jobs.
WaitErrors compare_waits(const Workload& workload, std::span<const JobOutcome> outcomes);

/// Largest factor between mean waits that are called close.
inline constexpr double kCloseFactor = 1.25;
/// Largest factor between mean waits of a rough stand-in.
inline constexpr double kRoughFactor = 2;

/// Likeness of a policy and the recorded scheduler.
enum class Verdict : std::uint8_t {
  Close,    ///< mean waits differ by at most `kCloseFactor`, and the rank correlation is at least 0.8
  Rough,    ///< by at most `kRoughFactor`, and it is at least 0.5
  Far,      ///< anything else
  NoWaits,  ///< both mean waits are below 1 % of the mean run time
  FewJobs   ///< fewer than 30 jobs are compared
};
/// `close`, `rough`, `far`, `no-waits`, `few-jobs`.
std::string_view name_of(Verdict verdict);
/// The verdict on figures over all jobs. If less than 90 % of them are compared, it is at best `Rough`.
Verdict verdict_on(const WaitErrors& errors);

/// Equal intervals from the first submission to the last one; the last may be shorter.
struct SubmissionIntervals {
  SimTime begin{};        ///< first submission
  SimTime end{};          ///< last submission
  SimDuration length{0};  ///< an hour; a 24th of the time if that is less than a day; 0 if it is empty

  /// Number of intervals.
  std::size_t size() const;
};
/// The intervals of a workload.
SubmissionIntervals submission_intervals(const Workload& workload);

/// Share of the GPUs that jobs held in each interval, as a mean over time. GPUs held beyond the cluster
/// count, so it may exceed 1. A part of a GPU counts as that part where GPUs are shared.
struct UseOverTime {
  std::vector<double> shares{};  ///< by interval
  double mean = kNoValue;        ///< over all intervals, weighted by their lengths
};
/// Use in the log: from each recorded start for the job's run time. O(n log n).
UseOverTime recorded_use(const Workload& workload, const SubmissionIntervals& intervals, GpuCount num_gpus,
                         bool gpus_are_shared);
/// Use in a replay with recorded segments. O(n log n).
UseOverTime simulated_use(const SimulationResult& result, const SubmissionIntervals& intervals,
                          GpuCount num_gpus);
/// Mean over time of the absolute difference of two uses; NaN without intervals.
double mean_difference(const UseOverTime& a, const UseOverTime& b, const SubmissionIntervals& intervals);

}  // namespace vtrain
