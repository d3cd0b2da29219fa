/// Division of the time for which a job holds its GPUs into work and overhead.
#pragma once

#include <cstdint>

#include "core/base/units.hpp"

namespace vtrain {

/// Speed of a job: its work in one nanosecond of training, in billionths of a nanosecond, at least 1. Work is
/// measured in time on the gang that the job's duration or curve is for.
struct SegmentSpeed {
  /// Speed of a job on the gang that its duration or curve is for.
  static constexpr std::int64_t kFull = 1'000'000'000;

  /// Speed here: less than `kFull` on a gang that is slow because it is spread, more on faster GPUs.
  std::int64_t here = kFull;
  std::int64_t packed = kFull;  ///< speed on a packed gang of equal size and type; at least `here`

  friend bool operator==(const SegmentSpeed&, const SegmentSpeed&) = default;
  /// Lists the members for `core/io/json_members.hpp`.
  template <class Archive>
  void members(Archive& archive) {
    archive("here", here, kFull);
    archive("packed", packed, kFull);
    archive.check(here >= 1, "here", "at least 1");
    archive.check(packed >= 1, "packed", "at least 1");
  }
};

/// One segment of a job, as a function of the time for which it has held the gang. First comes `setup`,
/// without work. Then the job trains, with a checkpoint after every `interval` of training. All results
/// follow from the time held, so the number of queries makes no difference.
struct SegmentTiming {
  /// Value of `interval` for a job that writes no checkpoints.
  static constexpr SimDuration kNoCheckpoints = SimDuration::max();

  SimDuration setup{0};                   ///< time to restore the state and start the processes
  SimDuration interval = kNoCheckpoints;  ///< training between two checkpoints, above 0
  SimDuration checkpoint{0};              ///< time to write one checkpoint
  SegmentSpeed speed{};                   ///< speed of the training

  /// Work done in the first `held` of the segment.
  SimDuration work(SimDuration held) const;
  /// Part of that work in checkpoints that are complete by then.
  SimDuration saved_work(SimDuration held) const;
  /// Time spent in setup by then.
  SimDuration setting_up(SimDuration held) const { return held < setup ? held : setup; }
  /// Time spent on writing checkpoints by then, also on a last incomplete one.
  SimDuration writing(SimDuration held) const { return held - setting_up(held) - training(held); }
  /// Time that the training so far took longer than on a packed gang.
  SimDuration slowed(SimDuration held) const { return training(held) - useful(held); }
  /// Rest of the training: the time that its work takes on a packed gang.
  SimDuration useful(SimDuration held) const;
  /// Part of that time whose work is saved.
  SimDuration saved_useful(SimDuration held) const;
  /// Time for which the gang is held until `work`, which is not negative, is done. No checkpoint is written
  /// at its very end. `SimDuration::max()` if it exceeds the range of the clock.
  SimDuration time_for(SimDuration work) const;

  friend bool operator==(const SegmentTiming&, const SegmentTiming&) = default;
  /// Lists the members for `core/io/json_members.hpp`.
  template <class Archive>
  void members(Archive& archive) {
    constexpr std::int64_t kLongest = std::int64_t{1} << 61;  // of which two make a period
    const auto is_time = [](SimDuration time) { return time.count() >= 0 && time.count() <= kLongest; };
    archive("setup_ns", setup, SimDuration(0));
    archive("interval_ns", interval, kNoCheckpoints);
    archive("checkpoint_ns", checkpoint, SimDuration(0));
    archive("speed", speed, SegmentSpeed{});
    archive.check(is_time(setup), "setup_ns", "0 to 2^61");
    archive.check(interval == kNoCheckpoints || (interval.count() > 0 && is_time(interval)), "interval_ns",
                  "1 to 2^61");
    archive.check(is_time(checkpoint), "checkpoint_ns", "0 to 2^61");
  }

 private:
  /// Time spent in training by then, and its part before the last complete checkpoint.
  SimDuration training(SimDuration held) const;
  SimDuration saved_training(SimDuration held) const;
};

/// Overhead of a job's disruptions so far, for policies.
struct JobOverhead {
  SegmentTiming plan{};  ///< timing of the current segment, or of the last one
  /// `plan` as predicted. It differs where run times have errors (`RunTimeErrors`).
  SegmentTiming predicted{};
  /// Time held in earlier segments without lasting work. Negative after segments on GPUs faster than those
  /// that the job's duration is for.
  SimDuration lost{0};
  SimDuration planned_time{0};  ///< longest time of the next segment, for a job that waits
  SimTime planned_end{};        ///< latest end of the current segment, or of the last one
};

}  // namespace vtrain
