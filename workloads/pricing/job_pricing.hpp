/// Run times of jobs that are given by a model and iterations.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/base/result.hpp"
#include "workloads/jobs/job.hpp"
#include "workloads/physical/extrapolation_list.hpp"
#include "workloads/pricing/curves_by_type.hpp"

namespace vtrain {

/// Restricts jobs that the predictor can price (`TrainingJobs`) to those of their GPU types on which a plan
/// over their GPUs fits. A job with a plan on none or all of its types keeps its request. Returns the number
/// of changed jobs. `curves` do not know the new types (`Workload::gpu_types`). `type_names` are by number.
std::int64_t keep_to_types_with_plan(Workload& workload, const CurvesByType& curves,
                                     std::span<const std::string> type_names);

/// Gives every job without a duration the predicted one on GPUs of the type that it requests: iterations x
/// iteration time on `num_gpus`, rounded once to whole nanoseconds. Jobs with a duration keep it. A job that
/// requests more GPUs than exist (`CurvesByType::have_room`) and has no plan on them gets no duration: it
/// cannot run. Returns the number of such jobs.
///
/// Errors name the job: it has neither a duration nor both a model and iterations; its model is unknown; the
/// model has no plan on its GPUs, on any type that it may use; the duration is beyond 292 years.
Result<std::int64_t> price_jobs(Workload& workload, const CurvesByType& curves);

/// Numbers of jobs that `predict_run_times` handled.
struct PredictedRunTimes {
  std::int64_t predicted = 0;
  std::int64_t without_plan = 0;  ///< jobs whose model has no plan on their GPUs; they keep their run time
};

/// Replaces the durations of jobs that the predictor can price (`TrainingJobs`) by the run times predicted on
/// the GPUs of `curves`. Requested times change in proportion.
PredictedRunTimes predict_run_times(Workload& workload, const CurvesByType& curves);

/// Jobs that the predictor can price and whose iteration time, on the requested GPUs, uses numbers that no
/// measurement covers.
struct JobsWithFallbacks {
  std::int64_t jobs = 0;
  ExtrapolationList kernels{};  ///< what their iteration times extrapolate, with the number of such jobs
};

/// Finds those jobs.
JobsWithFallbacks find_jobs_with_fallbacks(const Workload& workload, const CurvesByType& curves);

/// Ratios of predicted run times to the durations that jobs have.
struct RunTimeRatios {
  std::int64_t jobs = 0;
  double least = 1;
  double most = 1;
};

/// Compares predicted and given durations of jobs that the predictor can price and that have a plan on their
/// GPUs.
RunTimeRatios compare_run_times(const Workload& workload, const CurvesByType& curves);

}  // namespace vtrain
