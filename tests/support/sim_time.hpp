/// Instants of a simulation as tests write them.
#pragma once

#include <chrono>
#include <concepts>

#include "core/base/units.hpp"

namespace vtrain {

/// The instant that many seconds after the start.
inline SimTime at(std::integral auto seconds) {
  return SimTime(std::chrono::seconds(seconds));
}
/// The same, to the nearest nanosecond.
inline SimTime at(std::floating_point auto seconds) {
  return SimTime(to_sim_duration(Seconds(seconds)));
}

}  // namespace vtrain
