#include "tools/experiment/policy_runs.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

namespace vtrain {
namespace {

/// Replays one policy.
Result<ExperimentRun> run_policy(const Experiment& experiment, const PreparedPolicy& prepared, bool strict,
                                 bool record_segments, std::atomic<std::int64_t>& jobs_done) {
  Policy& policy = *prepared.policy;
  const SimulationOptions options{.placement = experiment.placement,
                                  .strict = strict,
                                  .record_segments = record_segments,
                                  .policy_name = prepared.spec,
                                  .disruptions = experiment.disruptions ? &*experiment.disruptions : nullptr,
                                  .gang_speed_model = experiment.gang_speed_model.get(),
                                  .jobs_done = &jobs_done};
  const bool takes_costs = policy.copes_with_disruptions();
  const auto start = std::chrono::steady_clock::now();
  auto result = simulate(experiment.workload, experiment.cluster, policy, options);
  const double wall_s = Seconds(std::chrono::steady_clock::now() - start).count();
  if (!result) return fail(result.error());
  Summary summary = summarize(experiment.workload, experiment.cluster, *result, prepared.spec);
  return ExperimentRun{std::move(summary), *std::move(result), takes_costs, wall_s};
}

}  // namespace

Result<std::vector<ExperimentRun>> run_policies(Experiment& experiment, unsigned threads, bool strict,
                                                bool record_segments, std::atomic<std::int64_t>& jobs_done) {
  const std::vector<PreparedPolicy> policies = std::exchange(experiment.policies, {});
  const std::size_t count = policies.size();
  std::vector<std::optional<Result<ExperimentRun>>> results(count);
  std::vector<std::exception_ptr> thrown(count);  // an exception must not leave its thread
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        results[i] = run_policy(experiment, policies[i], strict, record_segments, jobs_done);
      } catch (...) {
        thrown[i] = std::current_exception();
      }
    }
  };
  {
    if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::jthread> workers;
    for (std::size_t i = 1; i < std::min<std::size_t>(threads, count); ++i)
      workers.emplace_back(work);
    work();
  }
  for (const std::exception_ptr& exception : thrown) {
    if (exception) std::rethrow_exception(exception);
  }
  std::vector<ExperimentRun> runs;
  for (auto& result : results) {
    if (!*result) return fail(result->error());
    runs.push_back(**std::move(result));
  }
  return runs;
}

}  // namespace vtrain
