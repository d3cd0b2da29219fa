/// Length of property tests: more rounds in nightly tests, fewer where each takes long under sanitizers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace vtrain::testing {

/// Factor on the usual number of random cases.
inline double rounds_factor() {
  const char* const factor = std::getenv("VTRAIN_TEST_ROUNDS");
  return factor == nullptr ? 1 : std::strtod(factor, nullptr);
}

/// The usual number of random cases, times `VTRAIN_TEST_ROUNDS` if that is set, at least one.
inline std::uint64_t rounds(std::uint64_t usual) {
  const double number = static_cast<double>(usual) * rounds_factor();
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(number), 1);
}

/// Number of cases of a kind that a test must have met to mean something: `usual`, and with fewer rounds
/// fewer than in proportion, as their number varies.
inline std::int64_t enough(std::int64_t usual) {
  const double factor = rounds_factor();
  return factor < 1 ? static_cast<std::int64_t>(static_cast<double>(usual) * factor / 2) : usual;
}

}  // namespace vtrain::testing
