#include "policies/backfill/gpu_set_timeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "core/base/rng.hpp"
#include "tests/support/rounds.hpp"
#include "tests/support/sim_time.hpp"

namespace vtrain {
namespace {

/// A timeline as an array of GPUs x seconds; every GPU is free after the array's end.
class BruteForceTimeline {
 public:
  BruteForceTimeline(std::int32_t num_gpus, std::int64_t horizon_s)
      : horizon_s_(horizon_s),
        free_(static_cast<std::size_t>(num_gpus),
              std::vector<bool>(static_cast<std::size_t>(horizon_s), true)) {}

  void advance(std::int64_t now_s) { now_s_ = now_s; }
  void set(const Slot& slot, bool free) {
    const std::int64_t end = std::min(to_whole_seconds(slot.end), horizon_s_);
    for (const GpuRange range : slot.gpus) {
      for (std::int32_t gpu = range.first; gpu < range.first + range.count; ++gpu) {
        for (std::int64_t second = to_whole_seconds(slot.begin); second < end; ++second) {
          auto cell = free_[static_cast<std::size_t>(gpu)][static_cast<std::size_t>(second)];
          CHECK(cell != free);
          cell = free;
        }
      }
    }
  }
  Slot earliest_slot(std::int32_t num_gpus, std::int64_t length_s) const {
    for (std::int64_t begin = now_s_;; ++begin) {
      std::vector<std::int32_t> gpus;
      for (std::size_t gpu = 0; gpu < free_.size(); ++gpu) {
        if (is_free(gpu, begin, begin + length_s)) gpus.push_back(static_cast<std::int32_t>(gpu));
      }
      if (gpus.size() < static_cast<std::size_t>(num_gpus)) continue;
      gpus.resize(static_cast<std::size_t>(num_gpus));
      return {at(begin), at(begin + length_s), ranges_of(gpus)};
    }
  }

 private:
  static std::int64_t to_whole_seconds(SimTime time) {
    return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
  }
  bool is_free(std::size_t gpu, std::int64_t begin, std::int64_t end) const {
    for (std::int64_t second = begin; second < std::min(end, horizon_s_); ++second) {
      if (!free_[gpu][static_cast<std::size_t>(second)]) return false;
    }
    return true;
  }
  static GpuRanges ranges_of(const std::vector<std::int32_t>& gpus) {
    GpuRanges ranges;
    for (const std::int32_t gpu : gpus) {
      if (!ranges.empty() && ranges.back().first + ranges.back().count == gpu) {
        ++ranges.back().count;
      } else {
        ranges.push_back({gpu, 1});
      }
    }
    return ranges;
  }

