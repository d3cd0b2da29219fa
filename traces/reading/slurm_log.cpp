#include "traces/reading/slurm_log.hpp"

#include "traces/reading/slurm_state.hpp"

namespace vtrain {

RowReader slurm_log_rows(ColumnFinder& columns, std::string_view tenant_column) {
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

}  // namespace vtrain
