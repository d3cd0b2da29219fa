/// The CSV of the ElasticFlow simulator (Gu et al., ASPLOS'23), in both of its dialects.
///
/// Kept: submission, duration and iterations, GPUs, the most GPUs (`max_gpu`), model, global batch, deadline.
/// The file has no tenant, user, GPU type, requested time, status or original start.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// Whether the header has `job_id`, `model_name`, `batch_size` and `num_gpu`, and as time of submission,
/// iterations and deadline either `submission_time`, `num_iteration` and `deadline` (the released traces) or
/// `submit_time`, `iteration` or `real_iteration`, and `ddl` (those of the simulator).
bool recognise_elasticflow(std::string_view head);

/// Reads rows of those columns, of `duration` and `max_gpu` where they are, and of `best_effort`: a job where
/// it is 1 has no deadline. `real_iteration` and `real_duration`, the truth, go before `iteration` and
/// `duration`, the scheduler's estimates. Times are whole seconds, deadlines from the trace's origin.
///
/// A job without a duration takes iterations / (iterations/s) of the tables of `ReadOptions::throughputs`, or
/// of the folder `throughputs` beside the trace (`read_throughput_tables`); an error where that is not
/// profiled. A job whose `max_gpu` is below its `num_gpu`, as the published traces have, asks for `max_gpu`
/// GPUs: the number of such jobs is one of the trace's assumptions.
Result<Trace> read_elasticflow(const TraceInput& input);

}  // namespace vtrain
