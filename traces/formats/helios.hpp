/// The job log of SenseTime's Helios clusters, 2020: `cluster_log.csv` (Hu et al., SC'21), and copies of it
/// with more columns (Lucid's `cluster_full_log.csv`).
///
/// Kept of a job: `job_id`, `user`, `vc` (the tenant), `gpu_num`, `state`, `submit_time`, and `start_time`
/// and `end_time` for the original start and the run time, which is the difference of the two. Times are
/// local time of China. Not in the log: GPU type, model, deadline, requested time, iterations.
///
/// Skipped: jobs without GPU (about half of all), not ended (`RUNNING`, `SUSPENDED`), without a start or an
/// end.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// Whether the header has `job_id`, `vc`, `gpu_num`, `state`, `submit_time`, `start_time` and `end_time`.
bool recognise_helios(std::string_view head);
/// Reads the log.
Result<Trace> read_helios(const TraceInput& input);

}  // namespace vtrain
