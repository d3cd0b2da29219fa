/// GPUs x time, without rounding: time for which jobs held GPUs, and the part of it that produced no lasting
/// work.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/units.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Seconds of an hour, for GPU-hours.
inline constexpr double kSecondsPerHour = 3600;

/// GPU-seconds that a job held. They are kept as whole seconds and trillionths (a thousandth of a GPU for a
/// nanosecond), so that sums are exact.
class GpuTime {
 public:
  /// Adds `num_gpus` GPUs held for `duration`, which is not negative.
  void add(SimDuration duration, GpuCount num_gpus) {
    const std::int64_t seconds = duration.count() / kNsPerSecond;
    const std::int64_t rest = duration.count() % kNsPerSecond * num_gpus.value;
    add(seconds * num_gpus.value + rest / kNsPerSecond, rest % kNsPerSecond * kPerNs);
  }
  /// Adds `gpu_share` thousandths of each of `num_gpus` GPUs held for `duration`.
  void add(SimDuration duration, GpuCount num_gpus, std::int16_t gpu_share) {
    if (gpu_share == kWholeGpu) return add(duration, num_gpus);
    const std::int64_t thousandths = std::int64_t{num_gpus.value} * gpu_share;
    add(duration, GpuCount(static_cast<std::int32_t>(thousandths / kWholeGpu)));
    const std::int64_t part = thousandths % kWholeGpu;
    const std::int64_t seconds = duration.count() / kNsPerSecond * part;
    add(seconds / kWholeGpu,
        seconds % kWholeGpu * (kPerSecond / kWholeGpu) + duration.count() % kNsPerSecond * part);
  }
  /// Adds another GPU time.
  void add(const GpuTime& other) { add(other.seconds_, other.trillionths_); }
  friend bool operator==(const GpuTime&, const GpuTime&) = default;
  /// GPU-seconds, to the nearest double.
  double seconds() const {
    return static_cast<double>(seconds_) +
           static_cast<double>(trillionths_) / static_cast<double>(kPerSecond);
  }
  /// Appends GPU-seconds with as many digits as needed.
  void append_to(std::string& out) const;
  /// Lists the members for `core/io/json_members.hpp`.
  template <class Archive>
  void members(Archive& archive) {
    archive("seconds", seconds_, 0);
    archive("trillionths", trillionths_, 0);
    archive.check(seconds_ >= 0 && seconds_ <= kMostRead, "seconds", "0 to 2^61");
    archive.check(trillionths_ >= 0 && trillionths_ < kPerSecond, "trillionths", "0 to a trillion");
  }

 private:
  static constexpr std::int64_t kMostRead = std::int64_t{1} << 61;
  static constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  static constexpr std::int64_t kPerNs = 1'000;
  static constexpr std::int64_t kPerSecond = kNsPerSecond * kPerNs;

  /// Adds whole GPU-seconds, and trillionths that make less than two seconds.
  void add(std::int64_t seconds, std::int64_t trillionths) {
    const std::int64_t rest = trillionths_ + trillionths;
    seconds_ += seconds + rest / kPerSecond;
    trillionths_ = rest % kPerSecond;
  }

  std::int64_t seconds_ = 0;
  std::int64_t trillionths_ = 0;
};

/// Cause of GPU time without lasting work; `kLossCauses` explains each.
enum class LossCause : std::uint8_t {
  LostWork,        ///< work since the last checkpoint, lost with a failing node
  FailureRestart,  ///< noticing a failure and starting again
  Preemption,      ///< saving and starting again after a preemption
  Resize,          ///< saving and starting again on another number of GPUs
  Checkpoint,      ///< writing periodic checkpoints
  Spread           ///< training slower than on one node
};
/// Number of values of `LossCause`.
inline constexpr std::size_t kNumLossCauses = 6;

/// Names and explanation of a cause.
struct LossCauseInfo {
  std::string_view name;     ///< name in files
  std::string_view title;    ///< title of a column
  std::string_view meaning;  ///< explanation of these GPU-hours
};

/// All causes, in the order of the enumeration.
inline constexpr std::array<LossCauseInfo, kNumLossCauses> kLossCauses = {{
    {.name = "lost_work",
     .title = "Lost work",
     .meaning = "GPU-hours of work since the last checkpoint that failing nodes destroyed"},
    {.name = "failure_restart",
     .title = "Failure restarts",
     .meaning = "GPU-hours of detecting failures and restarting"},
    {.name = "preemption",
     .title = "Preemptions",
     .meaning = "GPU-hours of saving and restarting for preemptions"},
    {.name = "resize", .title = "Resizes", .meaning = "GPU-hours of saving and restarting for resizes"},
    {.name = "checkpoint", .title = "Checkpoints", .meaning = "GPU-hours of writing periodic checkpoints"},
    {.name = "spread", .title = "Spread", .meaning = "GPU-hours of training slower than on one node"},
}};

/// GPU time that one job lost.
class LostGpuTime {
 public:
  /// GPU time lost to a cause.
  GpuTime& operator[](LossCause cause) { return by_cause_[static_cast<std::size_t>(cause)]; }
  /// GPU time lost to a cause.
  const GpuTime& operator[](LossCause cause) const { return by_cause_[static_cast<std::size_t>(cause)]; }
  /// Adds the losses of another.
  void add(const LostGpuTime& other) {
    for (std::size_t cause = 0; cause < kNumLossCauses; ++cause)
      by_cause_[cause].add(other.by_cause_[cause]);
  }
  /// Sum over all causes.
  GpuTime total() const {
    GpuTime sum;
    for (const GpuTime& lost : by_cause_)
      sum.add(lost);
    return sum;
  }
  /// True if the job lost nothing.
  bool none() const { return by_cause_ == std::array<GpuTime, kNumLossCauses>(); }

 private:
  std::array<GpuTime, kNumLossCauses> by_cause_;
};

}  // namespace vtrain
