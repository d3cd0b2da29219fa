/// The backfilling policies in the simplest form: lists that are walked and a timeline that is searched again
/// each time. The policies themselves must give the same schedules.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sched/simulation/policy.hpp"
#include "sched/simulation/simulation.hpp"
#include "tests/unit/policies/workload_support.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain::testing {

std::unique_ptr<Policy> reference_easy_fast();
/// EASY with the queue in the order of arrival, or of time limits if `ascending_walltime`.
std::unique_ptr<Policy> reference_easy(bool ascending_walltime);
/// Conservative backfilling that renews every reservation whenever a job ends. Appends the begin of each
/// job's first reservation to `first_promises`, in order of arrival.
std::unique_ptr<Policy> reference_conservative(std::vector<SimTime>& first_promises);

/// The textbook's EASY, which plans with counts and recomputes everything in every pass.
std::unique_ptr<Policy> textbook_easy(bool ascending_walltime);
/// The textbook's conservative backfilling. Appends to `first_promises` as `reference_conservative`.
std::unique_ptr<Policy> textbook_conservative(std::vector<SimTime>& first_promises);

/// Time limits of random jobs, relative to their durations.
enum class Walltimes {
  Exact,  ///< no time limit: the duration is known
  Tight,  ///< one second above the duration
  Over,   ///< up to ten times the duration
  Short,  ///< half to twice the duration: some jobs are ended before they complete
};

/// `num_jobs` random jobs of at most `max_gpus` GPUs, with few different times, so that many events are at
/// one instant.
Workload random_workload(std::uint64_t seed, int num_jobs, int max_gpus, Walltimes walltimes);

/// True if every job ran to its end.
bool all_ended(const SimulationResult& result);
/// Checks that a policy, given by its spec, schedules random workloads of every kind as its reference does.
void check_against_reference(const std::string& policy,
                             const std::function<std::unique_ptr<Policy>()>& make_reference,
                             int num_jobs = 400);

/// Checks that random workloads of every kind run to their ends although `yarn` placement leaves free GPUs
/// that a gang cannot use.
void check_all_end_under_yarn(const std::string& policy);

/// Start times of the jobs on a node of 8 GPUs under a policy, given by its spec.
std::vector<double> start_times_s(const std::vector<JobLine>& jobs, const std::string& policy);

}  // namespace vtrain::testing
