/// First come, first served among the jobs that fit.
#pragma once

#include <memory>

#include "core/base/result.hpp"
#include "policies/fcfs/waiting_queue.hpp"
#include "policies/registry.hpp"

namespace vtrain {

/// `fit-first`: every pass walks the waiting jobs in order of arrival and starts those that fit. Nothing is
/// reserved, so that large gangs can starve. The `filler` of Batsim and the `fjf` (fit-job-first) of
/// Tiresias. O(log n) a start.
Result<std::unique_ptr<Policy>> make_fit_first(const PolicyArguments& arguments);

/// Walks a queue and starts what fits, as every pass of `fit-first` does.
void start_fitting(SchedulingPass& pass, WaitingQueue& waiting);

}  // namespace vtrain
