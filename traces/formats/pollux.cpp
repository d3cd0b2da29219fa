#include "traces/formats/pollux.hpp"

#include <string>

#include "traces/reading/log_csv.hpp"

namespace vtrain {
namespace {

RowReader bind_pollux(ColumnFinder& columns) {
  const int timestamp = columns.required("timestamp");
  const int duration = columns.required("duration");
  const int gpus = columns.required("num_gpus");
  const int cluster = columns.required("cluster");
  return [=, number = 0, name = std::string()](LogRow& row, Job& job) mutable {
    name = std::to_string(number++);
    job.name = name;
    job.num_gpus = row.num_gpus(gpus);
    job.submit = row.local_time(timestamp, kUsPacific, skip::kNoSubmission);
    job.duration = row.duration(duration);
    row.tenant(cluster, job.tenant);
  };
}

}  // namespace

bool recognise_pollux(std::string_view head) {
  return header_includes(head, {"timestamp", "duration", "num_gpus", "gpu_time", "cluster"});
}

Result<Trace> read_pollux(const TraceInput& input) {
  auto trace = read_log_csv(input, Origin::FirstSubmission, bind_pollux);
  if (trace)
    trace->assumptions.emplace_back("times are local times of the US west coast; job ids are row numbers");
  return trace;
}

}  // namespace vtrain
