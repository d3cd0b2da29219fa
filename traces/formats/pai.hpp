/// The tables of Alibaba's PAI trace, 2020: `pai_job_table.csv`, `pai_task_table.csv` and
/// `pai_group_tag_table.csv` (Weng et al., "MLaaS in the Wild", NSDI'22), joined. The tables have no header
/// line; one is accepted.
///
/// Kept of a job: `job_name`, `user` (also the tenant), `status`, `start_time` of the job as its submission,
/// the first `start_time` of its tasks as the original start, and up to the job's `end_time` the run time.
/// Its GPUs are the sum over its tasks of `inst_num` instances of `plan_gpu` per cent of a GPU each; parts of
/// GPUs become the job's share (see `GpuSum`). By `inst_id`, from the table of tags: the GPU type that was
/// asked for (`gpu_type_spec`), and as the model the `workload`, which few jobs have. Times are seconds with
/// a constant subtracted, such that hours and days of the week are those of China. Not in the tables:
/// deadline, requested time, iterations. Not kept: the GPU type that was given (`gpu_type`), CPUs, memory,
/// `group`, instances.
///
/// Skipped: jobs without a task, without GPU, waiting or running when the log was taken, without start or
/// end.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// The tables by the names under which they are published.
inline constexpr std::string_view kPaiJobTable = "pai_job_table.csv";
inline constexpr std::string_view kPaiTaskTable = "pai_task_table.csv";
inline constexpr std::string_view kPaiGroupTagTable = "pai_group_tag_table.csv";

/// Whether the first line is the header of the job table or a row of six fields whose fourth is a status of
/// it.
bool recognise_pai(std::string_view head);
/// Reads the job table that is given and the two others from the files beside it. Without the table of tags,
/// GPU types and models stay unknown; without the table of tasks, there is nothing to replay, which is an
/// error.
Result<Trace> read_pai(const TraceInput& input);

/// Another table of the trace.
struct PaiTable {
  std::string_view text;
  std::string file;
};

/// Joins tables that are in memory. `tags` may have empty text.
Result<Trace> join_pai_tables(const TraceInput& jobs, const PaiTable& tasks, const PaiTable& tags);

}  // namespace vtrain
