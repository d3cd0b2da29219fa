#include "traces/formats/philly.hpp"

#include "traces/reading/job_csv.hpp"

namespace vtrain {

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

}  // namespace vtrain
