/// The tab-separated traces of the Gavel simulator (Narayanan et al., OSDI'20) and of Shockwave (Zheng et
/// al., NSDI'23). They have no header; the number of fields tells the dialect:
///
///     7   job type, command, steps argument, needs data, steps, arrival, GPUs
///    10   job type, command, folder, steps argument, needs data, steps, GPUs, weight, SLO, arrival
///    12   ..., GPUs, mode, weight, SLO, duration, arrival                                    (Shockwave)
///
/// Kept: submission (arrival, seconds), duration, iterations (steps), GPUs, model (the job type, which says
/// the batch), deadline. The job id is the row's number from 0, as in the simulator. An SLO of at least 0 is
/// a multiple of the run time: deadline = arrival + SLO x duration (`scheduler.py` of Gavel). Commands,
/// weights and modes are dropped. The file has no tenant, user, GPU type, requested time, status or original
/// start.
#pragma once

#include <string_view>

#include "core/base/result.hpp"
#include "traces/trace_format.hpp"

namespace vtrain {

/// Whether the first line has 7, 10 or 12 fields with numbers where they belong.
bool recognise_gavel(std::string_view head);

/// Reads all rows. Where the file has no durations, the run time is steps / (steps/s), from
/// `ReadOptions::throughputs` (`read_gavel_throughputs`) for the GPU type `ReadOptions::throughputs_gpu`, or
/// from `simulation_throughputs.json` or `throughputs.json`, plain or gzip, beside the trace. It is an error
/// if there is none or if it does not have a job.
Result<Trace> read_gavel(const TraceInput& input);

}  // namespace vtrain
