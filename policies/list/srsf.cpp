#include "policies/list/srsf.hpp"

#include <algorithm>

#include "policies/list/list_policy.hpp"

namespace vtrain {
namespace {

/// duration x GPUs, exactly: in ns it may need 94 bits, which are split into those above and below the
/// lowest 32.
PriorityKey service_key(SimDuration duration, GpuCount num_gpus) {
  constexpr std::uint64_t kLow = 0xffff'ffff;
  const auto time = static_cast<std::uint64_t>(duration.count());
  const auto gpus = static_cast<std::uint64_t>(num_gpus.value);
  const std::uint64_t low = (time & kLow) * gpus;
  const std::uint64_t high = (time >> 32) * gpus + (low >> 32);
  return {.primary = static_cast<std::int64_t>(high), .secondary = static_cast<std::int64_t>(low & kLow)};
}

class LeastRemainingServiceFirst final : public ListPolicy {
  PriorityKey key_of_arrival(const SchedulingPass& pass, JobId job) override {
    return service_key(pass.job(job).duration, pass.job(job).num_gpus);
  }

  bool update_running(const SchedulingPass& pass, std::span<ListedJob> running) override {
    GpuCount largest(0);
    for (const ListedJob& job : running)
      largest = std::max(largest, job.num_gpus);
    const auto num_running = std::ssize(running);
    std::int64_t stamp = last_stamps(num_running * (largest.value + 1));
    // Where nothing disrupts jobs, a larger gang that ties with a smaller one now was behind it before, as
    // its service falls faster.
    const std::int64_t behind = pass.disrupted() ? 0 : num_running;
    for (ListedJob& job : running) {
      job.key = service_key(pass.remaining(job.job), job.num_gpus);
      job.stamp = stamp++ + behind * job.num_gpus.value;
    }
    return true;
  }

  // Who was ahead of whom shows only where all run at the pace of their durations.
  bool may_skip_order(const SchedulingPass& pass) override { return !pass.disrupted(); }
};

}  // namespace

Result<std::unique_ptr<Policy>> make_srsf(const PolicyArguments&) {
  return std::make_unique<LeastRemainingServiceFirst>();
}

}  // namespace vtrain
