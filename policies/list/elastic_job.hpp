/// Numbers of GPUs for a job that can use several.
#pragma once

#include "core/base/units.hpp"
#include "sched/simulation/policy.hpp"

namespace vtrain {

/// The fewest GPUs on which a job can run: the first level of its curve, or what it asks for.
GpuCount least_gpus(const SchedulingPass& pass, JobId job);
/// The level on which a job is fastest on at most `num_gpus` GPUs, and of equally fast ones the smallest. A
/// job gets no more than its `max_gpus`, if given, or what it asks for, whichever is more. For a rigid job
/// what it asks for. 0 if that is more than `num_gpus`.
GpuCount fastest_within(const SchedulingPass& pass, JobId job, GpuCount num_gpus);

}  // namespace vtrain
