/// Job logs that clusters exported from Slurm. Both have the GPUs, the state, and the times of submission,
/// start and end, which give the original start and the run time. Neither has a GPU type, a model, a
/// deadline, a requested time or iterations. Times are local time of China unless they carry an offset.
///
/// Skipped: jobs without GPU, not ended (`RUNNING`, `SUSPENDED`), without a start or an end.
///
/// Helios: `cluster_log.csv` of SenseTime's Helios clusters, 2020 (Hu et al., SC'21), and copies of it with
/// more columns (Lucid's `cluster_full_log.csv`). `vc` is the tenant. About half of its jobs have no GPU.
///
/// Acme: `trace_seren.csv` (Slurm) and `trace_kalos.csv` (Kubernetes) of Shanghai AI Lab's Acme clusters,
/// 2023 (Hu et al., NSDI'24). Each user is a tenant: the logs have no other tenants. The column `duration` is
/// not read, because in Kalos it counts from the submission. `type`, the class of the workload, is not kept.
#include "traces/formats/formats.hpp"

#include "traces/reading/job_fields.hpp"
#include "traces/reading/log_rows.hpp"

namespace vtrain {
namespace {

RowReader bind_slurm_log(ColumnFinder& columns, std::string_view tenant_column) {
  const int id = columns.required("job_id");
  const int gpus = columns.required("gpu_num");
  const int state = columns.required("state");
  const int submit = columns.required("submit_time");
  const int start = columns.required("start_time");
  const int end = columns.required("end_time");
  const int tenant = columns.required(tenant_column);
  const int user = columns.optional("user");
  return [=](LogRow& row, Job& job) {
    job.name = row.text(id);
    job.num_gpus = row.num_gpus(gpus);
    job.status = row.has(state) ? slurm_job_status(row.text(state)) : JobStatus::Unknown;
    if (job.status == JobStatus::Running) row.reject(skip::kNotEnded, state);
    row.set_run(job, row.local_time(submit, kChina, skip::kNoSubmission),
                row.local_time(start, kChina, skip::kNeverStarted),
                row.local_time(end, kChina, skip::kNoEnd));
    row.tenant(tenant, job.tenant);
    row.user(user, job.user);
  };
}

}  // namespace

bool recognise_helios(std::string_view head) {
  return header_includes(head, {"job_id", "vc", "gpu_num", "state", "submit_time", "start_time", "end_time"});
}

Result<Trace> read_helios(const TraceInput& input) {
  auto trace = read_log_csv(input, Origin::FirstSubmission,
                            [](ColumnFinder& columns) { return bind_slurm_log(columns, "vc"); });
  if (trace) trace->assumptions.emplace_back("times are local times of China");
  return trace;
}

bool recognise_acme(std::string_view head) {
  return header_includes(head, {"job_id", "gpu_num", "type", "state", "submit_time", "start_time", "end_time",
                                "gpu_time"}) &&
         !header_includes(head, {"vc"});
}

Result<Trace> read_acme(const TraceInput& input) {
  auto trace = read_log_csv(input, Origin::FirstSubmission,
                            [](ColumnFinder& columns) { return bind_slurm_log(columns, "user"); });
  if (trace) trace->assumptions.emplace_back("each user is a tenant");
  return trace;
}

}  // namespace vtrain
