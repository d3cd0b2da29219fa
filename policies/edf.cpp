#include "policies/edf.hpp"

#include "policies/elastic_edf.hpp"
#include "policies/elasticflow_edf.hpp"
#include "policies/list_policy.hpp"

namespace vtrain {
namespace {

class RigidEdf final : public ListPolicy {
  PriorityKey key_of_arrival(const SchedulingPass& pass, JobId job) override {
    return deadline_key(pass.job(job));
  }
};

}  // namespace

Result<std::unique_ptr<Policy>> make_edf(const PolicyArguments& arguments) {
  const std::string_view preset = arguments["preset"];
  if (preset == "elasticflow") {
    const auto slot = parse_slot(arguments);
    if (!slot) return fail(slot.error());
    return std::make_unique<ElasticFlowEdf>(*slot);
  }
  if (preset != "none") return fail(arguments.bad_value("preset", "none or elasticflow"));
  const std::string_view resize = arguments["resize"];
  if (resize == "yes") return std::make_unique<ElasticEdf>();
  if (resize != "no") return fail(arguments.bad_value("resize", "yes or no"));
  return std::make_unique<RigidEdf>();
}

}  // namespace vtrain
