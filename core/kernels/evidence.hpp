/// Predicted times and their evidence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/units.hpp"

namespace vtrain {

/// Source of a number, from best to worst.
enum class Evidence : std::uint8_t {
  Measured,      ///< the tables have exactly this shape or size
  Interpolated,  ///< between measured shapes or sizes
  Extrapolated,  ///< outside the measured range
  Modelled,      ///< a formula of rates and latencies
};

/// `measured`, `interpolated`, `extrapolated`, `modelled`.
constexpr std::string_view name_of(Evidence evidence) {
  constexpr std::string_view kNames[] = {"measured", "interpolated", "extrapolated", "modelled"};
  return kNames[static_cast<std::size_t>(evidence)];
}

/// The worse of two, for sums.
constexpr Evidence worse(Evidence a, Evidence b) {
  return a < b ? b : a;
}

/// The time of a kernel or a message, and its evidence.
struct KernelTime {
  Nanoseconds time{0};                     ///< duration
  Evidence evidence = Evidence::Measured;  ///< evidence for the duration
};

}  // namespace vtrain
