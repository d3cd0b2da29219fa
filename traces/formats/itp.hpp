/// The CSV of Microsoft's ITP clusters, 2021: the raw traces that ElasticFlow (ASPLOS'23) published.
///
/// Kept: submission, duration, GPUs. The file has nothing else.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// Whether the header is `job_id,submission_time,duration,num_gpu`, in any order.
bool recognise_itp(std::string_view head);
/// Reads rows of `job_id` (UUID), `submission_time` and `duration` (seconds), `num_gpu`.
Result<Trace> read_itp(const TraceInput& input);

}  // namespace vtrain
