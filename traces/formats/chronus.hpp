/// The CSV of the Chronus simulator (Gao et al., SoCC'21): Tiresias' columns with users and deadlines, in
/// minutes.
///
/// Kept: submission, duration, iterations, GPUs, user, model, deadline. Of a soft deadline, a list of
/// instants and of what the job is worth by each, the first is kept, as the simulator itself does where it
/// needs one. The file has no global batch, GPU type, requested time, status or original start; users are the
/// virtual clusters of Philly and become tenants too.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// Whether the header has Tiresias' columns, `user`, `expect_time_list` and `job_type`.
bool recognise_chronus(std::string_view head);

/// Reads rows of `job_id`, `user`, `num_gpu`, `submit_time`, `duration`, `iterations`, `model_name`,
/// `expect_time_list` (minutes after the submission, joined by `-`) and `job_type` (`strict`, `soft`, or
/// `best`: no deadline). Rows with 0 GPUs are no jobs and are skipped, as the simulator skips them.
Result<Trace> read_chronus(const TraceInput& input);

}  // namespace vtrain
