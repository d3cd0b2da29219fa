#include "workloads/jobs/job_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace vtrain {

Error job_error(const Workload& workload, const Job& job, Error error) {
  error.message = fmt::format("job '{}': {}", job.name, error.message);
  const std::vector<SourceFile>& files = workload.sources;
  const auto file = std::find_if(files.begin(), files.end(),
                                 [&](const SourceFile& each) { return job.line <= each.last_line; });
  if (job.line == 0 || file == files.end()) return error;
  error.file = file->name;
  error.line = job.line - (file == files.begin() ? 0 : std::prev(file)->last_line);
  return error;
}

Error job_error(const Workload& workload, const Job& job, std::string field, std::string message) {
  return job_error(workload, job, {.field = std::move(field), .message = std::move(message)});
}

}  // namespace vtrain
