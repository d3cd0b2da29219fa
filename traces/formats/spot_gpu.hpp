/// The jobs of Alibaba's spot-GPU data set, 2026: `job_info_df.csv` (the trace of the GFS scheduler).
///
/// Kept of a job: `job_name`, `organization` (the tenant), `gpu_model` as the GPU type, `worker_num` workers
/// of `gpu_request` GPUs each, `submit_time` (seconds from the first job), `duration`. Not in the list: user,
/// model, deadline, requested time, status, original start, iterations. Not kept: `job_type` (high priority
/// or spot).
///
/// Skipped: rows without GPU, submission time or run time.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// Whether the header has `job_name`, `organization`, `gpu_request`, `worker_num`, `submit_time` and
/// `duration`.
bool recognise_spot_gpu(std::string_view head);
/// Reads the list.
Result<Trace> read_spot_gpu(const TraceInput& input);

}  // namespace vtrain
