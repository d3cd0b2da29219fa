#include "traces/acme_reader.hpp"

#include "traces/log_csv.hpp"

namespace vtrain {
namespace {

RowReader bind(ColumnFinder& columns) {
  const int id = columns.required("job_id");
  const int user = columns.required("user");
  const int gpus = columns.required("gpu_num");
  const int state = columns.required("state");
  const int submit = columns.required("submit_time");
  const int start = columns.required("start_time");
  const int end = columns.required("end_time");
  return [=](LogRow& row, Job& job) {
    job.name = row.text(id);
    job.num_gpus = row.num_gpus(gpus);
    job.status = row.slurm_status(state);
    row.set_run(job, row.local_time(submit, kChina, skip::kNoSubmission),
                row.local_time(start, kChina, skip::kNeverStarted),
                row.local_time(end, kChina, skip::kNoEnd));
    row.tenant(user, job.tenant);
    row.user(user, job.user);
  };
}

}  // namespace

bool recognise_acme(std::string_view head) {
  return header_includes(head, {"job_id", "gpu_num", "type", "state", "submit_time", "start_time", "end_time",
                                "gpu_time"}) &&
         !header_includes(head, {"vc"});
}

Result<Trace> read_acme(const TraceInput& input) {
  auto trace = read_log_csv(input, Origin::FirstSubmission, bind);
  if (trace) trace->assumptions.emplace_back("each user is a tenant");
  return trace;
}

}  // namespace vtrain
