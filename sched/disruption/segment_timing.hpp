/// How the time for which a job holds its GPUs divides into work and what is not work.
#pragma once

#include <cstdint>

#include "core/base/units.hpp"

namespace vtrain {

/// Work that a job does in a nanosecond of training, in billionths of one, from 1 on. Work is measured in
/// time on the gang that the job's duration or curve tells of.
struct SegmentSpeed {
  static constexpr std::int64_t kFull = 1'000'000'000;

  /// Less than `kFull` for a gang that is slow because it is spread, more on faster GPUs.
  std::int64_t here = kFull;
  std::int64_t packed = kFull;  ///< if the same number of GPUs of the type were not spread; at least `here`

  friend bool operator==(const SegmentSpeed&, const SegmentSpeed&) = default;
};

/// One run of a job (from the instant at which it gets a gang to the one at which it gives it back), as a
/// function of the time for which it has held the gang: first `setup`, in which nothing is done, then it
/// trains, with a checkpoint after every `interval` of that. Because everything follows from the time held,
/// it makes no difference how often somebody looks.
struct SegmentTiming {
  static constexpr SimDuration kNoCheckpoints = SimDuration::max();

  SimDuration setup{0};                   ///< restoring the state, starting the processes
  SimDuration interval = kNoCheckpoints;  ///< training between two checkpoints, above 0
  SimDuration checkpoint{0};              ///< time that writing one takes
  SegmentSpeed speed{};

  /// Work done in the first `held` of the run.
  SimDuration work(SimDuration held) const;
  /// The part of it that is in a checkpoint whose writing has ended by then.
  SimDuration saved_work(SimDuration held) const;
  /// Time spent in setup by then.
  SimDuration setting_up(SimDuration held) const { return held < setup ? held : setup; }
  /// Time spent in writing checkpoints by then, a last one that is not complete included.
  SimDuration writing(SimDuration held) const { return held - setting_up(held) - training(held); }
  /// Time by which the training so far took longer than on a gang that is not spread.
  SimDuration slowed(SimDuration held) const { return training(held) - useful(held); }
  /// The rest of the training: the time that its work takes on a gang that is not spread.
  SimDuration useful(SimDuration held) const;
  /// The part of that time whose work is saved.
  SimDuration saved_useful(SimDuration held) const;
  /// For how long the gang is held until `work`, which is not negative, is done. No checkpoint is written at
  /// its very end. `SimDuration::max()` where the clock could not tell.
  SimDuration time_for(SimDuration work) const;

 private:
  /// Time spent in training by then, and the part of it that came before the last complete checkpoint.
  SimDuration training(SimDuration held) const;
  SimDuration saved_training(SimDuration held) const;
};

/// What a job's disruptions come to so far, as far as policies may ask.
struct JobOverhead {
  SegmentTiming plan{};  ///< of the current run, or of the last one
  /// Time held in earlier runs that was not work, or work that is gone; negative after runs on GPUs that are
  /// faster than the job's duration tells of.
  SimDuration lost{0};
  SimDuration planned_time{0};  ///< of the next run, at most, for a job that waits
  SimTime planned_end{};        ///< when the current run, or the last one, should have ended at the latest
};

}  // namespace vtrain
