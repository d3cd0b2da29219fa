/// T(gpus): how fast a model trains on a number of GPUs. The bridge from the predictor to the scheduler.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "core/gpu_profile.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "workloads/job.hpp"
#include "workloads/plan_search.hpp"

namespace vtrain {

/// Iteration times of the best plans of the models in the zoo, computed when first asked for and then kept.
/// Not safe to share between threads; every instance gives the same answers.
class ThroughputCurves {
 public:
  explicit ThroughputCurves(GpuProfile profile) : profile_(std::move(profile)) {}

  /// The best plan of a model (`find_model`) on exactly this number of GPUs. `global_batch` 0 takes the
  /// published one. Errors: an unknown model, and those of `search_plans`.
  Result<RankedPlan> best_plan(const std::string& model, std::int64_t global_batch, GpuCount num_gpus);
  /// Its iteration time.
  Result<Nanoseconds> iteration_time(const std::string& model, std::int64_t global_batch, GpuCount num_gpus);

  const GpuProfile& profile() const { return profile_; }

 private:
  GpuProfile profile_;
  std::map<std::tuple<std::string, std::int64_t, std::int32_t>, Result<RankedPlan>> known_;
};

/// Gives every job without a duration the one the predictor expects: iterations x T(num_gpus), rounded once
/// to whole nanoseconds. Jobs that have a duration keep it.
///
/// Errors name the job: it has neither a duration nor both a model and iterations; its model is unknown; the
/// model does not divide over its GPUs or does not fit into their memory; the duration is beyond 292 years.
Result<void> price_jobs(Workload& workload, ThroughputCurves& curves);

}  // namespace vtrain
