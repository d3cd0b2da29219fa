/// Search for a deadline with which a rejected job would have been admitted.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "core/base/units.hpp"

namespace vtrain {

/// The earliest deadline after `asked` for which `is_admitted` is true, up to `precision` or a hundredth of
/// its distance from now. None if there is none within a hundred years. Later deadlines are taken to be
/// easier: where they are not, the result is admitted, but may not be the earliest.
template <class IsAdmitted>
std::optional<SimTime> earliest_deadline(SimTime now, SimTime asked, SimDuration precision,
                                         const IsAdmitted& is_admitted) {
  constexpr SimDuration kFurthest = std::chrono::hours(24 * 36'500);
  constexpr std::int64_t kParts = 100;
  SimTime rejected = std::max(now, asked);
  SimDuration step = std::max(precision, (rejected - now) / kParts);
  SimTime admitted = rejected + step;
  for (; !is_admitted(admitted); admitted = rejected + step) {
    rejected = admitted;
    step *= 2;
    if (step > kFurthest) return std::nullopt;
  }
  while (admitted - rejected > std::max(precision, (admitted - now) / kParts)) {
    const SimTime middle = rejected + (admitted - rejected) / 2;
    (is_admitted(middle) ? admitted : rejected) = middle;
  }
  return admitted;
}

}  // namespace vtrain
