/// Our own trace format: CSV with a header, one job a row, times in decimal seconds from the trace's origin.
///
///     job_id,tenant,user,submit_s,num_gpus,gpu_type,gpu_share,max_gpus,duration_s,requested_s,deadline_s,
///     model,global_batch,iterations,original_start_s,status
///
/// `job_id`, `submit_s` and `num_gpus` are required, and of each job either `duration_s` or all of `model`,
/// `global_batch` and `iterations`. Columns may stand in any order; an empty field means "not given".
/// `gpu_share` is the part of each GPU that a job uses, 1 when not given; `status` is a name of
/// `status_names`. Lines before the header that begin with `#` say, one each, what is assumed or synthetic.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// Whether the header has `job_id` and `submit_s`, and not the `end_s` of a table of results.
bool recognise_vtrain_csv(std::string_view head);
/// Reads the format. A column that it does not have is an error, so that a misspelt one is not ignored.
Result<Trace> read_vtrain_csv(const TraceInput& input);

/// Writes the jobs in their order, with the columns that at least one job fills, so that reading gives the
/// same jobs back to the nanosecond; before them each assumption as a comment, which reading gives back too.
/// The file appears when it is complete.
Result<void> write_vtrain_csv(const Trace& trace, const std::filesystem::path& path);
/// The jobs alone, in memory.
std::string to_vtrain_csv(const Workload& workload);

}  // namespace vtrain
