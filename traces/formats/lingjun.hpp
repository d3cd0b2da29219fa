/// The tables of Alibaba's Lingjun trace, 2023: `job.csv` and `worker.csv` (Cao et al., "Crux", SIGCOMM'24),
/// joined.
///
/// Kept of a job: `job_name`, `tenant_id`, `user_id`, `model`, `status`,
/// `job_max_running_time_minutes` as the requested time, `gmt_job_submitted`, `gmt_job_running` as the
/// original start, and up to `gmt_job_finished`, or else `gmt_job_stopped`, the run time. Its GPUs are the
/// sum of `nvidia.com/gpu` in `RES` over the workers of its `job_name`. Times are whole minutes, local time
/// of China. Not in the tables: GPU type, deadline, iterations. Not kept: kind, priority, places of the
/// workers in the network.
///
/// Skipped: jobs without worker or without GPU, that never ran, that have not ended, or that took less than a
/// minute; of jobs with one name all but the first, since their workers cannot be told apart.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// The tables by the names under which they are published.
inline constexpr std::string_view kLingjunJobTable = "job.csv";
inline constexpr std::string_view kLingjunWorkerTable = "worker.csv";

/// Whether the header has `job_name`, `gmt_job_submitted` and `gmt_job_running`.
bool recognise_lingjun(std::string_view head);
/// Reads the job table that is given and the worker table beside it, which must be there.
Result<Trace> read_lingjun(const TraceInput& input);

/// Joins tables that are in memory; `worker_file` is used in errors.
Result<Trace> join_lingjun_tables(const TraceInput& jobs, std::string_view workers,
                                  const std::string& worker_file);

}  // namespace vtrain
