/// Rounds of equal length, at whose boundaries policies decide.
#pragma once

#include <cstdint>

#include "core/base/units.hpp"

namespace vtrain {

/// Number of the round that contains an instant. Round n begins n x `length` (above 0) after time 0; rounds
/// before time 0 have negative numbers.
constexpr std::int64_t round_of(SimTime time, SimDuration length) {
  const std::int64_t since_zero = time.time_since_epoch().count();
  const std::int64_t quotient = since_zero / length.count();
  return since_zero % length.count() < 0 ? quotient - 1 : quotient;
}

}  // namespace vtrain
