/// Priorities of a queue that a folder of Slurm's files states.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "policies/registry.hpp"
#include "policies/tenants/slurm/queue_state.hpp"

namespace vtrain {

/// True if `instance` names a folder, which states a queue of Slurm.
bool is_slurm_folder(const std::string& instance);

/// Computes the priorities of the jobs in a folder. The policy must be `slurm`; of its parameters `ignore`
/// has an effect. Errors: another policy, those of `read_queue_priorities`.
Result<slurm::QueuePriorities> decide_slurm_queue(const std::string& folder, std::string_view policy,
                                                  const PolicyRegistry& registry);

}  // namespace vtrain
