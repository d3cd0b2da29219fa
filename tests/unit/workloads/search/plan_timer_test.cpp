#include "workloads/search/plan_timer.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/base/rng.hpp"
#include "workloads/iteration/iteration_times.hpp"
#include "workloads/model/zoo.hpp"
#include "workloads/physical/physical_predictor.hpp"
#include "workloads/search/plan_space.hpp"

namespace vtrain {
namespace {

std::vector<TransformerModel> some_models() {
  TransformerModel experts{"", 6, 1024, 16, 2048};
  experts.experts = {.num_experts = 8, .top_k = 2, .expert_ffn_size = 1024, .num_dense_layers = 2};
  TransformerModel llama = find_model("llama3-8b")->model();
  llama.sequence_length = 4096;
  TransformerModel windowed = experts;
  windowed.window = {.size = 256, .first_layer = 1, .full_every = 3};
  TransformerModel hybrid{"", 12, 1024, 16, 2048};
  hybrid.state_space = {.num_heads = 32, .head_size = 64, .state_size = 128, .num_groups = 8};
  hybrid.experts = {.num_experts = 8, .top_k = 2, .expert_ffn_size = 1024, .latent_size = 512};
  hybrid.layer_pattern = "MEM*ME-M-*ME";
  hybrid.prediction = {.depth = 2, .shares_weights = true, .layer_pattern = "*E"};
  return {{"", 12, 2048, 16, 1024},
          {"", 10, 1536, 16, 2048},
          experts,
          llama,
          windowed,
          hybrid,
          find_model("megatron-18.4b")->model()};
}

TEST_CASE("plan_timer: times are those of the full prediction to the bit, bounds are below them") {
  RandomStream random(4, "plans");
  int num_checked = 0;
  int num_tight = 0;
  for (const char* name : {"a100", "h100"}) {
    const GpuProfile profile = load_gpu_profile(name).value();
    for (const Stack& stack : all_stacks()) {
      PlanChoices choices = stack.choices;
      if (choices.pipeline) choices.schedules.push_back(Schedule::ZeroBubble);
      for (const TransformerModel& model : some_models()) {
        PlanTimer timer(model, profile, stack);
        for (const std::int32_t num_gpus : {1, 8, 24, 96}) {
          const auto plans = enumerate_plans(model, GpuCount(num_gpus), 96, profile, choices);
          for (int i = 0; i < 12 && !plans.empty(); ++i) {
            ParallelPlan plan = plans[random.below(plans.size())];
            const std::int64_t layers = model.num_layers / plan.pipeline;
            if (random.below(4) == 0)
              plan.offloaded_layers =
                  static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(layers + 1)));
            if (plan.recompute == Recompute::Full && random.below(3) == 0)
              plan.recomputed_layers = static_cast<std::int64_t>(
                  random.below(static_cast<std::uint64_t>(layers / plan.virtual_stages + 1)));
            const auto prediction = predict_physical(model, plan, profile, stack);
            REQUIRE(prediction);
            const IterationTimes expected = fast_iteration_times(prediction->work);
            CAPTURE(stack.name);
            CAPTURE(plan.tensor);
            CAPTURE(plan.pipeline);
            CAPTURE(plan.virtual_stages);
            CAPTURE(plan.offloaded_layers);
            CAPTURE(plan.recomputed_layers);
            CAPTURE(plan.num_micro_batches());
            CAPTURE(std::string(name_of(plan.schedule)));
            timer.select(plan);
            const double bound = timer.lower_bound().count();
            const double iteration = timer.iteration().count();
            CHECK(iteration == expected.iteration.count());
            CHECK(bound <= iteration);
            const Breakdown breakdown = timer.breakdown();
            CHECK(breakdown.compute == expected.breakdown.compute);
            CHECK(breakdown.tensor_comm == expected.breakdown.tensor_comm);
            CHECK(breakdown.pipeline_comm == expected.breakdown.pipeline_comm);
            CHECK(breakdown.data_comm == expected.breakdown.data_comm);
            CHECK(breakdown.optimizer == expected.breakdown.optimizer);
            CHECK(breakdown.bubble == expected.breakdown.bubble);
            ++num_checked;
            if (bound > 0.98 * iteration) ++num_tight;
          }
        }
      }
    }
  }
  CHECK(num_checked > 1500);
  // A bound that is far below helps no search.
  CHECK(num_tight > num_checked * 9 / 10);
}

}  // namespace
}  // namespace vtrain
