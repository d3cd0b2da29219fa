#include "traces/formats/sia.hpp"

#include "traces/reading/job_csv.hpp"

namespace vtrain {

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
