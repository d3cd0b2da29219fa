/// The CSV of the Tiresias simulator (Gu et al., NSDI'19), which several later simulators took over.
///
/// Kept: submission, duration, iterations, GPUs, model. The file has no tenant, user, GPU type, global batch,
/// deadline, requested time, status or original start.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// Whether the header has `job_id,num_gpu,submit_time,duration` and nothing beyond Tiresias' own columns. The
/// variants of Muri (milliseconds) and Chronus (minutes) have more, and would be read in the wrong unit.
bool recognise_tiresias(std::string_view head);
/// Reads rows of `job_id`, `num_gpu`, `submit_time` and `duration` (seconds), and `model_name` and
/// `iterations` where they are. `interval`, the gap to the next job, says nothing new and is ignored.
Result<Trace> read_tiresias(const TraceInput& input);

}  // namespace vtrain
