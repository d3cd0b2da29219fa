/// The backfilling policies in the plainest form, as their semantics read: lists that are walked and a
/// profile that is searched anew each time. The policies themselves must give the same schedules.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sched/policy.hpp"
#include "sched/simulator.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain::testing {

std::unique_ptr<Policy> reference_easy_fast();
/// With the queue in the order of arrival or of wall times.
std::unique_ptr<Policy> reference_easy(bool ascending_walltime);
/// Renews every reservation whenever something ends. Appends to `first_promises` where each job's first
/// reservation begins, in order of arrival.
std::unique_ptr<Policy> reference_conservative(std::vector<SimTime>& first_promises);

/// How the wall times of random jobs relate to their durations.
enum class Walltimes {
  Exact,  ///< none requested: the duration is known
  Tight,  ///< one second more
  Over,   ///< up to ten times the duration
  Short,  ///< from half the duration to twice: some jobs are ended before their work is done
};

/// `num_jobs` random jobs of at most `max_gpus` GPUs, in few different times, so that many things happen at
/// one instant.
Workload random_workload(std::uint64_t seed, int num_jobs, int max_gpus, Walltimes walltimes);

/// Replays on nodes of 8 GPUs; a failure ends the test case.
SimulationResult replay(const Workload& workload, int num_gpus, Policy& policy,
                        PlacementKind placement = PlacementKind::Count);
/// Jobs whose start, end or state differ.
int count_differences(const SimulationResult& a, const SimulationResult& b);
/// Whether every job ran to its end.
bool all_ended(const SimulationResult& result);
/// Checks that a policy, by its spec, schedules random workloads of every kind as its reference does.
void check_against_reference(const std::string& policy,
                             const std::function<std::unique_ptr<Policy>()>& make_reference);

/// Checks that random workloads of every kind run to their ends although `yarn` placement leaves free GPUs
/// that a gang cannot have.
void check_all_end_under_yarn(const std::string& policy);

/// A job in whole seconds, for small examples; 0 requested is none.
struct PlainJob {
  int submit_s;
  int num_gpus;
  int duration_s;
  int requested_s = 0;
};

Workload make_workload(const std::vector<PlainJob>& jobs);
/// When the jobs start under a policy, by its spec.
std::vector<double> start_times_s(const std::vector<PlainJob>& jobs, int num_gpus, const std::string& policy);

}  // namespace vtrain::testing
