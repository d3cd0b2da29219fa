/// Predicted times and their evidence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
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

/// Distance of a size from the measured range: the size asked for, and the nearest measured one. Both are
/// above 0, and equal within the range.
struct Reach {
  std::string_view unit{};  ///< unit of both: `bytes`, `GPUs`, `rows`
  double asked = 1;         ///< size asked for
  double nearest = 1;       ///< nearest measured size

  /// Ratio of the larger to the smaller size: 1 within the range.
  constexpr double factor() const { return asked > nearest ? asked / nearest : nearest / asked; }
};

/// The larger distance of two; the first of equal ones.
constexpr const Reach& further(const Reach& a, const Reach& b) {
  return a.factor() < b.factor() ? b : a;
}

/// The time of a kernel or a message, and its evidence.
struct KernelTime {
  Nanoseconds time{0};                     ///< duration
  Evidence evidence = Evidence::Measured;  ///< evidence for the duration
  Reach reach{};                           ///< distance from the measured sizes, if extrapolated
};

/// A kernel or message whose time is extrapolated.
struct Extrapolation {
  std::string name{};  ///< operator or message
  Reach reach{};       ///< largest distance from the measured sizes
};

}  // namespace vtrain
