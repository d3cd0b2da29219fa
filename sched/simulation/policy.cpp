#include "sched/simulation/policy.hpp"

#include <nlohmann/json.hpp>

#include "sched/simulation/gpus_by_type.hpp"

namespace vtrain {

Allocation SchedulingPass::held(JobId job) const {
  const Allocation all{held_gpus(job)};
  if (gpus_by_type_ == nullptr || all.gpus.value == 0) return all;
  const std::span<const NodeShare> shares = gpus_by_type_->held(job);
  std::optional<std::uint32_t> type;
  for (const NodeShare& share : shares) {
    const std::uint32_t here = gpus_by_type_->type_of(share);
    if (type && *type != here) return all;
    type = here;
  }
  return {all.gpus, type};
}

Result<std::shared_ptr<const PolicyMemory>> Policy::read_memory(const nlohmann::json& /*memory*/,
                                                                const SimulationState& /*state*/) const {
  return fail({.message = "the policy keeps no memory"});
}

}  // namespace vtrain
