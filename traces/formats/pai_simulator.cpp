/// The job lists that come with the simulator of Alibaba's PAI trace, 2020: `pai_job_*_100K.csv` (Weng et
/// al., NSDI'22).
///
/// Kept of a job: `job_id`, `user` (also the tenant), `num_gpu` (GPUs of the whole job; a fraction is a
/// shared GPU), `gpu_type`, `submit_time`, `duration` (1 s if it is not above 0, as in the simulator),
/// `wait_time` for the original start. Times are seconds. Not in the lists: model, deadline, requested time,
/// status, iterations. Not kept: CPUs, `num_inst`, `group` and the estimates of the duration.
///
/// Skipped: jobs without GPU, without submission time or duration.
#include "traces/formats/formats.hpp"

#include "core/base/numbers.hpp"
#include "traces/reading/job_fields.hpp"
#include "traces/reading/log_rows.hpp"

namespace vtrain {
namespace {

/// A duration of at least one second, as in the simulator.
SimDuration read_duration_at_least_1s(LogRow& row, int column) {
  if (row.rejected()) return {};
  if (!row.has(column)) {
    row.reject(skip::kNoRunTime, column);
    return {};
  }
  const auto nanoseconds = parse_seconds_as_ns(row.text(column));
  if (!nanoseconds) {
    row.reject(skip::kBadTime, column);
  } else if (*nanoseconds > kMaxTraceTime.count()) {
    row.reject(skip::kTooLong, column);
  } else if (*nanoseconds > 0) {
    return SimDuration(*nanoseconds);
  }
  return std::chrono::seconds(1);
}

RowReader bind_pai_simulator(ColumnFinder& columns) {
  const int id = columns.required("job_id");
  const int user = columns.required("user");
  const int gpus = columns.required("num_gpu");
  const int submit = columns.required("submit_time");
  const int duration = columns.required("duration");
  const int wait = columns.optional("wait_time");
  const int gpu_type = columns.optional("gpu_type");
  return [=](LogRow& row, Job& job) {
    job.name = row.text(id);
    GpuSum sum;
    sum.add(1, row.number(gpus));
    row.reject(sum.give(job), gpus);
    job.submit = row.instant(submit, skip::kNoSubmission);
    job.duration = read_duration_at_least_1s(row, duration);
    if (row.has(wait)) job.original_start = SimTime(job.submit + row.instant(wait, {}).time_since_epoch());
    row.tenant(user, job.tenant);
    row.user(user, job.user);
    row.gpu_type(gpu_type, job.gpu_type);
  };
}

}  // namespace

bool recognise_pai_simulator(std::string_view head) {
  return header_includes(head, {"job_id", "user", "num_gpu", "num_cpu", "submit_time", "duration"});
}

Result<Trace> read_pai_simulator(const TraceInput& input) {
  auto trace = read_log_csv(input, Origin::AsWritten, bind_pai_simulator);
  if (!trace) return trace;
  trace->assumptions.emplace_back("each user is a tenant");
  note_shared_gpus(*trace);
  return trace;
}

}  // namespace vtrain
