/// Length of property tests: more rounds in nightly tests, fewer where each takes long under sanitizers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace vtrain::testing {

/// The usual number of random cases, times `VTRAIN_TEST_ROUNDS` if that is set, at least one.
inline std::uint64_t rounds(std::uint64_t usual) {
  const char* const factor = std::getenv("VTRAIN_TEST_ROUNDS");
  if (factor == nullptr) return usual;
  const double number = static_cast<double>(usual) * std::strtod(factor, nullptr);
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(number), 1);
}

}  // namespace vtrain::testing
