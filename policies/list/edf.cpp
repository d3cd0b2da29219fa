#include "policies/list/edf.hpp"

#include "policies/elasticflow/elasticflow_edf.hpp"
#include "policies/list/elastic_edf.hpp"
#include "policies/list/list_policy.hpp"

namespace vtrain {
namespace {

class RigidEdf final : public ListPolicy {
  PriorityKey key_of_arrival(const SchedulingPass& pass, JobId job) override {
    return deadline_key(pass.job(job));
  }
  bool may_skip_order(const SchedulingPass&) override { return true; }
};

}  // namespace

Result<std::unique_ptr<Policy>> make_edf(const PolicyArguments& arguments) {
  if (arguments["preset"] == "elasticflow") {
    const auto slot = parse_slot(arguments);
    if (!slot) return fail(slot.error());
    return std::make_unique<ElasticFlowEdf>(*slot);
  }
  if (arguments["resize"] == "yes") return std::make_unique<ElasticEdf>();
  return std::make_unique<RigidEdf>();
}

}  // namespace vtrain
