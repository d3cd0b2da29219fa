/// Admissions and dry runs against a cluster with many live jobs.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rng.hpp"
#include "tools/experiment/admission.hpp"

namespace vtrain {
namespace {

/// A job of up to 64 GPUs and a day, elastic over powers of two; two in three have a deadline.
Job random_job(RandomStream& random, SimTime submit) {
  Job job;
  job.submit = submit;
  job.curve = CurveId(static_cast<std::uint32_t>(random.below(4)));
  job.num_gpus = GpuCount(1 << random.below(7));
  job.iterations = static_cast<std::int64_t>(1000 + random.below(200'000));
  job.duration = std::chrono::seconds(job.iterations / job.num_gpus.value + 1);
  if (random.below(3) > 0)
    job.deadline =
        submit + std::chrono::hours(2) + job.duration * static_cast<std::int64_t>(1 + random.below(6));
  return job;
}

/// Admits jobs a second apart until as many are live as asked for.
Admission busy_cluster(const std::string& policy, std::size_t live, RandomStream& random, SimTime& now) {
  AdmissionSetup setup;
  setup.cluster = *ClusterSpec::parse("512x8:a100");
  setup.policy = policy;
  for (int kind = 0; kind < 4; ++kind) {
    std::vector<SpeedByGpus::Level> levels;
    for (int gpus = 1; gpus <= 256; gpus *= 2)
      levels.push_back({GpuCount(gpus), std::pow(static_cast<double>(gpus), 0.8 + 0.05 * kind)});
    setup.workload.curves.emplace_back(std::move(levels));
  }
  auto admission = Admission::begin(std::move(setup), PolicyRegistry::built_in());
  if (!admission) throw std::runtime_error(admission.error().describe());
  while (admission->simulation().live().size() < live) {
    now += std::chrono::seconds(1);
    if (!admission->admit("job", random_job(random, now))) throw std::runtime_error("not submitted");
  }
  return *std::move(admission);
}

constexpr const char* kPolicies[] = {"deadline", "elasticflow"};

/// One admission at a time, each a second later; the number of live jobs stays about the same.
void admit(benchmark::State& state) {
  RandomStream random(1, "admission bench");
  SimTime now{};
  Admission admission =
      busy_cluster(kPolicies[state.range(0)], static_cast<std::size_t>(state.range(1)), random, now);
  std::int64_t promised = 0;
  for (auto _ : state) {
    now += std::chrono::seconds(1);
    const auto id = admission.admit("job", random_job(random, now));
    if (!id) return state.SkipWithError(id.error().describe().c_str());
    promised += admission.simulation().outcome(*id).has_promise() ? 1 : 0;
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["live"] = static_cast<double>(admission.simulation().live().size());
  state.counters["promised"] = static_cast<double>(promised) / static_cast<double>(state.iterations());
}
BENCHMARK(admit)->ArgsProduct({{0, 1}, {1000}})->Iterations(200)->Unit(benchmark::kMillisecond);

/// Dry runs that end with the decision.
void would_admit(benchmark::State& state) {
  RandomStream random(1, "admission bench");
  SimTime now{};
  const Admission admission =
      busy_cluster(kPolicies[state.range(0)], static_cast<std::size_t>(state.range(1)), random, now);
  std::int64_t yes = 0;
  for (auto _ : state) {
    Job job = random_job(random, now + std::chrono::seconds(1));
    if (!job.has_deadline()) job.deadline = job.submit + std::chrono::hours(24);
    const auto answer = admission.would_admit("job", job);
    if (!answer) return state.SkipWithError(answer.error().describe().c_str());
    yes += *answer ? 1 : 0;
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["yes"] = static_cast<double>(yes) / static_cast<double>(state.iterations());
}
BENCHMARK(would_admit)->ArgsProduct({{0, 1}, {1000}})->Iterations(100)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace vtrain
