/// The workload CSV of the Pollux and Sia simulators (Qiao et al., OSDI'21; Jayaram Subramanya et al.,
/// SOSP'23).
///
/// Kept: submission, the GPUs that the user asks for, model (`application`), global batch. The file has
/// neither durations nor iterations: the work is in profiles of each application that are not part of it. So
/// the jobs can be looked at and given a work, but not replayed as they are. It has no tenant, user, GPU
/// type, deadline, requested time, status or original start either.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// Whether the header has `name`, `time`, `application`, `num_replicas` and `batch_size`.
bool recognise_sia(std::string_view head);
/// Reads those columns; `time` is in seconds. The trace says that run times are unknown.
Result<Trace> read_sia(const TraceInput& input);

}  // namespace vtrain
