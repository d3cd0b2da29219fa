/// `philly.csv`, the job list of Microsoft's Philly cluster that Pollux (Qiao et al., OSDI'21) derived from
/// the published log; ElasticFlow and Sia use the same file.
///
/// Kept of a job: `timestamp` (the submission, local time of the US west coast), `duration` (the sum over all
/// attempts), `num_gpus`, `cluster` (the virtual cluster, which becomes the tenant). The list has no job ids:
/// the number of the row, counted from 0, is taken, and rows that are equal are jobs of their own. Not in the
/// list: GPU type, user, model, deadline, requested time, status, original start, iterations.
///
/// Skipped: rows without submission time, GPU or run time.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// Whether the header has `timestamp`, `duration`, `num_gpus`, `gpu_time` and `cluster`.
bool recognise_pollux(std::string_view head);
/// Reads the list.
Result<Trace> read_pollux(const TraceInput& input);

}  // namespace vtrain
