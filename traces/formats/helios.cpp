#include "traces/formats/helios.hpp"

#include "traces/reading/slurm_log.hpp"

namespace vtrain {

bool recognise_helios(std::string_view head) {
  return header_includes(head, {"job_id", "vc", "gpu_num", "state", "submit_time", "start_time", "end_time"});
}

Result<Trace> read_helios(const TraceInput& input) {
  auto trace = read_log_csv(input, Origin::FirstSubmission,
                            [](ColumnFinder& columns) { return slurm_log_rows(columns, "vc"); });
  if (trace) trace->assumptions.emplace_back("times are local times of China");
  return trace;
}

}  // namespace vtrain
