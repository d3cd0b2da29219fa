#include "policies/list/sjf.hpp"

#include "policies/list/list_policy.hpp"

namespace vtrain {
namespace {

class ShortestJobFirst final : public ListPolicy {
  PriorityKey key_of_arrival(const SchedulingPass& pass, JobId job) override {
    return {.primary = pass.job(job).num_gpus.value};
  }
  bool may_skip_order(const SchedulingPass&) override { return true; }
};

}  // namespace

Result<std::unique_ptr<Policy>> make_sjf(const PolicyArguments&) {
  return std::make_unique<ShortestJobFirst>();
}

}  // namespace vtrain
