/// Random elastic jobs for the tests of policies that resize them.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/rng.hpp"
#include "workloads/jobs/gang_speed_model.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain::testing {

/// Properties of random elastic jobs.
struct ElasticShape {
  int num_jobs = 60;
  /// Mean time between submissions, s.
  std::uint64_t gap_s = 150;
  /// Number in four jobs without a deadline.
  std::uint64_t best_effort_of_4 = 1;
  /// Number in four jobs that are rigid.
  std::uint64_t rigid_of_4 = 0;
  /// Number in four jobs that take a hundredth of the time.
  std::uint64_t short_of_4 = 0;
  /// True: speeds, work and deadlines are round numbers, so that plans often end exactly on a second. False:
  /// gains from more GPUs are random, and submissions are not whole seconds.
  bool round = false;
};

/// Jobs that scale with falling returns (rigid jobs do not scale), with and without deadlines, on up to 16
/// GPUs. A job alone on the cluster may or may not meet its deadline; admission must find out.
inline Workload random_elastic_workload(std::uint64_t seed, const ElasticShape& shape) {
  RandomStream random(seed, "elastic workload");
  RandomStream random_kind(seed, "kind of elastic workload");
  Workload workload;
  SimTime submit{};
  for (int i = 0; i < shape.num_jobs; ++i) {
    std::vector<SpeedByGpus::Level> levels;
    double speed = shape.round ? 0.1 * static_cast<double>(1 + random.below(4)) : random.uniform(0.5, 2.0);
    const std::uint64_t num_levels = 1 + random.below(5);
    for (std::uint64_t level = 0; level < num_levels; ++level) {
      levels.push_back({GpuCount(1 << level), speed});
      speed *= shape.round ? 2 - 0.5 * static_cast<double>(random.below(2)) : random.uniform(0.9, 1.95);
    }
    Job job;
    job.name = workload.keep("j" + std::to_string(i));
    const std::uint64_t gap = random.below(2 * shape.gap_s);
    submit += shape.round ? std::chrono::milliseconds(1000 * (gap - gap % 30))
                          : std::chrono::milliseconds(1000 * gap + random.below(1000));
    job.submit = submit;
    const SpeedByGpus::Level asked = levels[random.below(num_levels)];
    job.num_gpus = asked.num_gpus;
    job.iterations = shape.round ? static_cast<std::int64_t>(10 + 10 * random.below(60))
                                 : static_cast<std::int64_t>(1 + random.below(5000));
    if (random_kind.below(4) < shape.short_of_4) job.iterations = 1 + job.iterations / 100;
    const double seconds = static_cast<double>(job.iterations) / asked.iterations_per_s;
    job.duration = to_sim_duration(Nanoseconds(seconds * 1e9));
    if (random.below(4) >= shape.best_effort_of_4) {
      const double factor =
          shape.round ? 0.5 * static_cast<double>(1 + random.below(4)) : random.uniform(0.2, 2);
      job.deadline =
          job.submit + std::chrono::seconds((shape.round ? 0 : 60) + std::llround(seconds * factor));
    }
    if (random_kind.below(4) >= shape.rigid_of_4) {
      job.curve = CurveId(static_cast<std::uint32_t>(workload.curves.size()));
      workload.curves.emplace_back(std::move(levels));
    }
    workload.jobs.push_back(job);
  }
  return workload;
}

/// Jobs are twice as fast on the second type of GPUs, but not those with an odd number.
class FasterSecondType final : public GangSpeedModel {
 public:
  bool knows(JobId) const override { return true; }
  GangSpeed at(JobId job, GpuCount, const GangSite& site) override {
    const double speed = site.gpu_type == 1 && job.value % 2 == 0 ? 2 : 1;
    return {.here = speed, .packed = speed};
  }
  double slowest(JobId, GpuCount, bool) override { return 1; }
};

}  // namespace vtrain::testing
