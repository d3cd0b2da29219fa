/// The policies of a scenario against the schedule that its trace recorded.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "sched/metrics/job_groups.hpp"
#include "sched/metrics/schedule_validation.hpp"
#include "tools/experiment/scenario.hpp"

namespace vtrain {

/// Waits of one group of jobs.
struct GroupWaits {
  std::string name{};   ///< group's name; empty for the jobs without a tenant, queue, ...
  WaitErrors errors{};  ///< errors of its waits
};

/// One policy against the record.
struct PolicyValidation {
  std::string policy{};                   ///< spec as given
  WaitErrors errors{};                    ///< waits of all jobs
  Verdict verdict = Verdict::FewJobs;     ///< answer on all jobs
  UseOverTime use{};                      ///< GPUs in use under the policy
  double mean_use_difference = kNoValue;  ///< mean absolute difference from the recorded use
  std::vector<GroupWaits> groups{};       ///< groups with jobs, in the order of the trace
};

/// All policies against the record.
struct ScheduleValidation {
  JobGrouping grouping = JobGrouping::Size;  ///< property that groups the jobs
  SubmissionIntervals intervals{};           ///< intervals of both uses
  UseOverTime recorded{};                    ///< GPUs in use in the log
  std::vector<PolicyValidation> policies{};  ///< policies in the order of the spec, at least one

  /// The policy with the smallest mean error. One that repeats the log (`recorded`) counts only if there is
  /// no other.
  const PolicyValidation& nearest() const;
};

/// Error if a spec changes the jobs or replays others than the recorded ones. It names the option.
Result<void> check_validation(const ScenarioSpec& spec);

/// Replays the jobs under every policy and compares the waits with the recorded ones. `runs` receives the
/// replays. Errors: no job has a recorded start; those of `Scenario::run_all`.
Result<ScheduleValidation> validate_schedule(const Scenario& scenario, RunOptions options,
                                             std::vector<RunResult>& runs);

}  // namespace vtrain
