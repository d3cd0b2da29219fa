#include "sched/disruption/segment_timing.hpp"

#include <doctest/doctest.h>

#include "core/base/rng.hpp"

namespace vtrain {
namespace {

using std::chrono::seconds;

SimDuration draw(RandomStream& random, std::uint64_t most) {
  return SimDuration(static_cast<std::int64_t>(random.below(most + 1)));
}

}  // namespace

TEST_CASE("run_plan: without setup and checkpoints all time is work") {
  const SegmentTiming plan;
  CHECK(plan.work(seconds(7)) == seconds(7));
  CHECK(plan.saved_work(seconds(7)) == seconds(0));
  CHECK(plan.writing(seconds(7)) == seconds(0));
  CHECK(plan.time_for(seconds(7)) == seconds(7));
}

TEST_CASE("run_plan: setup, work and checkpoints follow each other") {
  // 0-5 setup, 5-15 work, 15-17 checkpoint, 17-27 work, 27-29 checkpoint, 29- work.
  const SegmentTiming plan{.setup = seconds(5), .interval = seconds(10), .checkpoint = seconds(2)};
  CHECK(plan.work(seconds(3)) == seconds(0));
  CHECK(plan.setting_up(seconds(3)) == seconds(3));
  CHECK(plan.work(seconds(16)) == seconds(10));
  CHECK(plan.saved_work(seconds(16)) == seconds(0));  // the checkpoint is not complete
  CHECK(plan.writing(seconds(16)) == seconds(1));
  CHECK(plan.saved_work(seconds(17)) == seconds(10));
  CHECK(plan.work(seconds(30)) == seconds(21));
  CHECK(plan.saved_work(seconds(30)) == seconds(20));
  CHECK(plan.writing(seconds(30)) == seconds(4));
  CHECK(plan.time_for(seconds(0)) == seconds(5));
  CHECK(plan.time_for(seconds(10)) == seconds(15));  // none at the very end
  CHECK(plan.time_for(seconds(11)) == seconds(18));
  CHECK(plan.time_for(seconds(20)) == seconds(27));
  CHECK(plan.time_for(seconds(21)) == seconds(30));
}

TEST_CASE("run_plan: what takes longer than the clock can tell takes for ever") {
  const SegmentTiming plan{.setup = SimDuration::max() - seconds(1)};
  CHECK(plan.time_for(seconds(2)) == SimDuration::max());
  const SegmentTiming often{.interval = SimDuration(1), .checkpoint = std::chrono::hours(1)};
  CHECK(often.time_for(std::chrono::hours(1)) == SimDuration::max());
}

TEST_CASE("run_plan: the parts add up, time_for is the inverse of work, and nothing goes backwards") {
  RandomStream random(1, "plans");
  for (int i = 0; i < 2000; ++i) {
    const SegmentTiming plan{.setup = draw(random, 20),
                             .interval = SimDuration(1) + draw(random, 15),
                             .checkpoint = draw(random, 10)};
    const SimDuration work = draw(random, 100);
    CAPTURE(plan.setup.count());
    CAPTURE(plan.interval.count());
    CAPTURE(plan.checkpoint.count());
    CAPTURE(work.count());
    const SimDuration time = plan.time_for(work);
    REQUIRE(plan.work(time) == work);
    // It is the first such time.
    if (work.count() > 0) REQUIRE(plan.work(time - SimDuration(1)) < work);
    // A twin that walks through the run a nanosecond at a time.
    SimDuration setup{0}, working{0}, saved{0}, writing{0}, since_checkpoint{0}, in_checkpoint{0};
    for (SimDuration held{0}; held <= time; ++held) {
      REQUIRE(plan.setting_up(held) == setup);
      REQUIRE(plan.work(held) == working);
      REQUIRE(plan.saved_work(held) == saved);
      REQUIRE(plan.writing(held) == writing);
      if (setup < plan.setup) {
        ++setup;
      } else if (since_checkpoint < plan.interval) {
        ++working;
        ++since_checkpoint;
      } else {
        ++writing;
        ++in_checkpoint;
      }
      if (since_checkpoint == plan.interval && in_checkpoint == plan.checkpoint) {
        saved = working;
        since_checkpoint = in_checkpoint = SimDuration(0);
      }
    }
  }
}

}  // namespace vtrain
