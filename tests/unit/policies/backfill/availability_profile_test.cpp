#include "policies/backfill/availability_profile.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "core/base/rng.hpp"
#include "tests/support/sim_time.hpp"

namespace vtrain {
namespace {

/// The same as an array of hosts x seconds; every host is free after its end.
class BruteForceProfile {
 public:
  BruteForceProfile(std::int32_t num_hosts, std::int64_t horizon_s)
      : horizon_s_(horizon_s),
        free_(static_cast<std::size_t>(num_hosts),
              std::vector<bool>(static_cast<std::size_t>(horizon_s), true)) {}

  void advance(std::int64_t now_s) { now_s_ = now_s; }
  void set(const Slot& slot, bool free) {
    const std::int64_t end = std::min(to_whole_seconds(slot.end), horizon_s_);
    for (const HostRange range : slot.hosts) {
      for (std::int32_t host = range.first; host < range.first + range.count; ++host) {
        for (std::int64_t second = to_whole_seconds(slot.begin); second < end; ++second) {
          auto cell = free_[static_cast<std::size_t>(host)][static_cast<std::size_t>(second)];
          CHECK(cell != free);
          cell = free;
        }
      }
    }
  }
  Slot earliest_slot(std::int32_t num_hosts, std::int64_t length_s) const {
    for (std::int64_t begin = now_s_;; ++begin) {
      std::vector<std::int32_t> hosts;
      for (std::size_t host = 0; host < free_.size(); ++host) {
        if (is_free(host, begin, begin + length_s)) hosts.push_back(static_cast<std::int32_t>(host));
      }
      if (hosts.size() < static_cast<std::size_t>(num_hosts)) continue;
      hosts.resize(static_cast<std::size_t>(num_hosts));
      return {at(begin), at(begin + length_s), ranges_of(hosts)};
    }
  }

 private:
  static std::int64_t to_whole_seconds(SimTime time) {
    return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
  }
  bool is_free(std::size_t host, std::int64_t begin, std::int64_t end) const {
    for (std::int64_t second = begin; second < std::min(end, horizon_s_); ++second) {
      if (!free_[host][static_cast<std::size_t>(second)]) return false;
    }
    return true;
  }
  static HostRanges ranges_of(const std::vector<std::int32_t>& hosts) {
    HostRanges ranges;
    for (const std::int32_t host : hosts) {
      if (!ranges.empty() && ranges.back().first + ranges.back().count == host) {
        ++ranges.back().count;
      } else {
        ranges.push_back({host, 1});
      }
    }
    return ranges;
  }

