/// Jobs that may hold other numbers of GPUs than they request, at predicted speeds.
#pragma once

#include <cstdint>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "workloads/jobs/job.hpp"
#include "workloads/pricing/curves_by_type.hpp"

namespace vtrain {

/// Options of `make_elastic`.
struct ElasticOptions {
  /// A job that would be counted in `with_idle_gpus` or `without_plan` is an error that names it.
  bool strict = false;
};

/// Numbers of jobs that `make_elastic` found.
struct ElasticJobs {
  std::int64_t elastic = 0;  ///< jobs that got a curve
  /// Jobs with a curve that request a number of GPUs over which no plan divides. They are then as fast as on
  /// the largest smaller number that has a plan; the other GPUs are idle.
  std::int64_t with_idle_gpus = 0;
  /// Jobs of a known model that have no plan on the GPUs that they request, nor on fewer. They stay rigid.
  std::int64_t without_plan = 0;
};

/// Gives a curve to every job that has none and that the predictor can price (`TrainingJobs`). Jobs of one
/// model, global batch and GPU type share their curve over `curve_gpu_counts`. A job with another number of
/// GPUs has a separate curve that adds this number. The policy must respect `Job::max_gpus`. Durations must
/// be known and are not changed; jobs that `price_jobs` left without one stay rigid.
///
/// A job that may use several types has the numbers of GPUs with a plan on each type that has that many GPUs.
/// Its curve is that of the first type; `GangSpeedModel` gives the speeds on the others.
Result<ElasticJobs> make_elastic(Workload& workload, const CurvesByType& curves,
                                 const ElasticOptions& options);

}  // namespace vtrain
