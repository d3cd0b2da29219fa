#include "policies/list/srtf.hpp"

#include "policies/list/list_policy.hpp"

namespace vtrain {
namespace {

class ShortestRemainingTimeFirst final : public ListPolicy {
  PriorityKey key_of_arrival(const SchedulingPass& pass, JobId job) override {
    return {.primary = pass.job(job).duration.count()};
  }

  bool update_running(const SchedulingPass& pass, std::span<ListedJob> running) override {
    for (ListedJob& job : running) {
      job.key.primary = pass.remaining(job.job).count();
      job.stamp = last_stamp();
    }
    return true;
  }

  // `update_running` sees what is left of every job, and needs nothing else.
  bool may_skip_order(const SchedulingPass&) override { return true; }
};

}  // namespace

Result<std::unique_ptr<Policy>> make_srtf(const PolicyArguments&) {
  return std::make_unique<ShortestRemainingTimeFirst>();
}

}  // namespace vtrain
