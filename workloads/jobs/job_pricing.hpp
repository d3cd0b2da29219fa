/// Run times of jobs that are given by a model and iterations.
#pragma once

#include "core/result.hpp"
#include "workloads/jobs/curves_by_type.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Gives every job without a duration the one the predictor expects on GPUs of the type that it asks for:
/// iterations x T(num_gpus), rounded once to whole nanoseconds. Jobs that have a duration keep it.
///
/// Errors name the job: it has neither a duration nor both a model and iterations; its model is unknown; the
/// model does not divide over its GPUs or does not fit into their memory; the duration is beyond 292 years.
Result<void> price_jobs(Workload& workload, const CurvesByType& curves);

}  // namespace vtrain
