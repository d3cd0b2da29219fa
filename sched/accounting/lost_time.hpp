/// GPU-seconds that jobs held and that brought no lasting work, by cause.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sched/accounting/gpu_time.hpp"

namespace vtrain {

/// Why GPU time produced no lasting work; `kLossCauses` says what each means.
enum class LossCause : std::uint8_t { LostWork, FailureRestart, Preemption, Resize, Checkpoint, Spread };
inline constexpr std::size_t kNumLossCauses = 6;

/// A cause in words.
struct LossCauseInfo {
  std::string_view name;     ///< in files
  std::string_view title;    ///< above a column
  std::string_view meaning;  ///< which GPU-hours these are
};

/// All causes, in the order of the enumeration.
inline constexpr std::array<LossCauseInfo, kNumLossCauses> kLossCauses = {{
    {.name = "lost_work",
     .title = "Lost work",
     .meaning = "GPU-hours since the last complete checkpoint, lost with failing nodes"},
    {.name = "failure_restart",
     .title = "Failure restarts",
     .meaning = "GPU-hours of noticing failures and starting again"},
    {.name = "preemption",
     .title = "Preemptions",
     .meaning = "GPU-hours of saving and starting again after preemptions"},
    {.name = "resize",
     .title = "Resizes",
     .meaning = "GPU-hours of saving and starting again on another number of GPUs"},
    {.name = "checkpoint", .title = "Checkpoints", .meaning = "GPU-hours of writing periodic checkpoints"},
    {.name = "spread", .title = "Spread", .meaning = "GPU-hours of training slower than on one node"},
}};

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
