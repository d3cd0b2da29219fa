/// The jobs of Alibaba's spot-GPU data set, 2026: `job_info_df.csv` (the trace of the GFS scheduler).
///
/// Kept of a job: `job_name`, `organization` (the tenant), `gpu_model` as the GPU type, `worker_num` workers
/// of `gpu_request` GPUs each, `submit_time` (seconds from the first job), `duration`, `job_type` (`HP` or
/// `Spot`) as QoS. Not in the list: user, model, deadline, requested time, status, original start,
/// iterations.
///
/// Skipped: rows without GPU, submission time or run time.
#include "traces/formats/formats.hpp"

#include "traces/reading/log_rows.hpp"

namespace vtrain {
namespace {

RowReader bind_spot_gpu(ColumnFinder& columns) {
  const int name = columns.required("job_name");
  const int organization = columns.required("organization");
  const int gpu_model = columns.optional("gpu_model");
  const int request = columns.required("gpu_request");
  const int workers = columns.required("worker_num");
  const int submit = columns.required("submit_time");
  const int duration = columns.required("duration");
  const int type = columns.optional("job_type");
  return [=](LogRow& row, Job& job) {
    job.name = row.text(name);
    GpuSum gpus;
    gpus.add(row.number(workers), row.number(request));
    row.reject(gpus.give(job), request);
    job.submit = row.instant(submit, skip::kNoSubmission);
    job.duration = row.duration(duration);
    row.tenant(organization, job.tenant);
    row.qos(type, job.qos);
    row.gpu_type(gpu_model, job.gpu_type);
  };
}

}  // namespace

bool recognise_spot_gpu(std::string_view head) {
  return header_includes(
      head, {"job_name", "organization", "gpu_request", "worker_num", "submit_time", "duration"});
}

Result<Trace> read_spot_gpu(const TraceInput& input) {
  auto trace = read_log_csv(input, Origin::AsWritten, bind_spot_gpu);
  if (trace) note_shared_gpus(*trace);
  return trace;
}

}  // namespace vtrain
