/// The jobs of Microsoft's Philly cluster, 2017 (Jeon et al., USENIX ATC'19), as one CSV that was rebuilt
/// from published derivatives of the original log.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// Whether the header has `job_idx,vc,submit_time_s,num_gpus,duration_s`.
bool recognise_philly(std::string_view head);
/// Reads rows of `job_idx`, `vc` (virtual cluster, which becomes the tenant), `submit_time_s` (seconds since
/// the first job), `num_gpus` and `duration_s` (seconds, the sum over all attempts).
Result<Trace> read_philly(const TraceInput& input);

}  // namespace vtrain
