// Shortest first: preemptive list policies whose key is the size of the job.
//
//  * `sjf`: number of GPUs, as in the schedule of that name in the Tiresias simulator.
//  * `srtf`: remaining run time, which the policy knows (the `shortest` of the Tiresias simulator).
//  * `srsf`: remaining run time x GPUs, which the policy knows (the `shortest-gpu` of the Tiresias
//    simulator).
#include <algorithm>

#include "policies/base/policies.hpp"
#include "policies/list/list_policy.hpp"

namespace vtrain {
namespace {

class ShortestJobFirst final : public ListPolicy {
 public:
  bool can_begin_with_jobs() const override { return true; }

 private:
  PriorityKey key_of_arrival(const SchedulingPass& pass, JobId job) override {
    return {.primary = pass.job(job).num_gpus.value};
  }
  bool may_skip_order(const SchedulingPass&) override { return true; }
};

class ShortestRemainingTimeFirst final : public ListPolicy {
 public:
  bool can_begin_with_jobs() const override { return true; }

 private:
  PriorityKey key_of_arrival(const SchedulingPass& pass, JobId job) override {
    return {.primary = pass.remaining(job).count()};
  }

  bool update_running(const SchedulingPass& pass, std::span<ListedJob> running) override {
    for (ListedJob& job : running) {
      job.key.primary = pass.remaining(job.job).count();
      job.stamp = last_stamp();
    }
    return true;
  }

  // `update_running` needs only the remaining time of every job.
  bool may_skip_order(const SchedulingPass&) override { return true; }
};

/// duration x GPUs, exactly: in ns it may need 94 bits, which are split into those above and below the lowest
/// 32.
PriorityKey service_key(SimDuration duration, GpuCount num_gpus) {
  constexpr std::uint64_t kLow = 0xffff'ffff;
  const auto time = static_cast<std::uint64_t>(duration.count());
  const auto gpus = static_cast<std::uint64_t>(num_gpus.value);
  const std::uint64_t low = (time & kLow) * gpus;
  const std::uint64_t high = (time >> 32) * gpus + (low >> 32);
  return {.primary = static_cast<std::int64_t>(high), .secondary = static_cast<std::int64_t>(low & kLow)};
}

class LeastRemainingServiceFirst final : public ListPolicy {
 public:
  bool can_begin_with_jobs() const override { return true; }

 private:
  PriorityKey key_of_arrival(const SchedulingPass& pass, JobId job) override {
    return service_key(pass.remaining(job), pass.job(job).num_gpus);
  }

  bool update_running(const SchedulingPass& pass, std::span<ListedJob> running) override {
    GpuCount largest(0);
    for (const ListedJob& job : running)
      largest = std::max(largest, job.num_gpus);
    const auto num_running = std::ssize(running);
    std::int64_t stamp = last_stamps(num_running * (largest.value + 1));
    // If nothing disrupts jobs, a larger gang that ties with a smaller one now was after it before, because
    // its service falls faster.
    const std::int64_t behind = pass.disrupted() ? 0 : num_running;
    for (ListedJob& job : running) {
      job.key = service_key(pass.remaining(job.job), job.num_gpus);
      job.stamp = stamp++ + behind * job.num_gpus.value;
    }
    return true;
  }

  // Their former order is visible only if all run at the pace of their durations.
  bool may_skip_order(const SchedulingPass& pass) override { return !pass.disrupted(); }
};

}  // namespace

MadePolicy make_sjf(const PolicyArguments&) {
  return std::make_unique<ShortestJobFirst>();
}

MadePolicy make_srtf(const PolicyArguments&) {
  return std::make_unique<ShortestRemainingTimeFirst>();
}

MadePolicy make_srsf(const PolicyArguments&) {
  return std::make_unique<LeastRemainingServiceFirst>();
}

}  // namespace vtrain
