#include "workloads/search/ranked_plan.hpp"

#include <algorithm>
#include <tuple>

namespace vtrain {
namespace {

/// True if `a` is at least as good as `b` in everything and better in something.
bool beats(const RankedPlan& a, const RankedPlan& b) {
  const auto times = std::pair(a.iteration, b.iteration);
  const auto costs = std::pair(gpu_seconds(a), gpu_seconds(b));
  const auto sizes = std::pair(a.plan.num_gpus(), b.plan.num_gpus());
  const bool no_worse =
      times.first <= times.second && costs.first <= costs.second && sizes.first <= sizes.second;
  return no_worse && (times.first < times.second || costs.first < costs.second || sizes.first < sizes.second);
}

bool equal(const RankedPlan& a, const RankedPlan& b) {
  return a.iteration == b.iteration && a.plan.num_gpus() == b.plan.num_gpus();
}

}  // namespace

double gpu_seconds(const RankedPlan& plan) {
  return Seconds(plan.iteration).count() * plan.plan.num_gpus().value;
}

std::vector<std::size_t> pareto_front(std::span<const RankedPlan> plans) {
  std::vector<std::size_t> front;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const bool beaten =
        std::any_of(plans.begin(), plans.end(), [&](const RankedPlan& p) { return beats(p, plans[i]); });
    const auto earlier = plans.first(i);
    const bool repeated =
        std::any_of(earlier.begin(), earlier.end(), [&](const RankedPlan& p) { return equal(p, plans[i]); });
    if (!beaten && !repeated) front.push_back(i);
  }
  std::stable_sort(front.begin(), front.end(), [&](std::size_t a, std::size_t b) {
    return plans[a].plan.num_gpus() < plans[b].plan.num_gpus();
  });
  return front;
}

std::optional<std::size_t> choose_plan(std::span<const RankedPlan> plans, Objective objective,
                                       Nanoseconds longest) {
  const auto key = [&](const RankedPlan& plan) {
    const double time = plan.iteration.count();
    const auto gpus = static_cast<double>(plan.plan.num_gpus().value);
    const double first = objective == Objective::Time   ? time
                         : objective == Objective::Cost ? gpu_seconds(plan)
                                                        : gpus;
    return std::tuple(first, time, gpus);
  };
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (plans[i].iteration > longest) continue;
    if (!best || key(plans[i]) < key(plans[*best])) best = i;
  }
  return best;
}

}  // namespace vtrain
