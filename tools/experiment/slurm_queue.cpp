#include "tools/experiment/slurm_queue.hpp"

#include <filesystem>

#include "core/base/strings.hpp"

namespace vtrain {

bool is_slurm_folder(const std::string& instance) {
  std::error_code ignored;
  return std::filesystem::is_directory(instance, ignored);
}

Result<slurm::QueuePriorities> decide_slurm_queue(const std::string& folder, std::string_view policy,
                                                  const PolicyRegistry& registry) {
  const auto arguments = registry.parse(policy);
  if (!arguments) return fail(arguments.error());
  if (arguments->policy().name != "slurm") {
    return fail(
        {.field = "--policy",
         .message = expected_found("slurm, as a folder states a queue of Slurm", arguments->policy().name)});
  }
  return slurm::read_queue_priorities(folder, split((*arguments)["ignore"], '+'));
}

}  // namespace vtrain
