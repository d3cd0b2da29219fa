#include "policies/elasticflow/slotted_policy.hpp"

#include <doctest/doctest.h>

namespace vtrain {

TEST_CASE("slotted_policy: slots are counted from the start and rounded up") {
  CHECK(align_to_slot(7, 7, 60) == 7);
  CHECK(align_to_slot(7, 8, 60) == 67);
  CHECK(align_to_slot(7, 67, 60) == 67);
  CHECK(align_to_slot(7, 68, 60) == 127);
}

}  // namespace vtrain
