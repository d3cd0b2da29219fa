/// Jobs that may hold other numbers of GPUs than they ask for, at the speeds that the predictor expects.
#pragma once

#include <cstdint>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "workloads/jobs/job.hpp"
#include "workloads/pricing/curves_by_type.hpp"

namespace vtrain {

/// How `make_elastic` goes about it.
struct ElasticOptions {
  /// A job that would be counted in `with_idle_gpus` or `without_plan` is an error that names it.
  bool strict = false;
};

/// What `make_elastic` found, in numbers of jobs.
struct ElasticJobs {
  std::int64_t elastic = 0;  ///< got a curve
  /// Of these, jobs that ask for a number of GPUs over which no plan divides: on it they are as fast as on
  /// the largest smaller number that has a plan, and the GPUs beyond that one are idle.
  std::int64_t with_idle_gpus = 0;
  /// Jobs of a known model that have no plan on as many GPUs as they ask for or fewer. They stay rigid.
  std::int64_t without_plan = 0;
};

/// Gives a curve to every job that has none and that the predictor can price (`TrainingJobs`). Jobs of one
/// model, global batch and GPU type share their curve, over `curve_gpu_counts`; a job whose own number of
/// GPUs is none of these has one of its own with that number besides. `Job::max_gpus` is for the policy to
/// respect. Durations must be known and are not changed; jobs that `price_jobs` left without one stay rigid.
///
/// A job that may use several types of GPUs has the numbers of GPUs for which there is a plan on each type
/// that has so many; its curve is that of the first type (`GangSpeedModel` tells of the others).
Result<ElasticJobs> make_elastic(Workload& workload, const CurvesByType& curves,
                                 const ElasticOptions& options);

}  // namespace vtrain
