#include "traces/formats/acme.hpp"

#include "traces/reading/slurm_log.hpp"

namespace vtrain {

bool recognise_acme(std::string_view head) {
  return header_includes(head, {"job_id", "gpu_num", "type", "state", "submit_time", "start_time", "end_time",
                                "gpu_time"}) &&
         !header_includes(head, {"vc"});
}

Result<Trace> read_acme(const TraceInput& input) {
  auto trace = read_log_csv(input, Origin::FirstSubmission,
                            [](ColumnFinder& columns) { return slurm_log_rows(columns, "user"); });
  if (trace) trace->assumptions.emplace_back("each user is a tenant");
  return trace;
}

}  // namespace vtrain
