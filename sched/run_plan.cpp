#include "sched/run_plan.hpp"

#include <algorithm>

namespace vtrain {

SimDuration RunPlan::work(SimDuration held) const {
  const SimDuration after_setup = held - setting_up(held);
  if (interval == kNoCheckpoints) return after_setup;
  const SimDuration period = interval + checkpoint;
  return after_setup / period * interval + std::min(after_setup % period, interval);
}

SimDuration RunPlan::saved_work(SimDuration held) const {
  if (interval == kNoCheckpoints) return SimDuration(0);
  return (held - setting_up(held)) / (interval + checkpoint) * interval;
}

SimDuration RunPlan::time_for(SimDuration work) const {
  const std::int64_t checkpoints = work.count() > 0 ? (work - SimDuration(1)) / interval : 0;
  std::int64_t time = 0;
  const bool too_long = __builtin_mul_overflow(checkpoints, checkpoint.count(), &time) ||
                        __builtin_add_overflow(time, setup.count(), &time) ||
                        __builtin_add_overflow(time, work.count(), &time);
  return too_long ? SimDuration::max() : SimDuration(time);
}

}  // namespace vtrain
