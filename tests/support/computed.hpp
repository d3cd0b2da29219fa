/// Numbers that a test computes otherwise than the program does.
#pragma once

#include <doctest/doctest.h>

namespace vtrain::testing {

/// Seconds of an hour.
inline constexpr double kHour = 3600;

/// A number but for the rounding of a few operations.
inline doctest::Approx about(double value) {
  return doctest::Approx(value).epsilon(1e-12);
}

}  // namespace vtrain::testing
