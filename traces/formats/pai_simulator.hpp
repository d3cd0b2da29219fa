/// The job lists that come with the simulator of Alibaba's PAI trace, 2020: `pai_job_*_100K.csv` (Weng et
/// al., NSDI'22).
///
/// Kept of a job: `job_id`, `user` (also the tenant), `num_gpu` (GPUs of the whole job; a fraction is a
/// shared GPU), `gpu_type`, `submit_time`, `duration` (1 s where it is not above 0, as the simulator has it),
/// `wait_time` for the original start. Times are seconds. Not in the lists: model, deadline, requested time,
/// status, iterations. Not kept: CPUs, `num_inst`, `group` and the estimates of the duration.
///
/// Skipped: jobs without GPU, without submission time or duration.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// Whether the header has `job_id`, `user`, `num_gpu`, `num_cpu`, `submit_time` and `duration`.
bool recognise_pai_simulator(std::string_view head);
/// Reads a list.
Result<Trace> read_pai_simulator(const TraceInput& input);

}  // namespace vtrain
