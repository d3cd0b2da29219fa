/// How the time for which a job holds its GPUs divides into work and what is not work.
#pragma once

#include <cstdint>

#include "core/units.hpp"

namespace vtrain {

/// One run of a job (from the instant at which it gets a gang to the one at which it gives it back), as a
/// function of the time for which it has held the gang: first `setup`, in which nothing is done, then it
/// trains, with a checkpoint after every `interval` of that. Because everything follows from the time held,
/// it makes no difference how often somebody looks.
struct RunPlan {
  static constexpr SimDuration kNoCheckpoints = SimDuration::max();
  static constexpr std::int64_t kFullSpeed = 1'000'000'000;

  SimDuration setup{0};                   ///< restoring the state, starting the processes
  SimDuration interval = kNoCheckpoints;  ///< training between two checkpoints, above 0
  SimDuration checkpoint{0};              ///< time that writing one takes
  /// Work done in a nanosecond of training, in billionths of one, from 1 on: less than `kFullSpeed` for a
  /// gang that is slow because it is spread.
  std::int64_t speed = kFullSpeed;

  /// Work done in the first `held` of the run.
  SimDuration work(SimDuration held) const;
  /// The part of it that is in a checkpoint whose writing has ended by then.
  SimDuration saved_work(SimDuration held) const;
  /// Time spent in setup by then.
  SimDuration setting_up(SimDuration held) const { return held < setup ? held : setup; }
  /// Time spent in writing checkpoints by then, a last one that is not complete included.
  SimDuration writing(SimDuration held) const { return held - setting_up(held) - training(held); }
  /// Time by which the training so far took longer than at full speed.
  SimDuration slowed(SimDuration held) const { return training(held) - work(held); }
  /// For how long the gang is held until `work`, which is not negative, is done. No checkpoint is written at
  /// its very end. `SimDuration::max()` where the clock could not tell.
  SimDuration time_for(SimDuration work) const;

 private:
  /// Time spent in training by then, and the part of it that came before the last complete checkpoint.
  SimDuration training(SimDuration held) const;
  SimDuration saved_training(SimDuration held) const;
  /// The work done in some time of training, rounded down.
  SimDuration at_speed(SimDuration training) const;
};

/// What a job's disruptions come to so far, as far as policies may ask.
struct JobOverhead {
  RunPlan plan{};               ///< of the current run, or of the last one
  SimDuration lost{0};          ///< time held in earlier runs that was not work, or work that is gone
  SimDuration planned_time{0};  ///< of the next run, at most, for a job that waits
  SimTime planned_end{};        ///< when the current run, or the last one, should have ended at the latest
};

}  // namespace vtrain
