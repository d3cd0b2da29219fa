#include "policies/edf.hpp"

#include "policies/elastic_job.hpp"
#include "policies/elasticflow_edf.hpp"
#include "policies/list_policy.hpp"

namespace vtrain {
namespace {

class EarliestDeadlineFirst : public ListPolicy {
  PriorityKey key_of_arrival(const SchedulingPass& pass, JobId job) override {
    // `Job::kNoDeadline` is later than any deadline.
    return {.primary = pass.job(job).deadline.time_since_epoch().count()};
  }
};

class ElasticEarliestDeadlineFirst final : public EarliestDeadlineFirst {
 public:
  ProgressRule progress_rule() const override { return ProgressRule::Iterations; }

 private:
  GpuCount least_gpus(const SchedulingPass& pass, JobId job) const override {
    return vtrain::least_gpus(pass, job);
  }
  GpuCount gpus_within(const SchedulingPass& pass, const ListedJob& job, GpuCount left) const override {
    return fastest_within(pass, job.job, left);
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
  if (resize == "yes") return std::make_unique<ElasticEarliestDeadlineFirst>();
  if (resize != "no") return fail(arguments.bad_value("resize", "yes or no"));
  return std::make_unique<EarliestDeadlineFirst>();
}

}  // namespace vtrain
