#include "workloads/search/ranked_plan.hpp"

#include <doctest/doctest.h>

#include "core/base/rng.hpp"

namespace vtrain {
namespace {

/// A plan with only a size and a speed.
RankedPlan offer(std::int64_t num_gpus, double seconds) {
  return {.plan = {.data = num_gpus}, .iteration = Seconds(seconds)};
}

TEST_CASE("ranked_plan: a plan is on the front unless another is as fast, as cheap and as small") {
  // GPU-seconds: 80, 96, 160, 144, 96. The third is slower than the fourth, which is cheaper, but smaller;
  // the fifth equals the second.
  const std::vector<RankedPlan> plans = {offer(8, 10), offer(16, 6), offer(32, 5), offer(36, 4),
                                         offer(16, 6)};
  CHECK(pareto_front(plans) == std::vector<std::size_t>{0, 1, 2, 3});
  // Twice the GPUs in the same time help nobody.
  CHECK(pareto_front(std::vector{offer(8, 10), offer(16, 10)}) == std::vector<std::size_t>{0});
  // Fewest GPUs come first.
  CHECK(pareto_front(std::vector{offer(16, 5), offer(8, 10)}) == std::vector<std::size_t>{1, 0});
  CHECK(pareto_front({}).empty());
}

TEST_CASE("ranked_plan: on random plans the front is what no plan beats") {
  RandomStream random(3, "plans");
  for (int round = 0; round < 200; ++round) {
    std::vector<RankedPlan> plans;
    for (int i = 0; i < 8; ++i) {
      plans.push_back(
          offer(1 + static_cast<std::int64_t>(random.below(5)), 1 + static_cast<double>(random.below(5))));
    }
    const std::vector<std::size_t> front = pareto_front(plans);
    const auto covers = [&](const RankedPlan& a, const RankedPlan& b) {
      return a.iteration <= b.iteration && gpu_seconds(a) <= gpu_seconds(b) && a.plan.data <= b.plan.data;
    };
    for (const RankedPlan& plan : plans) {
      // Every plan is covered by one on the front, and those on the front cover each other never.
      CHECK(std::any_of(front.begin(), front.end(), [&](std::size_t i) { return covers(plans[i], plan); }));
    }
    for (const std::size_t i : front) {
      for (const std::size_t j : front)
        CHECK((i == j || !covers(plans[i], plans[j])));
    }
  }
}

TEST_CASE("ranked_plan: each objective has its best, within the time allowed") {
  // GPU-seconds: 80, 64, 80.
  const std::vector<RankedPlan> plans = {offer(8, 10), offer(16, 4), offer(40, 2)};
  CHECK(choose_plan(plans, Objective::Time, Nanoseconds::max()) == 2);
  CHECK(choose_plan(plans, Objective::Cost, Nanoseconds::max()) == 1);
  CHECK(choose_plan(plans, Objective::Gpus, Nanoseconds::max()) == 0);
  CHECK(choose_plan(plans, Objective::Gpus, Seconds(4)) == 1);
  CHECK(choose_plan(plans, Objective::Cost, Seconds(3)) == 2);
  CHECK(!choose_plan(plans, Objective::Time, Seconds(1)));
  // Equally cheap: the faster one.
  CHECK(choose_plan(std::vector{plans[0], plans[2]}, Objective::Cost, Nanoseconds::max()) == 1);
}

}  // namespace
}  // namespace vtrain
