/// Writes JSON workloads of Batsim (see `batsim_reader.hpp`).
#pragma once

#include <filesystem>

#include "core/base/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// Writes what the format can say: job id, submission, GPUs (`res`), requested time (`walltime`, -1 when
/// there is none) and the duration, as a profile of type `delay` that jobs of the same duration share.
/// `nb_res` is the size of the cluster if the trace names one, else that of the largest job. Assumptions
/// stand in `description`.
///
/// Numbers of JSON are doubles: times are exact to the nanosecond below 2^22 s (48 days) and, beyond, where
/// they are whole milliseconds. A job without a run time is an error. The file appears when it is complete.
Result<void> write_batsim(const Trace& trace, const std::filesystem::path& path);

}  // namespace vtrain
