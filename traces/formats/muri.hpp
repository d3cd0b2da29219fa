/// The CSV of the Muri simulator (Zhao et al., SIGCOMM'22): Tiresias' columns and more, in milliseconds.
///
/// Kept: submission, duration, iterations, GPUs, model. `batch_size` is of one GPU and is dropped, as are the
/// times of the stages of an iteration (`resource_time_N`), `priority` and `interval`. The file has no
/// tenant, user, GPU type, deadline, requested time, status or original start.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// Whether the header has Tiresias' columns, `iteration_time` and `resource_time_0`.
bool recognise_muri(std::string_view head);
/// Reads rows of `job_id`, `num_gpu`, `submit_time`, `duration`, `iterations` and `model_name`.
Result<Trace> read_muri(const TraceInput& input);

}  // namespace vtrain
