#include "traces/formats/muri.hpp"

#include "traces/reading/job_csv.hpp"

namespace vtrain {

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

}  // namespace vtrain
