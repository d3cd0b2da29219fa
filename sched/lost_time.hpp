/// GPU-seconds that jobs held and that brought no lasting work, by cause.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sched/gpu_time.hpp"

namespace vtrain {

/// Why GPU time produced no lasting work.
enum class LossCause : std::uint8_t {
  LostWork,        ///< work since the last complete checkpoint, gone with a failed node
  FailureRestart,  ///< noticing a failure, and starting again after it
  Preemption,      ///< saving the state and starting again after the policy took the GPUs away
  Resize,          ///< saving the state and starting again on another number of GPUs
  Checkpoint,      ///< writing periodic checkpoints
  Spread,          ///< training slower than on a gang that is not spread
};
inline constexpr std::size_t kNumLossCauses = 6;

/// Their names in files: `lost_work`, `failure_restart`, `preemption`, `resize`, `checkpoint` and `spread`.
inline constexpr std::array<std::string_view, kNumLossCauses> kLossCauseNames = {
    "lost_work", "failure_restart", "preemption", "resize", "checkpoint", "spread"};

/// What one job lost.
class LostGpuTime {
 public:
  GpuTime& operator[](LossCause cause) { return by_cause_[static_cast<std::size_t>(cause)]; }
  const GpuTime& operator[](LossCause cause) const { return by_cause_[static_cast<std::size_t>(cause)]; }
  /// Adds what another has.
  void add(const LostGpuTime& other) {
    for (std::size_t cause = 0; cause < kNumLossCauses; ++cause)
      by_cause_[cause].add(other.by_cause_[cause]);
  }
  GpuTime total() const {
    GpuTime sum;
    for (const GpuTime& lost : by_cause_)
      sum.add(lost);
    return sum;
  }
  bool none() const { return by_cause_ == std::array<GpuTime, kNumLossCauses>(); }

 private:
  std::array<GpuTime, kNumLossCauses> by_cause_;
};

}  // namespace vtrain
