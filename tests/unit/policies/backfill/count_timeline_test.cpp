#include "policies/backfill/count_timeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/rng.hpp"
#include "tests/support/rounds.hpp"

namespace vtrain {
namespace {

constexpr int kHorizon = 400;  // ns

SimTime at_ns(std::int64_t nanoseconds) {
  return SimTime(SimDuration(nanoseconds));
}

/// A count for every nanosecond up to a horizon; the last count remains after it.
struct PlainTimeline {
  std::vector<std::int64_t> counts = std::vector<std::int64_t>(kHorizon, 20);

  void add(int begin, int end, std::int64_t count) {
    for (int t = begin; t < std::min(end, kHorizon); ++t)
      counts[static_cast<std::size_t>(t)] += count;
  }
  std::optional<int> earliest(std::int64_t count, int length, int from, int before, int enough) const {
    for (int begin = from; begin < before && begin < kHorizon; ++begin) {
      bool fits = true;
      for (int t = begin; t < std::min({begin + length, enough, kHorizon}) && fits; ++t)
        fits = counts[static_cast<std::size_t>(t)] >= count;
      // A begin at which nothing has to hold is none.
      if (fits && counts[static_cast<std::size_t>(begin)] >= count) return begin;
    }
    return std::nullopt;
  }
};

}  // namespace

TEST_CASE("count_timeline: a slot lies where enough is free for long enough") {
  CountTimeline free(at_ns(0), 8);
  free.add(at_ns(0), at_ns(10), -6);
  free.add(at_ns(20), at_ns(30), -8);
  CHECK(free.count_now() == 2);
  CHECK(free.earliest(2, SimDuration(20), {.from = at_ns(0)}) == at_ns(0));
  CHECK(free.earliest(2, SimDuration(21), {.from = at_ns(0)}) == at_ns(30));
  CHECK(free.earliest(3, SimDuration(10), {.from = at_ns(0)}) == at_ns(10));
  CHECK(free.earliest(3, SimDuration(11), {.from = at_ns(0), .enough = at_ns(20)}) == at_ns(10));
  CHECK(free.earliest(9, SimDuration(1), {.from = at_ns(0)}) == std::nullopt);
  CHECK(free.least(at_ns(5), at_ns(25)) == 0);
  CHECK(free.next_change(at_ns(10)) == at_ns(20));
  free.advance(at_ns(25));
  CHECK(free.count_now() == 0);
  CHECK(free.earliest(1, SimDuration(1), {.from = at_ns(25), .before = at_ns(30)}) == std::nullopt);
}

TEST_CASE("count_timeline: the answers of a count for every nanosecond") {
  for (std::uint64_t seed = 1; seed <= testing::rounds(30); ++seed) {
    CAPTURE(seed);
    RandomStream random(seed);
    const auto below = [&](int limit) {
      return static_cast<int>(random.below(static_cast<std::uint64_t>(limit)));
    };
    CountTimeline timeline(at_ns(0), 20);
    PlainTimeline plain;
    int now = 0;
    for (int step = 0; step < 1500; ++step) {
      if (random.below(12) == 0 && now < kHorizon / 2) timeline.advance(at_ns(now += below(3)));
      const int begin = now + below(kHorizon - now);
      const int end = begin + 1 + below(60);
      const int count = below(7) - 3;
      timeline.add(at_ns(begin), end >= kHorizon ? SimTime::max() : at_ns(end), count);
      plain.add(begin, end, count);
      const int from = now + below(kHorizon - now);
      CHECK(timeline.count_at(at_ns(from)) == plain.counts[static_cast<std::size_t>(from)]);
      const int until = from + 1 + below(40);
      std::int64_t least = plain.counts[static_cast<std::size_t>(from)];
      for (int t = from; t < std::min(until, kHorizon); ++t)
        least = std::min(least, plain.counts[static_cast<std::size_t>(t)]);
      CHECK(timeline.least(at_ns(from), at_ns(until)) == least);
      const int needed = 10 + below(20);
      const int length = 1 + below(50);
      const int before = from + 1 + below(kHorizon);
      const int enough = from + 1 + below(kHorizon);
      const auto expected = plain.earliest(needed, length, from, std::min(before, enough), enough);
      const auto found = timeline.earliest(
          needed, SimDuration(length),
          {.from = at_ns(from), .before = at_ns(std::min(before, enough)), .enough = at_ns(enough)});
      CHECK(found == (expected ? std::optional(at_ns(*expected)) : std::nullopt));
    }
  }
}

}  // namespace vtrain
