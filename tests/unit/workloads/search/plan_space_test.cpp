#include "workloads/search/plan_space.hpp"
#include "core/base/rng.hpp"
#include "core/profile/gpu_profile.hpp"
#include "tests/unit/workloads/plain_a100.hpp"
#include "workloads/model/parallel_plan.hpp"
#include "workloads/model/zoo.hpp"
#include "workloads/stack/stack.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace vtrain {
namespace {

using testing::a100;

bool is_power_of_two(std::int64_t number) {
  return (number & (number - 1)) == 0;
}

/// True if all chunks of the model have equally many layers.
bool has_equal_chunks(const TransformerModel& model, const ParallelPlan& plan) {
  const std::int64_t first = chunk_layers(model, plan, 0, 0).count;
  for (std::int64_t chunk = 0; chunk < plan.virtual_stages; ++chunk) {
    for (std::int64_t stage = 0; stage < plan.pipeline; ++stage)
      if (chunk_layers(model, plan, stage, chunk).count != first) return false;
  }
  return true;
}

/// Plans of the choices, found by trying every number, in the order that decides ties.
std::vector<ParallelPlan> try_all(const TransformerModel& model, std::int64_t num_gpus, std::int64_t batch,
                                  const PlanChoices& choices) {
  std::vector<ParallelPlan> plans;
  ParallelPlan plan{.global_batch = batch, .precision = choices.precision};
  const auto with_choices = [&] {
    // What is refused whatever the choices are, which is most.
    ParallelPlan simple = plan;
    simple.micro_batch = 1;
    simple.replicate = 1;
    simple.sharding = Sharding::None;
    simple.schedule = Schedule::OneForwardOneBackward;
    if (!check_plan(model, simple)) return;
    for (plan.micro_batch = 1; plan.micro_batch <= batch; ++plan.micro_batch) {
      if (plan.micro_batch > 1 && plan.micro_batch * model.sequence_length > 1 << 18) continue;
      for (const Recompute recompute : choices.recompute) {
        for (const Sharding sharding : choices.sharding) {
          for (plan.replicate = 1; plan.replicate <= num_gpus; ++plan.replicate) {
            for (const Schedule schedule : choices.schedules) {
              plan.recompute = recompute;
              plan.sharding = sharding;
              plan.schedule = schedule;
              if (plan.data * plan.context == 1 && sharding != choices.sharding.front()) continue;
              if (plan.pipeline > 1 && sharding == Sharding::Gradients) continue;
              if (plan.pipeline == 1 && schedule != choices.schedules.front()) continue;
              // A set is the largest in a node, and of several replicas.
              const auto fits = [&](std::int64_t sets) {
                return plan.num_replicas() % sets == 0 && plan.num_replicas() / sets * plan.tensor <= 8;
              };
              std::int64_t fewest = 1;
              while (fewest < plan.num_replicas() && !fits(fewest))
                ++fewest;
              if (plan.replicate > 1 && (plan.replicate != fewest || plan.replicate == plan.num_replicas()))
                continue;
              // The embedding has a layer beside it.
              if (check_plan(model, plan) && chunk_layers(model, plan, 0, 0).count > 0) plans.push_back(plan);
            }
          }
        }
      }
    }
  };
  for (plan.tensor = 1; plan.tensor <= (choices.tensor ? 16 : 1); plan.tensor *= 2) {
    if (model.kv_heads() % plan.tensor != 0) continue;
    plan.sequence_parallel = choices.sequence_parallel && plan.tensor > 1;
    for (plan.context = 1;
         plan.context == 1 || (choices.context && model.sequence_length / plan.context >= 1024);
         plan.context *= 2) {
      for (plan.expert = 1; plan.expert == 1 || (choices.expert && plan.expert <= model.experts.num_experts);
           plan.expert *= 2) {
        for (plan.pipeline = 1; plan.pipeline <= (choices.pipeline ? num_gpus : 1); ++plan.pipeline) {
          if (plan.pipeline > model.num_layers) break;
          plan.data = num_gpus / (plan.tensor * plan.context * plan.pipeline);
          if (plan.data == 0 || plan.num_gpus().value != num_gpus) continue;
          const std::int64_t most_chunks = choices.virtual_stages ? model.num_layers : 1;
          // Whole experts, then those that are shared as the rest of the layer is.
          for (const bool shares_experts : {false, true}) {
            if (shares_experts && (!choices.expert || !model.has_experts() || plan.tensor == 1)) continue;
            plan.expert_tensor = shares_experts ? plan.tensor : 1;
            for (const bool ends_count : {false, true}) {
              if (ends_count && (!choices.ends_count_as_layers || plan.pipeline == 1)) continue;
              plan.ends_count_as_layers = ends_count;
              for (plan.virtual_stages = 1; plan.virtual_stages <= most_chunks; ++plan.virtual_stages)
                if (!ends_count || !has_equal_chunks(model, plan)) with_choices();
            }
          }
        }
      }
    }
  }
  return plans;
}

TEST_CASE("plan_space: all plans, each once, in the order that decides ties") {
  RandomStream random(2, "spaces");
  const auto below = [&](std::uint64_t bound) { return static_cast<std::int64_t>(random.below(bound)); };
  std::size_t num_plans = 0;
  std::int64_t num_hybrid = 0;
  for (int i = 0; i < 400; ++i) {
    CAPTURE(i);
    const std::int64_t heads = 2 * (1 + below(10));
    TransformerModel model{"", 1 + below(12), heads * 64, heads, 512 << below(4)};
    if (below(3) == 0) model.experts = {.num_experts = 4 + 2 * below(3), .top_k = 2, .expert_ffn_size = 512};
    if (below(3) == 0) model.num_kv_heads = heads / 2;
    if (below(4) == 0) model.ffn_size = 2 + below(2000);
    if (model.has_experts() && below(3) == 0) model.experts.shared_ffn_size = 1 + below(1000);
    REQUIRE(check_model(model));
    const PlanChoices choices =
        all_stacks()[static_cast<std::size_t>(below(static_cast<int>(all_stacks().size())))].choices;
    const std::int64_t num_gpus = 1 + below(32);
    const std::int64_t batch = 1 + below(48);
    const auto plans =
        enumerate_plans(model, GpuCount(static_cast<std::int32_t>(num_gpus)), batch, a100(), choices);
    CHECK(plans == try_all(model, num_gpus, batch, choices));
    num_plans += plans.size();
    num_hybrid += std::ranges::count_if(plans, [](const ParallelPlan& plan) { return plan.replicate > 1; });
  }
  CHECK(num_plans > 500);
  CHECK(num_hybrid > 50);
}

TEST_CASE("plan_space: frameworks offer what they have") {
  const TransformerModel model = find_model("gpt3-6.7b")->model();
  for (const Stack& stack : all_stacks()) {
    CAPTURE(stack.name);
    const auto plans = enumerate_plans(model, GpuCount(32), 128, a100(), stack.choices);
    REQUIRE(!plans.empty());
    const bool is_old = stack.name == "megatron-2021" || stack.name == "deepspeed-megatron";
    const bool is_data_parallel = stack.name == "fsdp-eager" || stack.name == "transformers-eager" ||
                                  stack.name.starts_with("pytorch-");
    const auto has_sharding = [&](Sharding sharding) {
      return std::any_of(plans.begin(), plans.end(),
                         [sharding](const ParallelPlan& plan) { return plan.sharding == sharding; });
    };
    if (stack.name.starts_with("megatron-bridge")) CHECK(has_sharding(Sharding::Full));
    for (const ParallelPlan& plan : plans) {
      CHECK(plan.num_gpus() == GpuCount(32));
      CHECK(is_power_of_two(plan.tensor));
      CHECK(plan.sequence_parallel == (plan.tensor > 1 && !is_old));
      if (is_old) CHECK(plan.recompute != Recompute::Selective);
      if (stack.name.starts_with("megatron-202")) CHECK(plan.sharding == Sharding::None);
      if (is_data_parallel) CHECK(plan.data == 32);
      CHECK(check_stack(stack, plan));
      if (stack.name == "fsdp-eager" || stack.name.starts_with("torchtitan"))
        CHECK(shards_weights(plan.sharding));
    }
  }
}

TEST_CASE("plan_space: Megatron-Core recomputes selectively where attention is latent") {
  for (const std::string name : {"gpt3-6.7b", "deepseek-v3"}) {
    CAPTURE(name);
    const auto plans = enumerate_plans(find_model(name)->model(), GpuCount(32), 128, a100(),
                                       find_stack("megatron-core")->choices);
    const auto is_selective = [](const ParallelPlan& plan) { return plan.recompute == Recompute::Selective; };
    CHECK(std::any_of(plans.begin(), plans.end(), is_selective) == (name == "deepseek-v3"));
  }
}

TEST_CASE("plan_space: limits and impossible divisions leave what they should") {
  const TransformerModel model = find_model("mtnlg-530b")->model();
  const PlanChoices choices = find_stack("megatron-2021").value().choices;
  const auto published =
      enumerate_plans(model, GpuCount(2240), 1920, a100(), choices, {.tensor = 8, .pipeline = 35, .data = 8});
  REQUIRE(!published.empty());
  for (const ParallelPlan& plan : published) {
    CHECK(plan.tensor == 8);
    CHECK(plan.pipeline == 35);
  }
  CHECK(enumerate_plans(model, GpuCount(0), 1920, a100(), choices).empty());
  CHECK(enumerate_plans(model, GpuCount(8), 0, a100(), choices).empty());
  CHECK(enumerate_plans(model, GpuCount(11), 1920, a100(), choices).empty());
  // 126 layers over 16 stages: embedding and output layer make 128.
  const TransformerModel large{"", 126, 16384, 128, 8192};
  const auto uneven =
      enumerate_plans(large, GpuCount(128), 64, a100(), find_stack("megatron-core").value().choices,
                      {.tensor = 8, .context = 1, .pipeline = 16});
  REQUIRE(!uneven.empty());
  for (const ParallelPlan& plan : uneven)
    CHECK(plan.ends_count_as_layers);
  // 61 layers over 16 stages: 15 of four, embedding included, and one of two layers and the output layer.
  const auto deepseek = enumerate_plans(find_model("deepseek-v3")->model(), GpuCount(1024), 8192, a100(),
                                        find_stack("megatron-core").value().choices, {.pipeline = 16});
  REQUIRE(!deepseek.empty());
  CHECK(chunk_layers(find_model("deepseek-v3")->model(), deepseek.front(), 15, 0).count == 2);
}

}  // namespace
}  // namespace vtrain
