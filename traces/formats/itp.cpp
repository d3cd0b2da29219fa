#include "traces/formats/itp.hpp"

#include "traces/reading/job_csv.hpp"

namespace vtrain {

bool recognise_itp(std::string_view head) {
  return header_has(head, {"job_id", "submission_time", "duration", "num_gpu"}, {});
}

Result<Trace> read_itp(const TraceInput& input) {
  return read_job_csv(
      input,
      {.job_id = "job_id", .submit = "submission_time", .num_gpus = "num_gpu", .duration = "duration"});
}

}  // namespace vtrain
