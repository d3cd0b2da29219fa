/// GPUs x time, without rounding.
#pragma once

#include <cstdint>
#include <string>

#include "core/units.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// GPU-seconds that a job held: whole ones and billionths beyond them, so that sums are exact.
class GpuTime {
 public:
  /// Adds `num_gpus` GPUs held for `duration`, which is not negative.
  void add(SimDuration duration, GpuCount num_gpus) {
    const std::int64_t rest = duration.count() % kPerSecond * num_gpus.value + billionths_;
    seconds_ += duration.count() / kPerSecond * num_gpus.value + rest / kPerSecond;
    billionths_ = rest % kPerSecond;
  }
  /// The same for jobs that use `gpu_share` thousandths of each GPU; less than a nanosecond is left out.
  void add(SimDuration duration, GpuCount num_gpus, std::int16_t gpu_share) {
    if (gpu_share == kWholeGpu) return add(duration, num_gpus);
    add(duration / kWholeGpu * gpu_share + duration % kWholeGpu * gpu_share / kWholeGpu, num_gpus);
  }
  /// Adds what another has.
  void add(const GpuTime& other) {
    const std::int64_t rest = billionths_ + other.billionths_;
    seconds_ += other.seconds_ + rest / kPerSecond;
    billionths_ = rest % kPerSecond;
  }
  friend bool operator==(const GpuTime&, const GpuTime&) = default;
  /// GPU-seconds, to the nearest double.
  double seconds() const {
    return static_cast<double>(seconds_) + static_cast<double>(billionths_) / static_cast<double>(kPerSecond);
  }
  /// Appends GPU-seconds with as many digits as needed.
  void append_to(std::string& out) const;

 private:
  static constexpr std::int64_t kPerSecond = 1'000'000'000;
  std::int64_t seconds_ = 0;
  std::int64_t billionths_ = 0;
};

}  // namespace vtrain
