/// The JSON workload of the Batsim simulator (Dutot et al., JSSPP 2015), restricted to jobs that take a known
/// time.
///
/// Kept: submission, duration, GPUs (`res`), requested time (`walltime`). The format has no tenant, user, GPU
/// type, model, iterations, deadline, status or original start.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// Whether the text is a JSON object that begins with one of Batsim's keys, and no JSON line of a job.
bool recognise_batsim(std::string_view head);
/// Reads `nb_res`, `jobs` (`id`, `subtime`, `res`, `profile`, and `walltime` unless it is absent or -1) and
/// the `profiles` that jobs use, all of which must be of type `delay`. Times are seconds; those with at most
/// nine digits after the point are read as written, others to the nearest nanosecond. The text is read in one
/// pass: a job costs 4 bytes beside what every format costs, and a profile at most 36.
Result<Trace> read_batsim(const TraceInput& input);

}  // namespace vtrain
