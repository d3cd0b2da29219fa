/// Jobs, and the traces that they come from.
///
/// A `Workload` is a plain value: `jobs` in the order of their submission, with the tables of names (tenants,
/// users, models, GPU types) that their ids point into. `Job` has a submission time (`submit`), a request
/// (`num_gpus`, `gpu_type`), a run time (`duration`, 0 if model and iterations give it), and a `deadline`.
/// Times are from the origin of the trace.
///
/// `read_trace(path, "auto", {})` recognises some twenty formats (docs/traces.md), plain or compressed;
/// `Trace::skipped` counts rows that are no jobs, `Trace::assumptions` lists assumptions.
///
///     auto trace = vtrain::read_trace("jobs.csv", "auto", {});
///     if (trace) std::cout << trace->workload.jobs.size() << " jobs\n";
#pragma once

#include "traces/reading/trace.hpp"
#include "traces/trace_format.hpp"
#include "workloads/jobs/job.hpp"
