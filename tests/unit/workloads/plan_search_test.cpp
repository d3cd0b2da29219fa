#include "workloads/plan_search.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "core/rng.hpp"
#include "workloads/model_zoo.hpp"
#include "workloads/physical_semantics.hpp"

namespace vtrain {
namespace {

const GpuProfile& a100() {
  static const GpuProfile profile = load_gpu_profile("a100").value();
  return profile;
}

/// The best plan by trying every combination of small numbers, each predicted in full.
std::optional<RankedPlan> brute_force(const TransformerModel& model, std::int64_t num_gpus,
                                      std::int64_t global_batch, const GpuProfile& profile) {
  std::optional<RankedPlan> best;
  for (const std::int64_t tensor : {1, 2, 4, 8}) {
    for (std::int64_t pipeline = 1; pipeline <= num_gpus; ++pipeline) {
      for (std::int64_t data = 1; data <= num_gpus; ++data) {
        for (const std::int64_t micro_batch : {1, 2, 4, 8, 16}) {
          for (const Recompute recompute : {Recompute::Full, Recompute::None}) {
            if (tensor * pipeline * data != num_gpus) continue;
            const ParallelPlan plan{tensor, data, pipeline, global_batch, micro_batch, recompute};
            const auto prediction = predict_physical(model, plan, profile, default_stack());
            if (!prediction || !prediction->memory.fits()) continue;
            const Nanoseconds iteration = fast_iteration_times(prediction->work).iteration;
            if (!best || iteration < best->iteration) best = RankedPlan{plan, iteration, prediction->memory};
          }
        }
      }
    }
  }
  return best;
}

TEST_CASE("plan_search: the best plan is that of a brute-force enumeration") {
  RandomStream random(11, "searches");
  int num_found = 0;
  for (int i = 0; i < 60; ++i) {
    CAPTURE(i);
    const auto below = [&](std::uint64_t bound) { return static_cast<std::int64_t>(random.below(bound)); };
    const std::int64_t heads = 4 * (1 + below(6));
    const TransformerModel model{"", 1 + below(12), heads * 64, heads, 256 << below(3)};
    const std::int64_t num_gpus = 1 + below(24);
    const std::int64_t global_batch = 4 * (1 + below(24));
    GpuProfile profile = a100();
    // Little memory, so that it matters.
    profile.memory_capacity = Bytes(2.2e9 + 1e9 * random.uniform());
    const auto expected = brute_force(model, num_gpus, global_batch, profile);
    const auto found =
        search_plans(model, GpuCount(static_cast<std::int32_t>(num_gpus)), global_batch, profile, {.top = 3});
    REQUIRE(found.has_value() == expected.has_value());
    if (!found) continue;
    ++num_found;
    CHECK(found->best.front().plan == expected->plan);
    CHECK(found->best.front().iteration == expected->iteration);
    CHECK(found->best.front().memory.peak == expected->memory.peak);
    CHECK(found->best.size() == std::min<std::size_t>(3, static_cast<std::size_t>(found->num_fitting)));
    CHECK(found->num_fitting <= found->num_plans);
  }
  CHECK(num_found > 10);
  CHECK(num_found < 60);
}

TEST_CASE("plan_search: plans come in the order that decides ties") {
  const TransformerModel model{"", 4, 512, 8, 256};
  const auto plans = enumerate_plans(model, GpuCount(8), 16, a100());
  const auto key = [](const ParallelPlan& plan) {
    return std::tuple(plan.tensor, plan.pipeline, plan.micro_batch, plan.recompute == Recompute::None);
  };
  CHECK(std::is_sorted(plans.begin(), plans.end(),
                       [&](const ParallelPlan& a, const ParallelPlan& b) { return key(a) < key(b); }));
  // Micro-batches that divide 16 / data: 2 for data 8, 3 for 4, 4 for 2, 5 for 1. By (tensor, pipeline): (1,
  // 1) 2, (1, 2) 3, (1, 4) 4, (2, 1) 3, (2, 2) 4, (2, 4) 5, (4, 1) 4, (4, 2) 5, (8, 1) 5. Together 35, with
  // and without recomputation.
  CHECK(plans.size() == 70);
}

TEST_CASE("plan_search: no plan is an error that says why") {
  const TransformerModel large = find_model("gpt3-175b")->model();
  const auto too_large = search_plans(large, GpuCount(8), 1536, a100());
  REQUIRE(!too_large);
  CHECK(too_large.error().kind == ErrorKind::Failed);
  CHECK(too_large.error().message.starts_with(
      "model 'gpt3-175b' does not fit on 8 GPUs: the smallest plan needs "));
  // 7 GPUs divide neither 96 layers nor a batch of 1536.
  const auto indivisible = search_plans(large, GpuCount(7), 1536, a100());
  REQUIRE(!indivisible);
  CHECK(indivisible.error().kind == ErrorKind::InvalidInput);
  CHECK(indivisible.error().message ==
        "model 'gpt3-175b' with a global batch of 1536 cannot be divided over exactly 7 GPUs");
  CHECK(!search_plans(large, GpuCount(0), 1536, a100()));
  CHECK(!search_plans(large, GpuCount(8), 0, a100()));
  CHECK(search_plans(TransformerModel{}, GpuCount(8), 8, a100()).error().field == "num_layers");
}

}  // namespace
}  // namespace vtrain
