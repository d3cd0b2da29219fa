/// Checks of whole replays for the tests of policies.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "policies/registry.hpp"
#include "sched/simulation/simulation.hpp"

namespace vtrain::testing {

/// Options of a replay in a test.
struct ReplayOptions {
  PlacementKind placement = PlacementKind::Count;
  bool record_segments = false;
  const Disruptions* disruptions = nullptr;
  GangSpeedModel* gang_speed_model = nullptr;
  const RunTimeErrors* run_time_errors = nullptr;
};

/// Replays a workload under a policy; a failure ends the test case.
inline SimulationResult replay(const Workload& workload, const ClusterSpec& cluster, Policy& policy,
                               const ReplayOptions& options = {}) {
  auto result = simulate(workload, cluster, policy,
                         {.placement = options.placement,
                          .record_segments = options.record_segments,
                          .policy_name = "tested",
                          .disruptions = options.disruptions,
                          .gang_speed_model = options.gang_speed_model,
                          .run_time_errors = options.run_time_errors});
  if (!result) FAIL(result.error().describe());
  return *std::move(result);
}
/// Replays a workload under a policy that is given by its spec.
inline SimulationResult replay(const Workload& workload, const ClusterSpec& cluster, const std::string& spec,
                               const ReplayOptions& options = {}) {
  const auto policy = make_policy(spec);
  REQUIRE_MESSAGE(policy, spec);
  return replay(workload, cluster, **policy, options);
}
/// Replays a workload on a cluster in the short form.
inline SimulationResult replay(const Workload& workload, const std::string& cluster, const std::string& spec,
                               const ReplayOptions& options = {}) {
  return replay(workload, ClusterSpec::parse(cluster).value(), spec, options);
}

/// Checks that a rigid job completed, or ended at its requested time if that was too short.
inline void check_end(const Job& job, const JobOutcome& outcome) {
  const bool cut = job.duration > job.time_limit();
  REQUIRE(outcome.state == (cut ? JobState::Failed : JobState::Completed));
}

/// Checks that the recorded segments never hold more than `total_gpus` GPUs together, and release all of
/// them.
inline void check_gpus_in_use(const SimulationResult& result, std::int64_t total_gpus) {
  std::map<SimTime, std::int64_t> change;  // change of the GPUs in use
  for (const JobSegment& run : result.segments) {
    change[run.begin] += run.num_gpus.value;
    change[run.end] -= run.num_gpus.value;
  }
  std::int64_t in_use = 0;
  for (const auto& [time, gpus] : change) {
    in_use += gpus;
    REQUIRE(in_use >= 0);
    REQUIRE(in_use <= total_gpus);
  }
  REQUIRE(in_use == 0);
}

/// Iterations of elastic jobs in their recorded segments, by `JobId`: each gang's speed on the job's curve,
/// multiplied by the segment's duration.
inline std::vector<double> iterations_done(const Workload& workload, const SimulationResult& result) {
  std::vector<double> done(workload.jobs.size(), 0);
  for (const JobSegment& run : result.segments) {
    const Job& job = workload.jobs[run.job.value];
    done[run.job.value] +=
        workload.curves[job.curve.value].iterations_per_s(run.num_gpus) * to_seconds(run.end - run.begin);
  }
  return done;
}

/// Checks that two replays have equal outcomes for every job.
inline void check_same_outcomes(const SimulationResult& a, const SimulationResult& b) {
  REQUIRE(a.outcomes.size() == b.outcomes.size());
  for (std::size_t i = 0; i < a.outcomes.size(); ++i) {
    CAPTURE(i);
    REQUIRE(a.outcomes[i].start == b.outcomes[i].start);
    REQUIRE(a.outcomes[i].end == b.outcomes[i].end);
    REQUIRE(a.outcomes[i].finished == b.outcomes[i].finished);
    REQUIRE(a.outcomes[i].gpu_time == b.outcomes[i].gpu_time);
    REQUIRE(a.outcomes[i].preemptions == b.outcomes[i].preemptions);
    REQUIRE(a.outcomes[i].resizes == b.outcomes[i].resizes);
    REQUIRE(a.outcomes[i].failures == b.outcomes[i].failures);
    REQUIRE(a.outcomes[i].state == b.outcomes[i].state);
  }
}

/// Checks that two replays have equal outcomes, events and numbers of samples.
inline void check_same(const SimulationResult& a, const SimulationResult& b) {
  REQUIRE(a.events == b.events);
  REQUIRE(a.samples.size() == b.samples.size());
  check_same_outcomes(a, b);
}

}  // namespace vtrain::testing
