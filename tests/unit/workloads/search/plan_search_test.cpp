#include "workloads/search/plan_search.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "core/base/rng.hpp"
#include "tests/unit/workloads/plain_a100.hpp"
#include "workloads/iteration/iteration_times.hpp"
#include "workloads/model/zoo.hpp"
#include "workloads/physical/physical_predictor.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {
namespace {

using testing::a100;

/// A plan with its complete prediction.
RankedPlan predict(const TransformerModel& model, const ParallelPlan& plan, const GpuProfile& profile,
                   const Stack& stack) {
  const auto prediction = predict_physical(model, plan, profile, stack).value();
  const IterationTimes times = fast_iteration_times(prediction.work);
  return {plan, times.iteration, prediction.memory, times.breakdown};
}

void sort_by_time(std::vector<RankedPlan>& plans) {
  std::stable_sort(plans.begin(), plans.end(),
                   [](const RankedPlan& a, const RankedPlan& b) { return a.iteration < b.iteration; });
}

/// All plans that fit, fastest first, each with its complete prediction.
std::vector<RankedPlan> predict_all(const TransformerModel& model, GpuCount num_gpus,
                                    std::int64_t global_batch, const GpuProfile& profile, const Stack& stack,
                                    const PlanChoices& choices) {
  std::vector<RankedPlan> plans;
  for (const ParallelPlan& plan : enumerate_plans(model, num_gpus, global_batch, profile, choices)) {
    const RankedPlan predicted = predict(model, plan, profile, stack);
    if (predicted.memory.fits(kDefaultHeadroom)) plans.push_back(predicted);
  }
  sort_by_time(plans);
  return plans;
}

/// Input of a search.
struct SearchCase {
  TransformerModel model{};
  GpuCount num_gpus{1};
  std::int64_t global_batch = 0;
  GpuProfile profile{};
};

/// A small model on up to `most_gpus` GPUs with little memory, so that memory limits plans.
SearchCase random_search(RandomStream& random, std::uint64_t most_gpus) {
  const auto below = [&](std::uint64_t bound) { return static_cast<std::int64_t>(random.below(bound)); };
  SearchCase made{.profile = a100()};
  const std::int64_t heads = 4 * (1 + below(6));
  made.model = {"", 1 + below(12), heads * 64, heads, 512 << below(3)};
  if (below(4) == 0) made.model.experts = {.num_experts = 8, .top_k = 2, .expert_ffn_size = 512};
  made.num_gpus = GpuCount(static_cast<std::int32_t>(1 + below(most_gpus)));
  made.global_batch = 4 * (1 + below(24));
  made.profile.memory_capacity = Bytes(2.5e9 + 4e9 * random.uniform());
  return made;
}

/// All plans that fit, where `layers` of each plan takes every value below `most(plan)`. Only the fastest
/// that fits is kept for each plan.
template <class Most>
std::vector<RankedPlan> predict_all_numbers(const SearchCase& search, const Stack& stack,
                                            std::int64_t ParallelPlan::*layers, const Most& most) {
  const auto& [model, num_gpus, global_batch, profile] = search;
  std::vector<RankedPlan> plans;
  for (ParallelPlan plan : enumerate_plans(model, num_gpus, global_batch, profile, stack.choices)) {
    const std::int64_t end = most(plan);
    std::vector<RankedPlan> fitting;
    for (plan.*layers = 0; plan.*layers < end; ++(plan.*layers)) {
      const RankedPlan predicted = predict(model, plan, profile, stack);
      if (predicted.memory.fits(kDefaultHeadroom)) fitting.push_back(predicted);
    }
    sort_by_time(fitting);
    if (!fitting.empty()) plans.push_back(fitting.front());
  }
  sort_by_time(plans);
  return plans;
}

TEST_CASE("plan_search: the fastest plans are those of an exhaustive search, ties included") {
  RandomStream random(11, "searches");
  const auto below = [&](std::uint64_t bound) { return static_cast<std::int64_t>(random.below(bound)); };
  int num_found = 0;
  int num_with_fallbacks = 0;
  std::int64_t num_fitting = 0;
  std::int64_t num_timed = 0;
  std::ptrdiff_t num_with_zero_bubble = 0;
  for (int i = 0; i < 60; ++i) {
    CAPTURE(i);
    const auto [model, num_gpus, global_batch, profile] = random_search(random, 24);
    const Stack& stack = all_stacks()[static_cast<std::size_t>(below(8))];
    const bool zero_bubble = below(2) == 0;
    PlanChoices choices = stack.choices;
    if (zero_bubble && choices.zero_bubble) choices.schedules.push_back(Schedule::ZeroBubble);
    const auto expected = predict_all(model, num_gpus, global_batch, profile, stack, choices);
    num_with_zero_bubble += std::count_if(expected.begin(), expected.end(), [](const RankedPlan& plan) {
      return plan.plan.schedule == Schedule::ZeroBubble;
    });
    PlanSearch search(model, profile, stack);
    const std::size_t top = 1 + static_cast<std::size_t>(below(8));
    const auto found = search.find(num_gpus, global_batch, {.top = top, .zero_bubble = zero_bubble});
    REQUIRE(found.has_value() == !expected.empty());
    if (!found) continue;
    ++num_found;
    CHECK(found->num_fitting == std::ssize(expected));
    CHECK(found->num_fitting <= found->num_plans);
    REQUIRE(found->best.size() == std::min(top, expected.size()));
    const auto all = search.find(num_gpus, global_batch, {.top = 0, .zero_bubble = zero_bubble});
    REQUIRE(all->best.size() == expected.size());
    for (std::size_t k = 0; k < expected.size(); ++k) {
      CHECK(all->best[k].plan == expected[k].plan);
      CHECK(all->best[k].iteration == expected[k].iteration);
      CHECK(all->best[k].memory.peak == expected[k].memory.peak);
      CHECK(all->best[k].breakdown.bubble == expected[k].breakdown.bubble);
      if (k < found->best.size()) CHECK(found->best[k].plan == expected[k].plan);
    }
    const auto fastest = predict_physical(model, expected.front().plan, profile, stack);
    REQUIRE(fastest);
    CHECK(found->best.front().has_fallbacks == !fastest->provenance.fallbacks.empty());
    num_with_fallbacks += found->best.front().has_fallbacks ? 1 : 0;
    num_fitting += found->num_fitting;
    num_timed += found->num_timed;
  }
  CHECK(num_found > 20);
  CHECK(num_found < 60);
  CHECK(num_with_fallbacks > 0);
  CHECK(num_with_fallbacks < num_found);
  CHECK(num_with_zero_bubble > 0);
  // Most plans need no exact time.
  CHECK(num_timed < num_fitting / 2);
}

TEST_CASE("plan_search: as few layers are offloaded as must be, which is what trying all numbers finds") {
  RandomStream random(12, "offloading");
  const auto below = [&](std::uint64_t bound) { return static_cast<std::int64_t>(random.below(bound)); };
  const Stack stack = find_stack("megatron-core").value();
  int num_offloading = 0;
  int num_waiting = 0;
  for (int i = 0; i < 60; ++i) {
    CAPTURE(i);
    SearchCase drawn = random_search(random, 8);
    drawn.profile.host_bandwidth = BytesPerSecond(1e9 * static_cast<double>(1 + below(100)));
    const auto& [model, num_gpus, global_batch, profile] = drawn;
    // One stage, of which nothing is recomputed.
    const auto expected =
        predict_all_numbers(drawn, stack, &ParallelPlan::offloaded_layers, [&](const ParallelPlan& plan) {
          const bool can = plan.pipeline == 1 && plan.recompute == Recompute::None;
          return can ? drawn.model.num_layers : 1;
        });
    PlanSearch search(model, profile, stack);
    const auto found = search.find(num_gpus, global_batch, {.top = 0, .offload = true});
    REQUIRE(found.has_value() == !expected.empty());
    if (!found) continue;
    CHECK(found->num_fitting == std::ssize(expected));
    REQUIRE(found->best.size() == expected.size());
    const auto top = search.find(num_gpus, global_batch, {.top = 3, .offload = true});
    for (std::size_t k = 0; k < expected.size(); ++k) {
      CHECK(found->best[k].plan == expected[k].plan);
      CHECK(found->best[k].iteration == expected[k].iteration);
      CHECK(found->best[k].memory.peak == expected[k].memory.peak);
      CHECK(found->best[k].breakdown.compute == expected[k].breakdown.compute);
      CHECK(found->best[k].breakdown.bubble == expected[k].breakdown.bubble);
      if (k < top->best.size()) CHECK(top->best[k].plan == expected[k].plan);
      ParallelPlan plan = expected[k].plan;
      if (plan.offloaded_layers == 0) continue;
      ++num_offloading;
      plan.offloaded_layers = 0;
      if (expected[k].iteration > predict(model, plan, profile, stack).iteration) ++num_waiting;
    }
  }
  CHECK(num_offloading > 50);
  CHECK(num_waiting > 5);
  CHECK(num_waiting < num_offloading);
}

TEST_CASE("plan_search: as few layers are recomputed as must be, which is what trying all numbers finds") {
  RandomStream random(13, "recomputing");
  const Stack stack = find_stack("megatron-core").value();
  int num_partial = 0;
  int num_whole = 0;
  for (int i = 0; i < 40; ++i) {
    CAPTURE(i);
    const SearchCase drawn = random_search(random, 8);
    const auto& [model, num_gpus, global_batch, profile] = drawn;
    // Where the plan does not fit without recomputation.
    const auto expected =
        predict_all_numbers(drawn, stack, &ParallelPlan::recomputed_layers, [&](const ParallelPlan& plan) {
          ParallelPlan without = plan;
          without.recompute = Recompute::None;
          const bool can = plan.recompute == Recompute::Full &&
                           !predict(drawn.model, without, drawn.profile, stack).memory.fits(kDefaultHeadroom);
          return can ? chunk_size(drawn.model, plan) : 1;
        });
    PlanSearch search(model, profile, stack);
    const auto found = search.find(num_gpus, global_batch, {.top = 0, .partial_recompute = true});
    REQUIRE(found.has_value() == !expected.empty());
    if (!found) continue;
    REQUIRE(found->best.size() == expected.size());
    const auto top = search.find(num_gpus, global_batch, {.top = 3, .partial_recompute = true});
    for (std::size_t k = 0; k < expected.size(); ++k) {
      CHECK(found->best[k].plan == expected[k].plan);
      CHECK(found->best[k].iteration == expected[k].iteration);
      CHECK(found->best[k].memory.peak == expected[k].memory.peak);
      CHECK(found->best[k].breakdown.compute == expected[k].breakdown.compute);
      if (k < top->best.size()) CHECK(top->best[k].plan == expected[k].plan);
      if (expected[k].plan.recompute == Recompute::Full)
        ++(expected[k].plan.recomputed_layers > 0 ? num_partial : num_whole);
    }
  }
  CHECK(num_partial > 20);
  CHECK(num_whole > 20);
}

TEST_CASE("plan_search: stacks that cannot offload, and searches that are not told to, do not") {
  // 70 billion parameters in bf16 on 72 GPUs: without recomputation activations do not fit.
  const GpuProfile profile = load_gpu_profile("gb200").value();
  const TransformerModel model = find_model("llama3-70b")->model();
  const auto num_offloading = [&](const char* stack, bool offload) {
    const auto found = PlanSearch(model, profile, find_stack(stack).value())
                           .find(GpuCount(64), 256, {.top = 0, .offload = offload})
                           .value();
    return std::count_if(found.best.begin(), found.best.end(),
                         [](const RankedPlan& ranked) { return ranked.plan.offloaded_layers > 0; });
  };
  CHECK(num_offloading("megatron-core", true) > 0);
  CHECK(num_offloading("megatron-bridge", true) > 0);
  CHECK(num_offloading("megatron-core", false) == 0);
  CHECK(num_offloading("torchtitan", true) == 0);
}

TEST_CASE("plan_search: one search after another, in any order, gives what each gives alone") {
  const TransformerModel model = find_model("megatron-7.5b")->model();
  const Stack stack = find_stack("megatron-core").value();
  PlanSearch search(model, a100(), stack);
  for (const std::int32_t num_gpus : {64, 8, 24, 64}) {
    const auto found = search.find(GpuCount(num_gpus), 192, {.top = 5});
    const auto alone = PlanSearch(model, a100(), stack).find(GpuCount(num_gpus), 192, {.top = 5});
    REQUIRE(found);
    REQUIRE(found->best.size() == alone->best.size());
    CHECK(found->num_timed == alone->num_timed);
    for (std::size_t i = 0; i < found->best.size(); ++i)
      CHECK(found->best[i].plan == alone->best[i].plan);
  }
}

TEST_CASE("plan_search: no plan is an error that says why") {
  const auto search = [](const TransformerModel& model, std::int32_t num_gpus, std::int64_t global_batch) {
    return PlanSearch(model, a100(), default_stack(a100())).find(GpuCount(num_gpus), global_batch);
  };
  const TransformerModel large = find_model("gpt3-175b")->model();
  const auto too_large = search(large, 8, 1536);
  REQUIRE(!too_large);
  CHECK(too_large.error().kind == ErrorKind::Failed);
  CHECK(too_large.error().message.starts_with(
      "model 'gpt3-175b' does not fit on 8 GPUs: the smallest plan needs "));
  // 1009 GPUs divide no batch of 1536, and are more than 96 layers.
  const auto indivisible = search(large, 1009, 1536);
  REQUIRE(!indivisible);
  CHECK(indivisible.error().kind == ErrorKind::InvalidInput);
  CHECK(indivisible.error().message ==
        "model 'gpt3-175b' with a global batch of 1536 cannot be divided over exactly 1009 GPUs");
  CHECK(!search(large, 0, 1536));
  CHECK(!search(large, 8, 0));
  CHECK(search(TransformerModel{}, 8, 8).error().field == "num_layers");
}

}  // namespace
}  // namespace vtrain
