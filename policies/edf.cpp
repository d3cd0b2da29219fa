#include "policies/edf.hpp"

#include "policies/elasticflow_edf.hpp"
#include "policies/list_policy.hpp"

namespace vtrain {
namespace {

class EarliestDeadlineFirst final : public ListPolicy {
  PriorityKey key_of_arrival(const SchedulingPass& pass, JobId job) override {
    // `Job::kNoDeadline` is later than any deadline.
    return {.primary = pass.job(job).deadline.time_since_epoch().count()};
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
  return std::make_unique<EarliestDeadlineFirst>();
}

}  // namespace vtrain
