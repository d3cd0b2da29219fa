/// The backfilling policies in the plainest form, as their semantics read: lists that are walked and a
/// timeline that is searched anew each time. The policies themselves must give the same schedules.
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
/// With the queue in the order of arrival or of time limits.
std::unique_ptr<Policy> reference_easy(bool ascending_walltime);
/// Renews every reservation whenever something ends. Appends to `first_promises` where each job's first
/// reservation begins, in order of arrival.
std::unique_ptr<Policy> reference_conservative(std::vector<SimTime>& first_promises);

/// The textbook's policies, which plan with counts: everything is computed anew in every pass.
std::unique_ptr<Policy> textbook_easy(bool ascending_walltime);
/// Appends to `first_promises` as `reference_conservative`.
std::unique_ptr<Policy> textbook_conservative(std::vector<SimTime>& first_promises);

/// How the time limits of random jobs relate to their durations.
enum class Walltimes {
  Exact,  ///< none requested: the duration is known
  Tight,  ///< one second more
  Over,   ///< up to ten times the duration
  Short,  ///< from half the duration to twice: some jobs are ended before their work is done
};

/// `num_jobs` random jobs of at most `max_gpus` GPUs, in few different times, so that many things happen at
/// one instant.
Workload random_workload(std::uint64_t seed, int num_jobs, int max_gpus, Walltimes walltimes);

/// Whether every job ran to its end.
bool all_ended(const SimulationResult& result);
/// Checks that a policy, by its spec, schedules random workloads of every kind as its reference does.
void check_against_reference(const std::string& policy,
                             const std::function<std::unique_ptr<Policy>()>& make_reference,
                             int num_jobs = 400);

/// Checks that random workloads of every kind run to their ends although `yarn` placement leaves free GPUs
/// that a gang cannot have.
void check_all_end_under_yarn(const std::string& policy);

/// When the jobs start on a node of 8 GPUs under a policy, by its spec.
std::vector<double> start_times_s(const std::vector<JobLine>& jobs, const std::string& policy);

}  // namespace vtrain::testing
