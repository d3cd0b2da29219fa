#include "tools/sweep/hand_out.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "core/base/rng.hpp"
#include "tests/support/rounds.hpp"

using vtrain::Grid;
using vtrain::HandOut;
using vtrain::RandomStream;
using vtrain::ScenarioSpec;
using vtrain::Shard;

namespace {

/// A grid of these sizes; it is not replayed.
Grid grid_of(int variants, int seeds, int policies) {
  ScenarioSpec spec;
  spec.seeds = "1-" + std::to_string(seeds);
  std::string loads = "load=1";
  for (int i = 1; i < variants; ++i)
    loads += "," + std::to_string(1 + i);
  spec.vary = {loads};
  for (int i = 0; i < policies; ++i)
    spec.policies.push_back("p" + std::to_string(i));
  auto grid = Grid::make(spec);
  REQUIRE(grid.has_value());
  return *std::move(grid);
}

std::vector<bool> nothing(const Grid& grid) {
  return std::vector<bool>(static_cast<std::size_t>(grid.num_runs()) + 1);
}

}  // namespace

TEST_CASE("hand-out: every run that is left is handed out once, whatever the costs") {
  RandomStream random(3);
  for (std::uint64_t round = 0; round < vtrain::testing::rounds(100); ++round) {
    const auto size = [&random](int most) { return static_cast<int>(1 + random.below(most)); };
    const Grid grid = grid_of(size(6), size(8), size(4));
    std::vector<bool> finished = nothing(grid);
    const double share = random.uniform();
    for (std::size_t run = 1; run < finished.size(); ++run)
      finished[run] = random.uniform() < share;
    const std::int64_t count = size(3);
    std::multiset<std::int64_t> seen;
    for (std::int64_t index = 1; index <= count; ++index) {
      HandOut hand_out(grid, finished, Shard{index, count}, static_cast<std::size_t>(size(9)));
      const std::int64_t expected = hand_out.num_runs();
      std::int64_t handed = 0;
      for (auto batch = hand_out.next(); !batch.empty(); batch = hand_out.next()) {
        CHECK(batch.size() <= HandOut::kMostInBatch);
        handed += std::ssize(batch);
        for (const std::int64_t run : batch) {
          CHECK(Shard{index, count}.holds(grid.place(run).scenario));
          seen.insert(run);
          if (random.uniform() < 0.7) hand_out.learn(run, random.uniform());
        }
      }
      CHECK(handed == expected);
      CHECK(hand_out.next().empty());
    }
    for (std::int64_t run = 1; run <= grid.num_runs(); ++run)
      CHECK(seen.count(run) == (finished[static_cast<std::size_t>(run)] ? 0U : 1U));
  }
}

TEST_CASE("hand-out: first one scenario of each combination, then the largest") {
  const Grid grid = grid_of(3, 50, 2);
  const std::vector<bool> finished = nothing(grid);
  HandOut hand_out(grid, finished, {}, 2);
  // Combinations take 1, 9 and 3 s, and the second policy twice the time of the first.
  const auto cost = [&grid](std::int64_t run) {
    constexpr double kSeconds[] = {1, 9, 3};
    const auto place = grid.place(run);
    return kSeconds[place.variant] * static_cast<double>(1 + place.policy);
  };
  std::vector<std::int64_t> variants;
  std::vector<std::size_t> policies;
  for (auto batch = hand_out.next(); !batch.empty(); batch = hand_out.next()) {
    for (const std::int64_t run : batch) {
      hand_out.learn(run, cost(run));
      if (variants.size() < 3 * 2) CHECK(hand_out.is_pilot(run));
      variants.push_back(grid.place(run).variant);
      policies.push_back(grid.place(run).policy);
    }
  }
  REQUIRE(variants.size() == 300);
  CHECK(std::set(variants.begin(), variants.begin() + 6).size() == 3);
  // 49 scenarios of two runs each.
  for (int i = 0; i < 98; ++i) {
    CHECK(variants[6 + i] == 1);
    CHECK(variants[104 + i] == 2);
    CHECK(variants[202 + i] == 0);
  }
  // Within a scenario, the slower policy first.
  CHECK(policies[6] == 1);
  CHECK(policies[7] == 0);
}

TEST_CASE("hand-out: batches are long while much is left, and single runs at the end") {
  const Grid grid = grid_of(1, 2000, 2);
  const std::vector<bool> finished = nothing(grid);
  HandOut hand_out(grid, finished, {}, 4);
  std::vector<std::size_t> sizes;
  for (auto batch = hand_out.next(); !batch.empty(); batch = hand_out.next()) {
    sizes.push_back(batch.size());
    for (const std::int64_t run : batch)
      hand_out.learn(run, 0.01);
  }
  // Half a second of runs of 10 ms.
  CHECK(*std::ranges::max_element(sizes) == 50);
  CHECK(sizes.back() == 1);
  CHECK(sizes.size() < 200);
}

TEST_CASE("hand-out: the estimate follows from the runs before") {
  const Grid grid = grid_of(1, 10, 1);
  const std::vector<bool> finished = nothing(grid);
  HandOut hand_out(grid, finished, {}, 1);
  CHECK(hand_out.remaining_s() == 0);
  const auto batch = hand_out.next();
  REQUIRE(batch.size() == 1);
  hand_out.learn(batch.front(), 2);
  CHECK(hand_out.remaining_s() == doctest::Approx(9 * 2));
  CHECK(hand_out.estimate_s(10) == doctest::Approx(2));
}
