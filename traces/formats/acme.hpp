/// The job logs of Shanghai AI Lab's Acme clusters, 2023: `trace_seren.csv` (Slurm) and `trace_kalos.csv`
/// (Kubernetes) (Hu et al., NSDI'24).
///
/// Kept of a job: `job_id`, `user` (who is also the tenant: the logs have no other), `gpu_num`, `state`,
/// `submit_time`, and `start_time` and `end_time` for the original start and the run time. The run time is
/// their difference: the column `duration` counts from the submission in Kalos. Times carry their offset. Not
/// in the logs: GPU type, model, deadline, requested time, iterations. Not kept: `type`, the class of the
/// workload.
///
/// Skipped: jobs without GPU, not ended, without a start or an end.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// Whether the header has `job_id`, `gpu_num`, `type`, `state`, `submit_time`, `start_time`, `end_time` and
/// `gpu_time`, and no `vc`.
bool recognise_acme(std::string_view head);
/// Reads either log.
Result<Trace> read_acme(const TraceInput& input);

}  // namespace vtrain