  std::int64_t now_s_ = 0;
  std::int64_t horizon_s_;
  std::vector<std::vector<bool>> free_;
};

}  // namespace

TEST_CASE("availability_profile: a gang takes the lowest hosts at the earliest instant") {
  AvailabilityProfile profile(GpuCount(4), at(0));
  // Hosts 0-1 are taken until 10, host 2 until 5.
  profile.reserve({at(0), at(10), {{0, 2}}});
  profile.reserve({at(0), at(5), {{2, 1}}});
  CHECK(profile.free_hosts().size() == GpuCount(1));
  CHECK(profile.earliest_slot(GpuCount(1), std::chrono::seconds(100)) == Slot{at(0), at(100), {{3, 1}}});
  CHECK(profile.earliest_slot(GpuCount(2), std::chrono::seconds(7)) == Slot{at(5), at(12), {{2, 2}}});
  CHECK(profile.earliest_slot(GpuCount(3), std::chrono::seconds(1)) == Slot{at(10), at(11), {{0, 3}}});
  CHECK_FALSE(profile.earliest_slot(GpuCount(5), std::chrono::seconds(1)));
}

TEST_CASE("availability_profile: enough hosts at each instant are not enough if they change") {
  AvailabilityProfile profile(GpuCount(2), at(0));
  // Host 0 is free until 10, host 1 from 10 on: one host is free at any time, but none from 5 to 15.
  profile.reserve({at(10), at(20), {{0, 1}}});
  profile.reserve({at(0), at(10), {{1, 1}}});
  CHECK(profile.earliest_slot(GpuCount(1), std::chrono::seconds(10)) == Slot{at(0), at(10), {{0, 1}}});
  CHECK(profile.earliest_slot(GpuCount(1), std::chrono::seconds(11)) == Slot{at(10), at(21), {{1, 1}}});
}

TEST_CASE("availability_profile: what is given back early joins what was free") {
  AvailabilityProfile profile(GpuCount(8), at(0));
  const Slot running{at(0), at(100), {{0, 8}}};
  const Slot reserved{at(100), at(150), {{0, 4}}};
  profile.reserve(running);
  profile.reserve(reserved);
  CHECK(profile.num_slices() == 3);
  profile.advance(at(30));
  profile.release(running);
  CHECK(profile.free_hosts().size() == GpuCount(8));
  // [30, 100) and [150, end) are free, [100, 150) is not.
  CHECK(profile.num_slices() == 3);
  profile.release(reserved);
  CHECK(profile.num_slices() == 1);
  profile.advance(at(200));
  profile.release({at(30), at(100), {{0, 8}}});  // wholly past
  CHECK(profile.free_hosts().size() == GpuCount(8));
}

TEST_CASE("availability_profile: counts tell that a reservation cannot be bettered before an instant") {
  AvailabilityProfile profile(GpuCount(4), at(0));
  // Free hosts: 2 in [0, 5), 1 in [5, 10), 3 in [10, 20), 4 from 20 on; a reservation from 20 on is to be
  // replaced.
  profile.reserve({at(0), at(5), {{0, 2}}});
  profile.reserve({at(5), at(10), {{0, 3}}});
  profile.reserve({at(10), at(20), {{0, 1}}});
  const auto may = [&](std::int64_t bound, std::int32_t num_hosts, std::int64_t length) {
    return profile.may_begin_before(at(bound), at(20), GpuCount(num_hosts), std::chrono::seconds(length));
  };
  CHECK(may(5, 2, 5));         // at 0
  CHECK_FALSE(may(10, 2, 6));  // at 10 only, which is not before 10
  CHECK(may(11, 2, 6));
  CHECK(may(11, 3, 11));  // at 10 if the hosts of the reservation itself serve
  CHECK_FALSE(may(20, 4, 1));
}

TEST_CASE("availability_profile: slots end with time itself at the latest") {
  AvailabilityProfile profile(GpuCount(2), at(10));
  const auto slot = profile.earliest_slot(GpuCount(2), SimDuration::max());
  REQUIRE(slot);
  CHECK(slot->end == SimTime::max());
  profile.reserve(*slot);
  CHECK_FALSE(profile.earliest_slot(GpuCount(1), std::chrono::seconds(1)));
  profile.release(*slot);
  CHECK(profile.earliest_slot(GpuCount(2), std::chrono::seconds(1)) == Slot{at(10), at(11), {{0, 2}}});
}

TEST_CASE("availability_profile: begins with slots that are taken as if they were reserved one by one") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RandomStream random(seed);
    AvailabilityProfile one_by_one(GpuCount(70), at(0));
    std::vector<Slot> slots;
    while (one_by_one.free_hosts().size() > GpuCount(10)) {
      const SimTime end =
          random.below(10) == 0 ? SimTime::max() : at(static_cast<std::int64_t>(random.below(20)));
      const auto gang = static_cast<std::int32_t>(1 + random.below(10));
      slots.push_back({at(0), end, one_by_one.free_hosts().lowest(GpuCount(gang))});
      one_by_one.reserve(slots.back());
    }
    one_by_one.advance(at(5));
    std::vector<const Slot*> taken;
    for (const Slot& slot : slots)
      taken.push_back(&slot);
    AvailabilityProfile at_once(GpuCount(70), at(5), taken);
    CHECK(at_once.free_hosts() == one_by_one.free_hosts());
    CHECK(at_once.num_slices() == one_by_one.num_slices());
    CHECK(at_once.only_gains());
    for (std::int32_t gang = 1; gang <= 70; ++gang) {
      const SimDuration length = std::chrono::seconds(5);
      CHECK(at_once.earliest_slot(GpuCount(gang), length) ==
            one_by_one.earliest_slot(GpuCount(gang), length));
    }
    // A slot that begins later takes hosts that are free before.
    at_once.reserve({at(100), at(110), at_once.free_hosts().lowest(GpuCount(1))});
    CHECK_FALSE(at_once.only_gains());
  }
}

TEST_CASE("availability_profile: agrees with an array of hosts x time on random operations") {
  constexpr std::int64_t kHorizon = 3000;
  for (const std::int32_t num_hosts : {5, 70, 130}) {
    RandomStream random(static_cast<std::uint64_t>(num_hosts));
    AvailabilityProfile profile(GpuCount(num_hosts), at(0));
    BruteForceProfile twin(num_hosts, kHorizon);
    std::vector<Slot> slots;
    std::int64_t now = 0;
    for (int step = 0; step < 300; ++step) {
      const auto action = random.below(10);
      if (action < 6) {
        const auto gang = static_cast<std::int32_t>(1 + random.below(static_cast<std::uint64_t>(num_hosts)));
        const auto length = static_cast<std::int64_t>(1 + random.below(20));
        const auto slot = profile.earliest_slot(GpuCount(gang), std::chrono::seconds(length));
        REQUIRE(slot);
        REQUIRE(*slot == twin.earliest_slot(gang, length));
        profile.reserve(*slot);
        twin.set(*slot, false);
        slots.push_back(*slot);
      } else if (action < 9 && !slots.empty()) {
        const std::size_t which = random.below(slots.size());
        Slot slot = slots[which];
        slots.erase(slots.begin() + static_cast<std::ptrdiff_t>(which));
        profile.release(slot);
        slot.begin = std::max(slot.begin, at(now));
        twin.set(slot, true);
      } else {
        now += static_cast<std::int64_t>(random.below(5));
        profile.advance(at(now));
        twin.advance(now);
      }
    }
    // Nothing is left behind: with every slot given back the profile is one slice again.
    for (const Slot& slot : slots)
      profile.release(slot);
    CHECK(profile.num_slices() == 1);
    CHECK(profile.free_hosts().size() == GpuCount(num_hosts));
  }
}

}  // namespace vtrain
