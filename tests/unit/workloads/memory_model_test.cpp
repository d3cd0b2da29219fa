#include "workloads/memory_model.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "workloads/stage_order.hpp"

namespace vtrain {
namespace {

const GpuProfile& a100() {
  static const GpuProfile profile = load_gpu_profile("a100").value();
  return profile;
}

/// h = 1024, a = 16, s = 512, V = 50,000, 8 layers.
const TransformerModel kModel{"", 8, 1024, 16, 512, 50'000};

TEST_CASE("memory_model: parameters of the stages") {
  // A layer: 12 x 1024^2 + 13 x 1024 = 12,596,224. Word embedding: 51,200,000. Positions: 524,288.
  const ParallelPlan whole{.tensor = 1, .data = 1, .pipeline = 1, .global_batch = 8, .micro_batch = 1};
  CHECK(stage_parameters(kModel, whole, 0) == 8 * 12'596'224.0 + 51'200'000 + 524'288);
  const ParallelPlan split{.tensor = 2, .data = 1, .pipeline = 4, .global_batch = 8, .micro_batch = 1};
  CHECK(stage_parameters(kModel, split, 0) == 12'596'224.0 + 25'600'000 + 524'288);
  CHECK(stage_parameters(kModel, split, 1) == 12'596'224.0);
  CHECK(stage_parameters(kModel, split, 3) == 12'596'224.0 + 25'600'000);
}

TEST_CASE("memory_model: without recomputation a layer keeps 34 + 5 a s / h bytes an element") {
  // s b h = 512 x 2 x 1024 = 1,048,576; 5 a s / h = 5 x 16 x 512 / 1024 = 40. Eight layers, one micro-batch
  // in flight, and the mask of the embedding.
  const ParallelPlan plan{.tensor = 1,
                          .data = 1,
                          .pipeline = 1,
                          .global_batch = 8,
                          .micro_batch = 2,
                          .recompute = Recompute::None};
  const StageMemory memory = stage_memory(kModel, plan, 0, a100());
  CHECK(memory.activations.value == 1'048'576.0 * (8 * 74 + 1));
  // The head: 4 s b h + 8 s b V.
  CHECK(memory.working_set.value == 4 * 1'048'576.0 + 8 * 1024.0 * 50'000);
  CHECK(memory.model_state.value == 16 * stage_parameters(kModel, plan, 0));
  CHECK(memory.reserve.value == 2e9);
}

TEST_CASE("memory_model: tensor parallelism divides all but 10 bytes an element") {
  const ParallelPlan plan{.tensor = 4,
                          .data = 1,
                          .pipeline = 2,
                          .global_batch = 8,
                          .micro_batch = 2,
                          .recompute = Recompute::None};
  // Stage 1: one micro-batch in flight, four layers of 10 + 24 / 4 + 40 / 4 = 26.
  CHECK(stage_memory(kModel, plan, 1, a100()).activations.value == 1'048'576.0 * 4 * 26);
}

TEST_CASE("memory_model: with recomputation a layer keeps its input, for every micro-batch in flight") {
  const ParallelPlan plan{.tensor = 1,
                          .data = 1,
                          .pipeline = 4,
                          .global_batch = 16,
                          .micro_batch = 2,
                          .recompute = Recompute::Full};
  // Two layers of 2 s b h. Eight micro-batches, of which stage 1 holds 4 - 1 = 3.
  const StageMemory memory = stage_memory(kModel, plan, 1, a100());
  CHECK(memory.activations.value == 3 * 2 * 2 * 1'048'576.0);
  CHECK(memory.working_set.value == 74 * 1'048'576.0);
  // No more than there are micro-batches.
  ParallelPlan few = plan;
  few.global_batch = 4;
  CHECK(stage_memory(kModel, few, 1, a100()).activations.value == 2 * 2 * 2 * 1'048'576.0);
}

TEST_CASE("memory_model: the estimate is that of the fullest stage") {
  ParallelPlan plan{.tensor = 1,
                    .data = 1,
                    .pipeline = 8,
                    .global_batch = 64,
                    .micro_batch = 4,
                    .recompute = Recompute::None};
  for (const std::int64_t micro_batch : {1, 4, 16}) {
    plan.micro_batch = micro_batch;
    MemoryEstimate expected;
    for (std::int64_t stage = 0; stage < plan.pipeline; ++stage) {
      const Bytes total = stage_memory(kModel, plan, stage, a100()).total();
      if (total > expected.peak) {
        expected.peak = total;
        expected.stage = stage;
      }
    }
    const MemoryEstimate estimate = estimate_memory(kModel, plan, a100());
    CHECK(estimate.peak == expected.peak);
    CHECK(estimate.stage == expected.stage);
    CHECK(estimate.capacity.value == 80e9);
    CHECK(estimate.fits());
  }
}

/// Most chunks of one micro-batch that a stage holds at once, by walking through its order.
std::int64_t most_chunks_held(const ParallelPlan& plan, std::int64_t stage) {
  const PipelineShape shape{plan.pipeline, plan.virtual_stages, plan.num_micro_batches()};
  const Pass release = splits_backward(plan.schedule) ? Pass::Weight : Pass::Backward;
  std::int64_t held = 0;
  std::int64_t most = 0;
  for (const BlockLoop& loop : stage_order(plan.schedule, shape, stage)) {
    for (std::int64_t i = 0; i < loop.repeats; ++i) {
      for (const StageBlock& block : loop.blocks) {
        if (block.pass == Pass::Forward) ++held;
        most = std::max(most, held);
        if (block.pass == release) --held;
      }
    }
  }
  return most;
}

TEST_CASE("memory_model: activations in flight are those of the schedule's order") {
  const TransformerModel model{"", 24, 64, 8, 32, 100};
  int num_plans = 0;
  for (const Schedule schedule : {Schedule::OneForwardOneBackward, Schedule::ZeroBubble, Schedule::GPipe}) {
    for (const std::int64_t pipeline : {1, 2, 3, 4, 6}) {
      for (const std::int64_t virtual_stages : {1, 2, 4}) {
        for (const std::int64_t micro_batches : {1, 2, 3, 4, 6, 12, 24}) {
          const ParallelPlan plan{.pipeline = pipeline,
                                  .global_batch = micro_batches,
                                  .micro_batch = 1,
                                  .recompute = Recompute::Full,
                                  .virtual_stages = virtual_stages,
                                  .schedule = schedule};
          if (!check_plan(model, plan)) continue;
          ++num_plans;
          for (std::int64_t stage = 0; stage < pipeline; ++stage) {
            CAPTURE(name_of(schedule));
            CAPTURE(pipeline);
            CAPTURE(virtual_stages);
            CAPTURE(micro_batches);
            CAPTURE(stage);
            // A layer keeps its input, 2 x 32 x 64 bytes.
            const double chunk = 4096.0 * 24 / static_cast<double>(pipeline * virtual_stages);
            const double kept =
                stage_memory(model, plan, stage, a100(), kMegatronCoreMemory).activations.value;
            CHECK(kept == doctest::Approx(chunk * static_cast<double>(most_chunks_held(plan, stage))));
          }
        }
      }
    }
  }
  CHECK(num_plans > 50);
}

}  // namespace
}  // namespace vtrain