  std::int64_t now_s_ = 0;
  std::int64_t horizon_s_;
  std::vector<std::vector<bool>> free_;
};

}  // namespace

TEST_CASE("gpu_set_timeline: a gang takes the lowest GPUs at the earliest instant") {
  GpuSetTimeline timeline(GpuCount(4), at(0));
  // GPUs 0-1 are taken until 10, GPU 2 until 5.
  timeline.reserve({at(0), at(10), {{0, 2}}});
  timeline.reserve({at(0), at(5), {{2, 1}}});
  CHECK(timeline.free_gpus().size() == GpuCount(1));
  CHECK(timeline.earliest_slot(GpuCount(1), std::chrono::seconds(100)) == Slot{at(0), at(100), {{3, 1}}});
  CHECK(timeline.earliest_slot(GpuCount(2), std::chrono::seconds(7)) == Slot{at(5), at(12), {{2, 2}}});
  CHECK(timeline.earliest_slot(GpuCount(3), std::chrono::seconds(1)) == Slot{at(10), at(11), {{0, 3}}});
  CHECK_FALSE(timeline.earliest_slot(GpuCount(5), std::chrono::seconds(1)));
}

TEST_CASE("gpu_set_timeline: enough GPUs at each instant are not enough if they change") {
  GpuSetTimeline timeline(GpuCount(2), at(0));
  // GPU 0 is free until 10, GPU 1 from 10 on: one GPU is free at any time, but none from 5 to 15.
  timeline.reserve({at(10), at(20), {{0, 1}}});
  timeline.reserve({at(0), at(10), {{1, 1}}});
  CHECK(timeline.earliest_slot(GpuCount(1), std::chrono::seconds(10)) == Slot{at(0), at(10), {{0, 1}}});
  CHECK(timeline.earliest_slot(GpuCount(1), std::chrono::seconds(11)) == Slot{at(10), at(21), {{1, 1}}});
}

TEST_CASE("gpu_set_timeline: what is given back early joins what was free") {
  GpuSetTimeline timeline(GpuCount(8), at(0));
  const Slot running{at(0), at(100), {{0, 8}}};
  const Slot reserved{at(100), at(150), {{0, 4}}};
  timeline.reserve(running);
  timeline.reserve(reserved);
  CHECK(timeline.num_slices() == 3);
  timeline.advance(at(30));
  timeline.release(running);
  CHECK(timeline.free_gpus().size() == GpuCount(8));
  // [30, 100) and [150, end) are free, [100, 150) is not.
  CHECK(timeline.num_slices() == 3);
  timeline.release(reserved);
  CHECK(timeline.num_slices() == 1);
  timeline.advance(at(200));
  timeline.release({at(30), at(100), {{0, 8}}});  // wholly past
  CHECK(timeline.free_gpus().size() == GpuCount(8));
}

TEST_CASE("gpu_set_timeline: counts tell that a reservation cannot be bettered before an instant") {
  GpuSetTimeline timeline(GpuCount(4), at(0));
  // Free GPUs: 2 in [0, 5), 1 in [5, 10), 3 in [10, 20), 4 from 20 on; a reservation from 20 on is to be
  // replaced.
  timeline.reserve({at(0), at(5), {{0, 2}}});
  timeline.reserve({at(5), at(10), {{0, 3}}});
  timeline.reserve({at(10), at(20), {{0, 1}}});
  const auto may = [&](std::int64_t bound, std::int32_t num_gpus, std::int64_t length) {
    return timeline.may_begin_before(at(bound), at(20), GpuCount(num_gpus), std::chrono::seconds(length));
  };
  CHECK(may(5, 2, 5));         // at 0
  CHECK_FALSE(may(10, 2, 6));  // at 10 only, which is not before 10
  CHECK(may(11, 2, 6));
  CHECK(may(11, 3, 11));  // at 10 if the GPUs of the reservation itself serve
  CHECK_FALSE(may(20, 4, 1));
}

TEST_CASE("gpu_set_timeline: slots end with time itself at the latest") {
  GpuSetTimeline timeline(GpuCount(2), at(10));
  const auto slot = timeline.earliest_slot(GpuCount(2), SimDuration::max());
  REQUIRE(slot);
  CHECK(slot->end == SimTime::max());
  timeline.reserve(*slot);
  CHECK_FALSE(timeline.earliest_slot(GpuCount(1), std::chrono::seconds(1)));
  timeline.release(*slot);
  CHECK(timeline.earliest_slot(GpuCount(2), std::chrono::seconds(1)) == Slot{at(10), at(11), {{0, 2}}});
}

TEST_CASE("gpu_set_timeline: begins with slots that are taken as if they were reserved one by one") {
  for (std::uint64_t seed = 1; seed <= testing::rounds(20); ++seed) {
    RandomStream random(seed);
    GpuSetTimeline one_by_one(GpuCount(70), at(0));
    std::vector<Slot> slots;
    while (one_by_one.free_gpus().size() > GpuCount(10)) {
      const SimTime end =
          random.below(10) == 0 ? SimTime::max() : at(static_cast<std::int64_t>(random.below(20)));
      const auto gang = static_cast<std::int32_t>(1 + random.below(10));
      slots.push_back({at(0), end, one_by_one.free_gpus().lowest(GpuCount(gang))});
      one_by_one.reserve(slots.back());
    }
    one_by_one.advance(at(5));
    std::vector<const Slot*> taken;
    for (const Slot& slot : slots)
      taken.push_back(&slot);
    GpuSetTimeline at_once(GpuCount(70), at(5), taken);
    CHECK(at_once.free_gpus() == one_by_one.free_gpus());
    CHECK(at_once.num_slices() == one_by_one.num_slices());
    CHECK(at_once.only_gains());
    for (std::int32_t gang = 1; gang <= 70; ++gang) {
      const SimDuration length = std::chrono::seconds(5);
      CHECK(at_once.earliest_slot(GpuCount(gang), length) ==
            one_by_one.earliest_slot(GpuCount(gang), length));
    }
    // A slot that begins later takes GPUs that are free before.
    at_once.reserve({at(100), at(110), at_once.free_gpus().lowest(GpuCount(1))});
    CHECK_FALSE(at_once.only_gains());
  }
}

TEST_CASE("gpu_set_timeline: agrees with an array of GPUs x time on random operations") {
  constexpr std::int64_t kHorizon = 3000;
  for (const std::int32_t num_gpus : {5, 70, 130}) {
    RandomStream random(static_cast<std::uint64_t>(num_gpus));
    GpuSetTimeline timeline(GpuCount(num_gpus), at(0));
    BruteForceTimeline twin(num_gpus, kHorizon);
    std::vector<Slot> slots;
    std::int64_t now = 0;
    for (int step = 0; step < 300; ++step) {
      const auto action = random.below(10);
      if (action < 6) {
        const auto gang = static_cast<std::int32_t>(1 + random.below(static_cast<std::uint64_t>(num_gpus)));
        const auto length = static_cast<std::int64_t>(1 + random.below(20));
        const auto slot = timeline.earliest_slot(GpuCount(gang), std::chrono::seconds(length));
        REQUIRE(slot);
        REQUIRE(*slot == twin.earliest_slot(gang, length));
        timeline.reserve(*slot);
        twin.set(*slot, false);
        slots.push_back(*slot);
      } else if (action < 9 && !slots.empty()) {
        const std::size_t which = random.below(slots.size());
        Slot slot = slots[which];
        slots.erase(slots.begin() + static_cast<std::ptrdiff_t>(which));
        timeline.release(slot);
        slot.begin = std::max(slot.begin, at(now));
        twin.set(slot, true);
      } else {
        now += static_cast<std::int64_t>(random.below(5));
        timeline.advance(at(now));
        twin.advance(now);
      }
    }
    // Nothing is left behind: with every slot given back the timeline is one slice again.
    for (const Slot& slot : slots)
      timeline.release(slot);
    CHECK(timeline.num_slices() == 1);
    CHECK(timeline.free_gpus().size() == GpuCount(num_gpus));
  }
}

}  // namespace vtrain
