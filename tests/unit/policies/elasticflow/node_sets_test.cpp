#include "policies/elasticflow/node_sets.hpp"

#include <doctest/doctest.h>

#include <array>

namespace vtrain {
namespace {

TEST_CASE("node_sets: a gang is warm where a gang of its size was seen at its first rank") {
  NodeSets sets(2, 8);
  const std::array<NodeSets::Gang, 2> before = {{{0, 8}, {1, 4}}};
  sets.place(before);
  CHECK(!sets.is_warm(0));
  CHECK(!sets.is_warm(1));
  // Job 2 takes the processes that job 0 left on the first node.
  const std::array<NodeSets::Gang, 2> after = {{{2, 8}, {1, 4}}};
  sets.place(after);
  CHECK(sets.is_warm(2));
  CHECK(sets.is_warm(1));
  sets.forget();
  sets.place(after);
  CHECK(!sets.is_warm(2));
}

TEST_CASE("node_sets: a gang that no set of nodes can hold is never warm") {
  NodeSets sets(2, 8);
  const std::array<NodeSets::Gang, 3> gangs = {{{0, 5}, {1, 5}, {2, 5}}};
  for (int decision = 0; decision < 2; ++decision)
    sets.place(gangs);
  CHECK(sets.is_warm(0));
  CHECK(sets.is_warm(1));
  CHECK(!sets.is_warm(2));
}

}  // namespace
}  // namespace vtrain
