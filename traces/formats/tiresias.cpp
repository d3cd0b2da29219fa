#include "traces/formats/tiresias.hpp"

#include "traces/reading/job_csv.hpp"

namespace vtrain {

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

}  // namespace vtrain
