/// Length of property tests: more rounds in nightly tests.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace vtrain::testing {

/// The usual number of random cases, times `VTRAIN_TEST_ROUNDS` if that is set.
inline std::uint64_t rounds(std::uint64_t usual) {
  const char* const factor = std::getenv("VTRAIN_TEST_ROUNDS");
  return usual * (factor == nullptr ? 1 : std::strtoull(factor, nullptr, 10));
}

}  // namespace vtrain::testing
