/// Our own trace format as JSON lines: one job a line, an object with the columns of our CSV as keys.
///
///     {"job_id":"a","tenant":"vision","submit_s":0,"num_gpus":8,"duration_s":3600.5,"status":"completed"}
///
/// Required are `job_id`, `submit_s`, `num_gpus`, and either `duration_s` or all of `model`, `global_batch`
/// and `iterations`. Values are numbers or strings; a key that is absent, null or "" is not given. A line
/// {"assumption":"..."} says what is assumed or synthetic. Everything that a job can have is kept.
#pragma once

#include <filesystem>
#include <string_view>

#include "core/base/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// Whether the first line that is not blank begins an object and names `job_id` or `assumption` as a key.
bool recognise_json_lines(std::string_view head);
/// Reads the format. Numbers are read as they are written, without passing through a double. An unknown or
/// repeated key, a nested value and a repeated job id are errors.
Result<Trace> read_json_lines(const TraceInput& input);

/// Writes the assumptions and then the jobs in their order, so that reading gives the same back to the
/// nanosecond. The file appears when it is complete.
Result<void> write_json_lines(const Trace& trace, const std::filesystem::path& path);

}  // namespace vtrain
