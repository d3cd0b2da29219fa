/// How long something took, on the clock of the wall.
#pragma once

#include <chrono>

#include "core/base/units.hpp"

namespace vtrain {

/// Seconds that have passed since `start`.
inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return Seconds(std::chrono::steady_clock::now() - start).count();
}

}  // namespace vtrain
