#include <doctest/doctest.h>

#include "tests/support/sim_time.hpp"
#include "tests/unit/policies/replay_checks.hpp"
#include "tests/unit/policies/workload_support.hpp"

namespace vtrain::testing {

TEST_CASE("fit_first: jobs that do not fit are skipped") {
  const Workload workload = make_workload({{0, 10, 6}, {1, 10, 4}, {2, 1, 1}, {3, 20, 2}});
  const auto result = replay(workload, "1x8", "fit-first");
  CHECK(result.outcomes[2].start == at(2));
  CHECK(result.outcomes[3].start == at(3));
  CHECK(result.outcomes[1].start == at(10));
}

TEST_CASE("fit_first: under yarn a gang may fit by count and still not be placed") {
  // 5 + 5 GPUs leave 3 + 3: a gang of 4 waits, a later one of 3 does not.
  const Workload workload = make_workload({{0, 10, 5}, {0, 10, 5}, {1, 5, 4}, {2, 5, 3}});
  const auto yarn = replay(workload, "2x8", "fit-first", {.placement = PlacementKind::Yarn});
  CHECK(yarn.outcomes[2].start == at(10));
  CHECK(yarn.outcomes[3].start == at(2));
  const auto count = replay(workload, "2x8", "fit-first");
  CHECK(count.outcomes[2].start == at(1));
}

TEST_CASE("fit_first: a large gang starves behind small ones") {
  const Workload workload = make_workload({{0, 4, 4}, {1, 1, 8}, {2, 4, 4}, {5, 4, 4}, {8, 4, 4}});
  const auto result = replay(workload, "1x8", "fit-first");
  // Small gangs hold GPUs in [0, 4), [2, 6), [5, 9) and [8, 12).
  CHECK(result.outcomes[1].start == at(12));
}

}  // namespace vtrain::testing
