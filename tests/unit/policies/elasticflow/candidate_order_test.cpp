#include "policies/elasticflow/candidate_order.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "core/base/rng.hpp"
#include "tests/support/rounds.hpp"

using vtrain::CandidateOrder;

TEST_CASE("candidate_order: equals keep the order of the round before") {
  CandidateOrder order;
  order.reset(std::vector<double>{2, 3, 1});
  CHECK(order.first() == 1);
  // Candidate 1 falls to the rank of 0, which was behind it; 2 rises to the same.
  order.set_rank(1, 2);
  order.set_rank(2, 2);
  order.end_round();
  CHECK(std::ranges::equal(order.all(), std::vector<std::uint32_t>{1, 0, 2}));
  order.leave_out(1);
  CHECK(order.first() == 0);
}

TEST_CASE("candidate_order: each round is a stable sort") {
  for (std::uint64_t seed = 0; seed < vtrain::testing::rounds(20); ++seed) {
    CAPTURE(seed);
    vtrain::RandomStream random(seed, "candidate order");
    const std::size_t size = 1 + random.below(40);
    std::vector<double> ranks(size);
    for (double& rank : ranks)
      rank = static_cast<double>(random.below(5));
    std::vector<std::uint32_t> sorted(size);
    std::iota(sorted.begin(), sorted.end(), 0u);
    CandidateOrder order;
    order.reset(ranks);
    for (int round = 0; round < 50; ++round) {
      std::ranges::stable_sort(sorted, std::ranges::greater{}, [&](std::uint32_t i) { return ranks[i]; });
      REQUIRE(std::ranges::equal(order.all(), sorted));
      REQUIRE(order.first() == sorted.front());
      for (std::uint32_t i = 0; i < size; ++i) {
        if (random.below(4) > 0) continue;
        ranks[i] = static_cast<double>(random.below(5));
        order.set_rank(i, ranks[i]);
      }
      order.end_round();
    }
  }
}
