/// Jobs, and the traces that they come from.
///
/// A `Workload` is a plain value: `jobs` in the order of their submission, with the tables of names (tenants,
/// users, models, GPU types) that their ids point into. `Job` says when a job came (`submit`), what it asks
/// for (`num_gpus`, `gpu_type`), how long it runs (`duration`, 0 where a model and its iterations say so), and
/// what is promised (`deadline`). Times are from the origin of the trace.
///
/// `read_trace(path, "auto", {})` recognises some twenty formats (docs/traces.md), plain or compressed;
/// `Trace::skipped` counts rows that are no jobs, `Trace::assumptions` says what had to be assumed.
///
///     auto trace = vtrain::read_trace("jobs.csv", "auto", {});
///     if (trace) std::cout << trace->workload.jobs.size() << " jobs\n";
#pragma once

#include "traces/reading/trace.hpp"
#include "traces/trace_format.hpp"
#include "workloads/jobs/job.hpp"
