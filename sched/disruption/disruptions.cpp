#include "sched/disruption/disruptions.hpp"

#include <algorithm>
#include <cmath>

namespace vtrain {

SegmentSpeed Disruptions::speed(int levels) const {
  if (spread_factor >= 1 || levels == 0) return {};
  const double speed = std::pow(spread_factor, levels) * static_cast<double>(SegmentSpeed::kFull);
  return {.here = std::max<std::int64_t>(1, std::llround(speed))};
}

}  // namespace vtrain
