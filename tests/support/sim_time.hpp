/// Instants of a simulation as tests write them.
#pragma once

#include <chrono>
#include <cstdint>

#include "core/units.hpp"

namespace vtrain {

/// The instant that many seconds after the start.
inline SimTime at(std::int64_t seconds) {
  return SimTime(std::chrono::seconds(seconds));
}

}  // namespace vtrain
