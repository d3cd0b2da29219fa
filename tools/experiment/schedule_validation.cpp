#include "tools/experiment/schedule_validation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace vtrain {
namespace {

/// Policy that repeats the log.
constexpr std::string_view kRepeatsLog = "recorded";

Error changes_jobs(std::string option) {
  return {.field = std::move(option), .message = "changes the recorded jobs: leave it out"};
}

/// The numbers of the jobs by group.
std::vector<std::vector<std::size_t>> members_of(const Workload& workload, const JobGroups& groups) {
  std::vector<std::vector<std::size_t>> members(groups.size());
  for (std::size_t i = 0; i < workload.jobs.size(); ++i)
    members[groups.of(workload.jobs[i])].push_back(i);
  return members;
}

/// The property that `--by` names, or else the first of some that tells jobs apart.
Result<JobGrouping> grouping_of(const Scenario& scenario) {
  const Workload& workload = scenario.workload();
  if (!scenario.spec().by.empty()) return parse_grouping(scenario.spec().by, workload);
  for (const JobGrouping grouping : {JobGrouping::Queue, JobGrouping::Tenant}) {
    const auto members = members_of(workload, JobGroups(workload, grouping));
    if (std::ranges::count_if(members, [](const auto& jobs) { return !jobs.empty(); }) > 1) return grouping;
  }
  return JobGrouping::Size;
}

}  // namespace

const PolicyValidation& ScheduleValidation::nearest() const {
  const PolicyValidation* best = nullptr;
  const auto rank = [](const PolicyValidation& policy) {
    const double error = policy.errors.mean_error_s;
    return std::pair(policy.policy == kRepeatsLog,
                     std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
  };
  for (const PolicyValidation& policy : policies) {
    if (best == nullptr || rank(policy) < rank(*best)) best = &policy;
  }
  return *best;
}

Result<void> check_validation(const ScenarioSpec& spec) {
  if (spec.trace.files.empty())
    return fail({.field = "trace", .message = "missing: name a trace with recorded starts"});
  const ScenarioSpec unchanged;
  const TransformationArguments& changes = spec.transformations;
  if (changes.load != unchanged.transformations.load) return fail(changes_jobs("--load"));
  if (changes.resample != unchanged.transformations.resample && changes.resample != "none")
    return fail(changes_jobs("--resample"));
  if (changes.run_times != unchanged.transformations.run_times) return fail(changes_jobs("--run-times"));
  if (spec.pricing.prediction_error != unchanged.pricing.prediction_error)
    return fail(changes_jobs("--prediction-error"));
  if (spec.disruptions.failures != unchanged.disruptions.failures)
    return fail(
        {.field = "--failures", .message = "random failures are not those of the log: use --outages"});
  for (const auto& [option, is_empty] :
       {std::pair("--seeds", spec.seeds.empty()), std::pair("--vary", spec.vary.empty()),
        std::pair("--goal", spec.goal.empty()), std::pair("--reference", spec.reference.empty())}) {
    if (!is_empty) return fail({.field = option, .message = "has no meaning here: leave it out"});
  }
  if (spec.cluster.empty())
    return fail({.field = "--cluster", .message = "missing: say for instance --cluster 64x8"});
  return {};
}

Result<ScheduleValidation> validate_schedule(const Scenario& scenario, RunOptions options,
                                             std::vector<RunResult>& runs) {
  const Workload& workload = scenario.workload();
  const bool has_starts =
      std::ranges::any_of(workload.jobs, [](const Job& job) { return job.original_start != Job::kNoStart; });
  if (!has_starts)
    return fail({.file = scenario.trace_name(),
                 .message = "expected a trace that says when its jobs started, found no recorded start"});
  const auto grouping = grouping_of(scenario);
  if (!grouping) return fail(grouping.error());
  options.record_segments = true;
  auto finished = scenario.run_all(options);
  if (!finished) return fail(std::move(finished.error()));
  runs = *std::move(finished);

  const GpuCount num_gpus = scenario.cluster().total_gpus();
  ScheduleValidation validation{.grouping = *grouping, .intervals = submission_intervals(workload)};
  validation.recorded =
      recorded_use(workload, validation.intervals, num_gpus, info_of(scenario.placement()).shares_gpus);
  const JobGroups groups(workload, *grouping);
  const auto members = members_of(workload, groups);
  for (const RunResult& run : runs) {
    const std::vector<JobOutcome>& outcomes = run.result.outcomes;
    PolicyValidation& policy = validation.policies.emplace_back();
    policy.policy = run.summary.policy;
    policy.errors = compare_waits(workload, outcomes);
    policy.verdict = verdict_on(policy.errors);
    policy.use = simulated_use(run.result, validation.intervals, num_gpus);
    policy.mean_use_difference = mean_difference(validation.recorded, policy.use, validation.intervals);
    for (std::size_t group = 0; group < members.size(); ++group) {
      if (!members[group].empty())
        policy.groups.push_back({groups.name(group), compare_waits(workload, outcomes, members[group])});
    }
  }
  return validation;
}

}  // namespace vtrain
