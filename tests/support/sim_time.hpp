/// Short notation for instants of a simulation in tests.
#pragma once

#include <chrono>
#include <concepts>

#include "core/base/units.hpp"

namespace vtrain {

/// The instant `seconds` after the start.
inline SimTime at(std::integral auto seconds) {
  return SimTime(std::chrono::seconds(seconds));
}
/// The instant `seconds` after the start, to the nearest nanosecond.
inline SimTime at(std::floating_point auto seconds) {
  return SimTime(to_sim_duration(Seconds(seconds)));
}

}  // namespace vtrain
