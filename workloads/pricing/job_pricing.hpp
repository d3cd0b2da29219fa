/// Run times of jobs that are given by a model and iterations.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/base/result.hpp"
#include "workloads/jobs/job.hpp"
#include "workloads/pricing/curves_by_type.hpp"

namespace vtrain {

/// Lets jobs that the predictor can price (`TrainingJobs`) ask only for those of their types of GPUs on which
/// there is a plan over their GPUs that fits, where there is not on all of them; a job without a plan on any
/// asks for what it did. Returns how many jobs that concerns; `curves` do not know the new types
/// (`Workload::gpu_types`). `type_names` by number.
std::int64_t keep_to_types_with_plan(Workload& workload, const CurvesByType& curves,
                                     std::span<const std::string> type_names);

/// Gives every job without a duration the one the predictor expects on GPUs of the type that it asks for:
/// iterations x T(num_gpus), rounded once to whole nanoseconds. Jobs that have a duration keep it. A job that
/// asks for more GPUs than there are (`CurvesByType::have_room`) and has no plan on as many stays without
/// one: it cannot run. Returns how many such jobs there are.
///
/// Errors name the job: it has neither a duration nor both a model and iterations; its model is unknown; the
/// model has no plan on its GPUs, on any type that it may use; the duration is beyond 292 years.
Result<std::int64_t> price_jobs(Workload& workload, const CurvesByType& curves);

/// What `predict_run_times` did, in numbers of jobs.
struct PredictedRunTimes {
  std::int64_t predicted = 0;
  std::int64_t without_plan = 0;  ///< of a known model that has no plan on their GPUs: they keep theirs
};

/// Gives the jobs that have a duration and that the predictor can price (`TrainingJobs`) the run time that it
/// expects on the GPUs of `curves`. Requested times grow or shrink with it.
PredictedRunTimes predict_run_times(Workload& workload, const CurvesByType& curves);

/// Jobs that the predictor can price and whose iteration time, on the GPUs that they ask for, rests on
/// numbers that no measurement covers.
std::int64_t count_jobs_with_fallbacks(const Workload& workload, const CurvesByType& curves);

/// What the predictor expects of jobs that have a duration, too, over it.
struct RunTimeRatios {
  std::int64_t jobs = 0;
  double least = 1;
  double most = 1;
};

/// Compares both, of the jobs that the predictor can price and that have a plan on their GPUs.
RunTimeRatios compare_run_times(const Workload& workload, const CurvesByType& curves);

}  // namespace vtrain
