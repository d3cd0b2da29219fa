#include "sched/run_plan.hpp"

#include <algorithm>

namespace vtrain {

SimDuration RunPlan::training(SimDuration held) const {
  const SimDuration after_setup = held - setting_up(held);
  if (interval == kNoCheckpoints) return after_setup;
  const SimDuration period = interval + checkpoint;
  return after_setup / period * interval + std::min(after_setup % period, interval);
}

SimDuration RunPlan::saved_training(SimDuration held) const {
  if (interval == kNoCheckpoints) return SimDuration(0);
  return (held - setting_up(held)) / (interval + checkpoint) * interval;
}

SimDuration RunPlan::at_speed(SimDuration training) const {
  if (speed == kFullSpeed) return training;
  return training / kFullSpeed * speed + training % kFullSpeed * speed / kFullSpeed;
}

SimDuration RunPlan::work(SimDuration held) const {
  return at_speed(training(held));
}

SimDuration RunPlan::saved_work(SimDuration held) const {
  return at_speed(saved_training(held));
}

SimDuration RunPlan::time_for(SimDuration work) const {
  // The least training that does the work: work x kFullSpeed / speed, rounded up.
  std::int64_t training = 0;
  const std::int64_t rest = (work.count() % speed * kFullSpeed + speed - 1) / speed;
  bool too_long = __builtin_mul_overflow(work.count() / speed, kFullSpeed, &training) ||
                  __builtin_add_overflow(training, rest, &training);
  if (too_long) return SimDuration::max();
  const std::int64_t checkpoints = training > 0 ? (training - 1) / interval.count() : 0;
  std::int64_t time = 0;
  too_long = __builtin_mul_overflow(checkpoints, checkpoint.count(), &time) ||
             __builtin_add_overflow(time, setup.count(), &time) ||
             __builtin_add_overflow(time, training, &time);
  return too_long ? SimDuration::max() : SimDuration(time);
}

}  // namespace vtrain
