#include "sched/disruptions.hpp"

#include <algorithm>
#include <cmath>

#include "sched/run_plan.hpp"

namespace vtrain {

std::int64_t Disruptions::speed(const Job& job, int levels) const {
  if (spread_factor >= 1 || levels == 0 || job.iterations > 0) return RunPlan::kFullSpeed;
  const double speed = std::pow(spread_factor, levels) * static_cast<double>(RunPlan::kFullSpeed);
  return std::max<std::int64_t>(1, std::llround(speed));
}

}  // namespace vtrain
