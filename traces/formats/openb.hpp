/// The pods of Alibaba's openb cluster, 2023: `openb_pod_list_*.csv` (Weng et al., "Beware of Fragmentation",
/// USENIX ATC'23).
///
/// Kept of a pod: `name`, `num_gpu`, `gpu_milli` (the part of its GPU, where it has one), `gpu_spec` (the GPU
/// types that it accepts, as written: `V100M16|V100M32`), `qos` (which stands for the tenant: the lists have
/// none), `pod_phase`, `creation_time` as the submission, `scheduled_time` as the original start, and up to
/// `deletion_time` the run time. Times are seconds from the start of the list. A pod that was last seen
/// running has a deletion time too, which is taken as its end. Not in the lists: user, model, deadline,
/// requested time, iterations.
///
/// Skipped: pods without GPU, and pods that were never scheduled.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// Whether the header has `name`, `cpu_milli`, `memory_mib`, `num_gpu` and `gpu_milli`.
bool recognise_openb(std::string_view head);
/// Reads a list of pods. The resampled lists (`multigpu20`, `multigpu50`) have no times, which is an error.
Result<Trace> read_openb(const TraceInput& input);

}  // namespace vtrain
