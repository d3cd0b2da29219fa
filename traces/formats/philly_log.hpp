/// The job log of Microsoft's Philly cluster, 2017, as published: `cluster_job_log`, one JSON array of jobs
/// with their scheduling attempts (Jeon et al., USENIX ATC'19).
///
/// Kept of a job: `jobid`, `submitted_time`, `vc` (the tenant), `user`, `status`, the start of the first
/// attempt, and as GPUs those of the first attempt that has any. The run time is the sum over all attempts,
/// which is what the job occupied its GPUs for, and what the simulators that use this log take. Times are
/// local time of the US west coast: of the hour that came twice on 2017-11-05 the first is meant, or the
/// second where the attempt would otherwise end before it started. Not in the log: GPU type, model, deadline,
/// requested time, iterations. Not kept: machines, and GPUs that differ between attempts.
///
/// Skipped: no submission time, no attempt, no GPU, an attempt without start or end (the last: not ended).
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// Whether the text is a JSON array of objects with keys of the log; no other trace format is one.
bool recognise_philly_log(std::string_view head);
/// Reads the log in one pass that keeps one job at a time besides the result. Malformed JSON is an error; so
/// is an array nested more than 64 levels deep.
Result<Trace> read_philly_log(const TraceInput& input);

}  // namespace vtrain
