#include "sched/disruption/segment_timing.hpp"

#include <algorithm>

namespace vtrain {
namespace {

/// Times multiplied by speeds need more than 64 bits.
__extension__ using Wide = __int128;

SimDuration bounded(Wide time) {
  return time < SimDuration::max().count() ? SimDuration(static_cast<std::int64_t>(time))
                                           : SimDuration::max();
}

/// `time` x `by` / `of`, rounded down.
SimDuration scaled(SimDuration time, std::int64_t by, std::int64_t of) {
  return by == of ? time : bounded(Wide{time.count()} * by / of);
}

}  // namespace

SimDuration SegmentTiming::training(SimDuration held) const {
  const SimDuration after_setup = held - setting_up(held);
  if (interval == kNoCheckpoints) return after_setup;
  const SimDuration period = interval + checkpoint;
  return after_setup / period * interval + std::min(after_setup % period, interval);
}

SimDuration SegmentTiming::saved_training(SimDuration held) const {
  if (interval == kNoCheckpoints) return SimDuration(0);
  return (held - setting_up(held)) / (interval + checkpoint) * interval;
}

SimDuration SegmentTiming::work(SimDuration held) const {
  return scaled(training(held), speed.here, SegmentSpeed::kFull);
}

SimDuration SegmentTiming::saved_work(SimDuration held) const {
  return scaled(saved_training(held), speed.here, SegmentSpeed::kFull);
}

SimDuration SegmentTiming::useful(SimDuration held) const {
  return scaled(training(held), speed.here, speed.packed);
}

SimDuration SegmentTiming::saved_useful(SimDuration held) const {
  return scaled(saved_training(held), speed.here, speed.packed);
}

SimDuration SegmentTiming::time_for(SimDuration work) const {
  // Least training that does the work.
  const Wide least = speed.here == SegmentSpeed::kFull
                         ? Wide{work.count()}
                         : (Wide{work.count()} * SegmentSpeed::kFull + speed.here - 1) / speed.here;
  if (least >= SimDuration::max().count()) return SimDuration::max();
  const auto training = static_cast<std::int64_t>(least);
  const std::int64_t checkpoints = training > 0 ? (training - 1) / interval.count() : 0;
  return bounded(Wide{checkpoints} * checkpoint.count() + setup.count() + training);
}

}  // namespace vtrain
