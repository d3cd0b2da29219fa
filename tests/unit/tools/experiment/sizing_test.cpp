#include "tools/experiment/sizing.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>

namespace vtrain {
namespace {

SizePoint point_of(bool meets, bool mean_meets) {
  SizePoint point;
  point.meets = meets;
  point.mean_meets = mean_meets;
  return point;
}

/// Tries sizes until nothing is left, where sizes from `answer` meet the goal and those from `by_mean` in the
/// mean.
std::map<std::int64_t, SizePoint> tried(std::int64_t low, std::int64_t high, std::int64_t answer,
                                        std::int64_t by_mean) {
  std::map<std::int64_t, SizePoint> known;
  for (auto sizes = sizes_to_try(known, low, high); !sizes.empty(); sizes = sizes_to_try(known, low, high)) {
    for (const std::int64_t nodes : sizes) {
      CHECK(nodes >= low);
      CHECK(nodes <= high);
      CHECK(known.emplace(nodes, point_of(nodes >= answer, nodes >= by_mean)).second);
    }
  }
  return known;
}

}  // namespace

TEST_CASE("sizing: a bisection finds every answer with its neighbours, in few sizes") {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    const std::int64_t low = 1 + static_cast<std::int64_t>(random() % 9);
    const std::int64_t high = low + static_cast<std::int64_t>(random() % 100);
    const std::int64_t answer =
        low + static_cast<std::int64_t>(random() % static_cast<unsigned>(high - low + 2));
    const std::int64_t by_mean =
        low + static_cast<std::int64_t>(random() % static_cast<unsigned>(answer - low + 1));
    CAPTURE(low);
    CAPTURE(high);
    CAPTURE(answer);
    const auto known = tried(low, high, answer, by_mean);
    const std::int64_t center = answer <= high ? answer : by_mean;
    if (center <= high) {
      for (std::int64_t nodes = std::max(low, center - 2); nodes <= std::min(high, center + 2); ++nodes)
        CHECK(known.contains(nodes));
    }
    // The sizes around the answer by mean tell it.
    if (by_mean <= high) CHECK(known.contains(by_mean));
    if (by_mean > low && by_mean <= high) CHECK(known.contains(by_mean - 1));
    CHECK(known.size() <= 22);
  }
}

TEST_CASE("sizing: goals are read with their units") {
  const auto deadlines = SizeGoal::parse("deadlines=95%");
  REQUIRE(deadlines);
  CHECK(deadlines->bound == doctest::Approx(0.95));
  CHECK(deadlines->is_met_by(0.96));
  CHECK_FALSE(deadlines->is_met_by(0.94));
  const auto wait = SizeGoal::parse("p95-wait=90m");
  REQUIRE(wait);
  CHECK(wait->bound == 5400);
  CHECK(wait->is_met_by(5400));
  CHECK_FALSE(wait->is_met_by(5401));
  for (const char* const text : {"", "deadlines", "deadlines=", "deadlines=2", "p95-wait=-1h", "wait=1h"})
    CHECK_FALSE(SizeGoal::parse(text));
}

TEST_CASE("sizing: ranges of clusters and mixes of types") {
  const auto one = ClusterRange::parse("4-64x8:h100");
  REQUIRE(one);
  CHECK(one->low() == 4);
  CHECK(one->high() == 64);
  CHECK(one->num_mixes() == 1);
  CHECK(one->at(0, 22) == "22x8:h100");
  CHECK(one->node() == "8 H100");
  CHECK(one->beside(0).empty());
  const auto mixed = ClusterRange::parse("2-3x8:h100+0,4x8:a100+1-2x4:v100");
  REQUIRE(mixed);
  REQUIRE(mixed->num_mixes() == 4);
  CHECK(mixed->at(0, 2) == "2x8:h100+1x4:v100");
  CHECK(mixed->at(3, 3) == "3x8:h100+4x8:a100+2x4:v100");
  CHECK(mixed->beside(3) == "4 x 8 A100 + 2 x 4 V100");
  CHECK(ClusterRange::parse("5x8")->low() == 5);
  CHECK(ClusterRange::parse("5x8")->node() == "8 GPUs");
  for (const char* const text :
       {"", "x8", "0-4x8", "4-2x8", "1-4x", "1-4x8+", "1-4x8+ax8:h100", "nodes.json"})
    CHECK_MESSAGE(!ClusterRange::parse(text), text);
}

}  // namespace vtrain
