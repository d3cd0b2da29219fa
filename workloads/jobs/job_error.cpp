#include "workloads/jobs/job_error.hpp"

#include <fmt/format.h>

#include <utility>

namespace vtrain {

Error job_error(const Job& job, Error error) {
  error.message = fmt::format("job '{}': {}", job.name, error.message);
  return error;
}

Error job_error(const Job& job, std::string field, std::string message) {
  return job_error(job, {.field = std::move(field), .message = std::move(message)});
}

}  // namespace vtrain
