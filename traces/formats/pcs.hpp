/// `trace_<vc>.csv`, the jobs of one virtual cluster of Microsoft's Philly as PCS (Faisal et al., OSDI'24)
/// published them.
///
/// The lists state work, not time: `service` is the run time multiplied by the speedup, on that many GPUs, of
/// a model that PCS drew at random. The reader divides by that speedup, which gives back whole seconds.
///
/// Kept of a job: `app_id`, `submit_time` (seconds since the virtual cluster's first job), the run time,
/// `num_jobs` (GPUs), `model_name` (random). Not in the lists: GPU type, tenant, user, deadline, requested
/// time, status, original start, iterations.
///
/// Skipped: rows without submission time, GPU or service, and jobs of a model or on a number of GPUs that do
/// not occur in the published lists, whose speedup is not known.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// Whether the header has `app_id`, `submit_time`, `service`, `num_jobs` and `model_name`.
bool recognise_pcs(std::string_view head);
/// Reads one list.
Result<Trace> read_pcs(const TraceInput& input);

}  // namespace vtrain
