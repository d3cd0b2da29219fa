#include "policies/elasticflow/satisfactory_share.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/rng.hpp"

namespace vtrain {
namespace {

constexpr WholeSeconds kSlot = 10;

/// A job on 1, 2 and 4 GPUs that is faster on more.
struct TinyJob {
  SpeedByGpus levels;
  SlottedJob job;

  explicit TinyJob(RandomStream& random)
      : levels({{GpuCount(1), 1.0},
                {GpuCount(2), random.uniform(1.1, 2.0)},
                {GpuCount(4), random.uniform(2.1, 4.0)}}) {
    job.levels = &levels;
    job.max_gpus = 4;
    job.iterations_left = random.uniform(5, 150);
    job.deadline = static_cast<WholeSeconds>(5 + random.below(50));
  }
};

GpuTimeline random_free(RandomStream& random) {
  GpuTimeline free(0, static_cast<std::int64_t>(random.below(6)));
  for (WholeSeconds time = kSlot; time <= 4 * kSlot; time += kSlot)
    free.append(time, static_cast<std::int64_t>(random.below(6)));
  free.append(5 * kSlot, 5);
  return free;
}

/// The smallest maximum of GPUs over all assignments of GPUs to slots that complete the work by the deadline.
/// None if there is no such assignment. Tries all assignments.
std::optional<std::int64_t> exhaustive_share(const TinyJob& tiny, const GpuTimeline& free) {
  std::vector<WholeSeconds> slots;
  for (WholeSeconds time = 0; time < tiny.job.deadline; time += kSlot)
    slots.push_back(time);
  constexpr std::int64_t kChoices[] = {0, 1, 2, 4};
  std::optional<std::int64_t> least;
  std::size_t ways = 1;
  for (std::size_t i = 0; i < slots.size(); ++i)
    ways *= 4;
  for (std::size_t way = 0; way < ways; ++way) {
    double work = 0;
    std::int64_t largest = 0;
    bool fits = true;
    std::size_t rest = way;
    for (const WholeSeconds time : slots) {
      const std::int64_t gpus = kChoices[rest % 4];
      rest /= 4;
      fits = fits && gpus <= free.at(time);
      largest = std::max(largest, gpus);
      const WholeSeconds seconds = std::min(time + kSlot, tiny.job.deadline) - time;
      if (gpus > 0) work += static_cast<double>(seconds) * tiny.job.speed(gpus);
    }
    if (fits && work >= tiny.job.iterations_left) least = std::min(least.value_or(4), largest);
  }
  return least;
}

}  // namespace

TEST_CASE(
    "satisfactory_share: in time exactly if some way of holding GPUs is, and with no more than it takes") {
  RandomStream random(1, "satisfactory_share");
  int in_time = 0;
  int late = 0;
  for (int round = 0; round < 2000; ++round) {
    CAPTURE(round);
    const TinyJob tiny(random);
    const GpuTimeline free = random_free(random);
    const FreeView view(free, free.least_after_first(), nullptr);
    ShareFill fill;
    fill.set_context({.now = 0, .slot = kSlot, .cluster_gpus = 5});
    SharePlan plan;
    fill.plan(tiny.job, view, std::nullopt, plan);
    const auto expected = exhaustive_share(tiny, free);
    REQUIRE((plan.finished <= tiny.job.deadline) == expected.has_value());
    ++(expected ? in_time : late);

    GpuTimeline left;
    fill.leave(left);
    double work = 0;
    std::int64_t largest = 0;
    for (WholeSeconds second = 0; second < plan.finished; ++second) {
      const std::int64_t held = plan.gpus.at(second);
      REQUIRE(held <= free.at(second));
      REQUIRE(left.at(second) == free.at(second) - held);
      largest = std::max(largest, held);
      if (held > 0) work += tiny.job.speed(held);
    }
    CHECK(work >= tiny.job.iterations_left * (1 - 1e-9));
    if (expected) CHECK(largest == *expected);
    CHECK(left.at(plan.end) == free.at(plan.end));
  }
  CHECK(in_time > 300);
  CHECK(late > 300);
}

TEST_CASE("satisfactory_share: the sum of what is free and what one plan holds has the steps of the sum") {
  RandomStream random(1, "free_view");
  for (int round = 0; round < 2000; ++round) {
    CAPTURE(round);
    GpuTimeline free = random_free(random);
    SharePlan own;
    own.gpus.assign(0, static_cast<std::int64_t>(random.below(3)));
    for (WholeSeconds time = kSlot; time <= 3 * kSlot; time += kSlot)
      own.gpus.append(time, static_cast<std::int64_t>(random.below(3)));
    own.end = 4 * kSlot;
    const FreeView view(free, free.least_after_first(), &own);
    GpuTimeline sum;
    view.write(sum);
    for (WholeSeconds time = 0; time < 7 * kSlot; ++time) {
      REQUIRE(sum.at(time) == free.at(time) + (time < own.end ? own.gpus.at(time) : 0));
      const auto next = sum.index_from(std::max<WholeSeconds>(time, 1));
      REQUIRE(view.step_from(time) ==
              (next < sum.steps().size() ? sum.steps()[next].time : FreeView::kNever));
      REQUIRE(view.last_step_until(time) == sum.steps()[sum.index_from(time + 1) - 1].time);
      REQUIRE(view.least_from(time) <= sum.at(time));
    }
  }
}

}  // namespace vtrain
