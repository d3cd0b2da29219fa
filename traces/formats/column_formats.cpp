/// CSV files whose columns each hold one field of a job: a format is a list of column names. They have no GPU
/// type, deadline, requested time, status or original start.
#include "traces/formats/formats.hpp"

#include "traces/reading/job_csv.hpp"

namespace vtrain {

/// ITP: the logs of Microsoft's ITP clusters, 2021, as ElasticFlow (ASPLOS'23) published them. Job ids are
/// UUIDs, times are seconds. The files have no other fields.
bool recognise_itp(std::string_view head) {
  return header_has(head, {"job_id", "submission_time", "duration", "num_gpu"}, {});
}

Result<Trace> read_itp(const TraceInput& input) {
  return read_job_csv(
      input,
      {.job_id = "job_id", .submit = "submission_time", .num_gpus = "num_gpu", .duration = "duration"});
}

/// Philly: the jobs of Microsoft's Philly cluster, 2017 (Jeon et al., USENIX ATC'19), rebuilt from published
/// derivatives of the log. Virtual clusters are tenants. Times are seconds since the first job; a duration is
/// the sum over all attempts.
bool recognise_philly(std::string_view head) {
  return header_has(head, {"job_idx", "vc", "submit_time_s", "num_gpus", "duration_s"},
                    {"submit_local", "source"});
}

Result<Trace> read_philly(const TraceInput& input) {
  return read_job_csv(input, {.job_id = "job_idx",
                              .submit = "submit_time_s",
                              .num_gpus = "num_gpus",
                              .duration = "duration_s",
                              .tenant = "vc"});
}

/// Tiresias: the CSV of the Tiresias simulator (Gu et al., NSDI'19), in seconds. Several later simulators use
/// it too. `interval`, the gap to the next job, is redundant. A header with further columns is not
/// recognised: Muri's is in milliseconds and Chronus's in minutes.
bool recognise_tiresias(std::string_view head) {
  return header_has(
      head, {"job_id", "num_gpu", "submit_time", "duration"},
      {"iterations", "model_name", "interval", "start_time", "model_size", "aggr_interval", "model_scale"});
}

Result<Trace> read_tiresias(const TraceInput& input) {
  return read_job_csv(input, {.job_id = "job_id",
                              .submit = "submit_time",
                              .num_gpus = "num_gpu",
                              .duration = "duration",
                              .model = "model_name",
                              .iterations = "iterations"});
}

/// Muri: the CSV of the Muri simulator (Zhao et al., SIGCOMM'22): Tiresias's columns and more, in
/// milliseconds. Dropped are `batch_size`, which is for one GPU, the times of the stages of an iteration
/// (`resource_time_N`), `priority` and `interval`.
bool recognise_muri(std::string_view head) {
  return header_has(head,
                    {"job_id", "num_gpu", "submit_time", "duration", "iteration_time", "resource_time_0"},
                    {"iterations", "model_name", "batch_size", "interval", "resource_time_1",
                     "resource_time_2", "resource_time_3", "priority"});
}

Result<Trace> read_muri(const TraceInput& input) {
  return read_job_csv(input, {.job_id = "job_id",
                              .submit = "submit_time",
                              .num_gpus = "num_gpu",
                              .duration = "duration",
                              .model = "model_name",
                              .iterations = "iterations",
                              .unit = kMilliseconds});
}

/// Sia: the workload CSV of the Pollux and Sia simulators (Qiao et al., OSDI'21; Jayaram Subramanya et al.,
/// SOSP'23), in seconds. `num_replicas` are the GPUs that the user requests. The file has neither durations
/// nor iterations: the work is in profiles of each application that are not part of it. So the jobs can be
/// inspected and given work, but not replayed unchanged.
bool recognise_sia(std::string_view head) {
  return header_has(head, {"name", "time", "application", "num_replicas", "batch_size"}, {});
}

Result<Trace> read_sia(const TraceInput& input) {
  auto trace = read_job_csv(input, {.job_id = "name",
                                    .submit = "time",
                                    .num_gpus = "num_replicas",
                                    .model = "application",
                                    .global_batch = "batch_size",
                                    .without_work = true});
  if (trace) trace->assumptions.emplace_back("run times are unknown: the format names applications only");
  return trace;
}

}  // namespace vtrain
