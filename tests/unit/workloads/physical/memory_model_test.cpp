#include "workloads/physical/memory_model.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/unit/workloads/plain_a100.hpp"
#include "workloads/layers/layer_shape.hpp"
#include "workloads/pipeline/schedule.hpp"

namespace vtrain {
namespace {

using testing::a100;

/// A model with h = 1024, a = 16, s = 512, V = 50,000, 8 layers.
const TransformerModel kModel{"", 8, 1024, 16, 512, 50'000};

TEST_CASE("memory_model: parameters of the stages") {
  // A layer: 12 x 1024^2 + 13 x 1024 = 12,596,224. Word embedding: 51,200,000. Positions: 524,288.
  const ParallelPlan whole{.tensor = 1, .data = 1, .pipeline = 1, .global_batch = 8, .micro_batch = 1};
  CHECK(stage_parameters(kModel, whole, 0).total() == 8 * 12'596'224.0 + 51'200'000 + 524'288);
  // Two layers a stage, of which each GPU has half, but for two norms of 2 x 1024.
  const double layers = 12'596'224.0 + 4'096;
  const ParallelPlan split{.tensor = 2, .data = 1, .pipeline = 4, .global_batch = 8, .micro_batch = 1};
  CHECK(stage_parameters(kModel, split, 0).total() == layers + 25'600'000 + 524'288);
  CHECK(stage_parameters(kModel, split, 1).total() == layers);
  CHECK(stage_parameters(kModel, split, 3).total() == layers + 25'600'000);
}

TEST_CASE("memory_model: multi-token prediction has a copy of the embedding on the last of several stages") {
  TransformerModel model = kModel;
  model.tied_embeddings = false;
  ParallelPlan plan{.tensor = 2, .data = 1, .pipeline = 4, .global_batch = 8, .micro_batch = 1};
  model.prediction.depth = 1;
  const double untied = stage_parameters(model, plan, 3).total();
  const double first = stage_parameters(model, plan, 0).total();
  model.tied_embeddings = true;
  CHECK(untied - stage_parameters(model, plan, 3).total() == 25'600'000);
  CHECK(first == stage_parameters(model, plan, 0).total());
  plan = {.tensor = 2, .data = 1, .pipeline = 1, .global_batch = 8, .micro_batch = 1};
  const double tied = stage_parameters(model, plan, 0).total();
  model.tied_embeddings = false;
  CHECK(stage_parameters(model, plan, 0).total() - tied == 25'600'000);  // the output layer, no further copy
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
  CHECK(memory.model_state.value == 16 * stage_parameters(kModel, plan, 0).total());
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
  // All of a layer, 34 + 40, but for the input that is kept already.
  CHECK(memory.working_set.value == 72 * 1'048'576.0);
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
    CHECK(estimate.capacity == a100().memory_capacity);
    CHECK(estimate.fits());
  }
}

/// A model with h = 1024, 16 heads of 64 with 4 of keys, gated MLP of 3,000, no biases; s = 512, V = 50,000,
/// 8 layers.
TransformerModel llama() {
  TransformerModel model = kModel;
  model.num_kv_heads = 4;
  model.ffn_size = 3000;
  model.activation = Activation::SwiGlu;
  model.normalization = Normalization::RmsNorm;
  model.positions = Positions::Rotary;
  model.tied_embeddings = false;
  model.has_bias = false;
  return model;
}

TEST_CASE("memory_model: fused attention and a gated MLP, split by sequence and tensor parallelism") {
  const ParallelPlan plan{.tensor = 4,
                          .pipeline = 2,
                          .global_batch = 8,
                          .micro_batch = 2,
                          .recompute = Recompute::None,
                          .sequence_parallel = true};
  // T = 1,024 tokens. Norms and inputs 8 h / 4 = 2,048; queries, keys and values 2 (1024 + 2 x 256) / 4 =
  // 768; attention's output 512; MLP 2 x 3 x 3000 / 4 = 4,500; logarithms of sums 4 x 16 / 4 = 16.
  const StageMemory first = stage_memory(llama(), plan, 0, a100(), kMegatronCoreMemory);
  CHECK(first.activations.value == 2 * 4 * 1024 * (2'048 + 768 + 512 + 4'500 + 16.0));
  // The layer's gradients: of its output 2 h / 4 and gathered 2 h, inside 2 x 2 x 3000 / 4.
  CHECK(first.working_set.value == 1024 * (512 + 2'048 + 3'000.0));
  // The head: the loss, 6 x 50,000 / 4 a token and 4 h / 4; or gradients of the logits 2 x 50,000 / 4, 4 h,
  // 6 h / 4, and the placeholder 2 x 50,000 x 1024 / 4.
  const StageMemory last = stage_memory(llama(), plan, 1, a100(), kMegatronCoreMemory);
  const double loss = 1024 * (75'000 + 1'024.0);
  const double output_layer = 1024 * (25'000 + 4'096 + 1'536.0) + 25'600'000;
  CHECK(last.working_set.value == std::max(loss, output_layer));
  // A layer: 1024 (1024 + 512) + 1024^2 + 3 x 1024 x 3000 = 11,837,440, and norms 2 x 1024 on every GPU.
  // Weights 2, gradients 4, Adam 12; placeholders 2 of one layer.
  const double layer = 11'837'440.0 / 4 + 2'048;
  CHECK(last.model_state.value == 18 * (4 * layer + 12'800'000) + 2 * layer);
  CHECK(last.fragmentation.value == doctest::Approx(0.048 * last.used().value));
}

TEST_CASE("memory_model: what selective and full recomputation keep") {
  ParallelPlan plan{.global_batch = 2, .micro_batch = 2, .recompute = Recompute::Selective};
  // Unfused attention: all but the scores. 34 bytes an element, and the embedding's mask.
  const StageMemory unfused = stage_memory(kModel, plan, 0, a100());
  CHECK(unfused.activations.value == 1'048'576.0 * (8 * 34 + 1));
  // The scores are computed again, one layer's at a time: 40 bytes an element, less than the head.
  CHECK(unfused.working_set.value == 4 * 1'048'576.0 + 8 * 1024.0 * 50'000);
  // Every second product, T = 1,024: input 2 h; half of 2 (1024 + 512 + 2 x 3000 + 2 x 1024) = 9,584;
  // attention's output 2 h; 4 x 16.
  const StageMemory torch = stage_memory(llama(), plan, 0, a100(), kTorchTitanMemory);
  CHECK(torch.activations.value == 8 * 1024 * (2'048 + 9'584 + 2'048 + 64.0));
  plan.recompute = Recompute::Full;
  CHECK(stage_memory(llama(), plan, 0, a100(), kTorchTitanMemory).activations.value == 8 * 1024 * 2'048.0);
}

TEST_CASE("memory_model: 8-bit products keep narrow inputs, single precision keeps wide ones") {
  ParallelPlan plan{.pipeline = 2, .global_batch = 2, .micro_batch = 2, .recompute = Recompute::None};
  plan.precision = Precision::Fp8;
  // Norms 4 h, inputs 2 h; 2 (1024 + 512); attention's output 3 h; MLP (2 x 2 + 1) 3000; 4 x 16.
  CHECK(stage_memory(llama(), plan, 0, a100(), kMegatronCoreMemory).activations.value ==
        4 * 1024 * (6'144 + 3'072 + 3'072 + 15'000 + 64.0));
  plan.precision = Precision::Fp32;
  // Twice of bf16's 8 h + 2 (1024 + 512) + 2 h + 2 x 3 x 3000, and the logarithms.
  const StageMemory wide = stage_memory(llama(), plan, 0, a100(), kMegatronCoreMemory);
  CHECK(wide.activations.value == 4 * 1024 * (2 * (8'192 + 3'072 + 2'048 + 18'000) + 64.0));
  // Weight 4, gradient 4 and two moments of 4; placeholders.
  const double layer = 11'839'488;
  CHECK(wide.model_state.value == 16 * (4 * layer + 51'200'000) + 2 * layer);
}

TEST_CASE(
    "memory_model: of unfused scores the softmax is kept and, with dropout, its mask and what it leaves") {
  TransformerModel model = kModel;
  ParallelPlan plan{.global_batch = 8, .micro_batch = 4, .recompute = Recompute::None};
  const auto kept = [&](std::optional<Dropout> dropout, bool keeps_scores = true) {
    model.dropout = dropout;
    const MemoryRules rules{.keeps_scores = keeps_scores};
    return stage_memory(model, plan, 0, a100(), rules).activations.value;
  };
  const double layers = real(model.num_layers);
  const double scores = layers * 4 * real(model.num_heads * model.sequence_length * model.sequence_length);
  const double rows = scores / real(model.sequence_length);
  const auto of_scores = [&](bool attention) {
    const Dropout dropout{.attention = attention, .hidden = true};
    return kept(dropout) - kept(dropout, false) + 4 * rows;
  };
  CHECK(of_scores(true) == 5 * scores);
  CHECK(of_scores(false) == 2 * scores);
  // A model that does not say is trained as the rules have it; after the embedding and in both halves of a
  // layer a mask is kept.
  CHECK(kept(std::nullopt) == kept(Dropout{.attention = true, .hidden = true}));
  const double hidden = 4 * real(model.sequence_length * model.hidden_size);
  CHECK(kept(Dropout{.hidden = true}) - kept(Dropout{}) == (2 * layers + 1) * hidden);
  plan.precision = Precision::Fp32;
  CHECK(of_scores(true) == 9 * scores);
  CHECK(of_scores(false) == 4 * scores);
}

TEST_CASE("memory_model: each further prediction holds its logits and the activations of its layer") {
  const ParallelPlan plan{.tensor = 2, .global_batch = 8, .micro_batch = 4};
  TransformerModel model = kModel;
  const MemoryRules rules{.dropout = {}, .loss_bytes = 6};
  const StageMemory one = stage_memory(model, plan, 0, a100(), rules);
  model.prediction.depth = 2;
  const StageMemory three = stage_memory(model, plan, 0, a100(), rules);
  CHECK(three.working_set.value - one.working_set.value == 2 * 6 * 2048.0 * 25'000);
  // Beside the eight layers each of two more predictions has one.
  CHECK(three.activations.value == doctest::Approx(one.activations.value * 10 / 8));
}

TEST_CASE("memory_model: every GPU of a tensor-parallel group has the whole router and the norms") {
  TransformerModel model = llama();
  model.experts = {.num_experts = 16, .top_k = 4, .expert_ffn_size = 500};
  const auto parameters = [&](std::int64_t tensor) {
    const ParallelPlan plan{.tensor = tensor, .global_batch = 8, .micro_batch = 1, .expert_tensor = tensor};
    return stage_parameters(model, plan, 0).total();
  };
  CHECK(2 * parameters(2) - parameters(1) == 8 * (16 + 2) * 1024.0);
}

TEST_CASE("memory_model: what sharding divides") {
  ParallelPlan plan{
      .data = 4, .global_batch = 8, .micro_batch = 1, .recompute = Recompute::Full, .context = 2};
  MemoryRules rules = kMegatronCoreMemory;
  rules.keeps_gradient_placeholders = false;
  const double layer = 11'839'488;
  const double parameters = 8 * layer + 2 * 51'200'000.0;
  const auto state = [&] { return stage_memory(llama(), plan, 0, a100(), rules).model_state.value; };
  CHECK(stage_parameters(llama(), plan, 0).total() == parameters);
  CHECK(state() == 18 * parameters);
  plan.sharding = Sharding::Optimizer;
  CHECK(state() == (2 + 4 + 12.0 / 8) * parameters);
  plan.sharding = Sharding::Full;
  // Two layers gathered, gradients of one, both embeddings.
  CHECK(state() == 2 * parameters + 8 * layer + 2 * 102'400'000);
  // All layers gathered.
  plan.sharding = Sharding::Gradients;
  CHECK(state() == 2 * parameters + 2 * parameters + 4 * layer);
  plan.pipeline = 2;
  const double half = 4 * layer + 51'200'000.0;
  CHECK(state() == 2 * half + 6 * half);  // weights stay gathered, gradients whole
  plan.sharding = Sharding::Full;
  CHECK(state() == 2 * half + 6 * half);
}

TEST_CASE("memory_model: experts are spread over GPUs of all replicas") {
  TransformerModel model = llama();
  model.experts = {
      .num_experts = 16, .top_k = 4, .expert_ffn_size = 500, .shared_ffn_size = 250, .num_dense_layers = 2};
  const ParallelPlan plan{.data = 8,
                          .global_batch = 8,
                          .micro_batch = 1,
                          .recompute = Recompute::None,
                          .expert = 4,
                          .sharding = Sharding::Optimizer};
  // An expert 3 x 1024 x 500; on a GPU 16 / 4 of them in six layers.
  const double routed = 6 * 4 * 1'536'000.0;
  const double attention = 1024 * 1536 + 1024 * 1024;
  const double shared = 8 * (attention + 2048) + 2 * 9'216'000 + 6 * (768'000 + 16'384.0) + 102'400'000;
  CHECK(stage_parameters(model, plan, 0).total() == routed + shared);
  // Each expert has 8 / 4 = 2 replicas. Placeholders: attention, both kinds of MLP, one expert.
  const StageMemory memory = stage_memory(model, plan, 0, a100(), kMegatronCoreMemory);
  const double placeholders = attention + 2048 + 9'216'000 + 768'000 + 1'536'000;
  CHECK(memory.model_state.value ==
        6 * (routed + shared) + 12 * (shared / 8 + routed / 2) + 2 * placeholders);
  // T = 512. Attention and norms 8 h + 2 (1024 + 512) + 2 h + 64; dense MLP 6 x 3000; with experts 6 x 250
  // shared, four rows a token of 2 h + 6 x 500, and 13 x 16 of the router.
  const double rest = 8'192 + 3'072 + 2'048 + 64;
  CHECK(memory.activations.value == 512 * (8 * rest + 2 * 18'000 + 6 * (1'500 + 4 * (2'048 + 3'000) + 208)));
  // Experts with room for twice as many rows hold as many.
  model.experts.capacity_factor = 2;
  const StageMemory roomy = stage_memory(model, plan, 0, a100(), kMegatronCoreMemory);
  CHECK(roomy.activations.value - memory.activations.value == 512 * 6 * 4 * (2'048 + 3'000.0));
}

TEST_CASE("memory_model: with fused attention a window changes nothing") {
  TransformerModel model = llama();
  const ParallelPlan plan{
      .pipeline = 4, .global_batch = 8, .micro_batch = 1, .recompute = Recompute::Selective};
  const MemoryEstimate whole = estimate_memory(model, plan, a100(), kMegatronCoreMemory);
  model.window = {.size = 128, .full_every = 2};
  const MemoryEstimate windowed = estimate_memory(model, plan, a100(), kMegatronCoreMemory);
  CHECK(windowed.peak == whole.peak);
  CHECK(windowed.stage == whole.stage);
}

TEST_CASE("memory_model: halves of layers keep their inputs and what they compute") {
  TransformerModel model = llama();
  model.layer_pattern = "M*-EM*-E";
  model.experts = {.num_experts = 16, .top_k = 4, .expert_ffn_size = 500, .latent_size = 256};
  model.state_space = {.num_heads = 16, .head_size = 64, .state_size = 32, .num_groups = 4};
  const ParallelPlan plan{.global_batch = 8, .micro_batch = 1, .recompute = Recompute::None};
  REQUIRE(check_plan(model, plan));
  const StageMemory memory = stage_memory(model, plan, 0, a100(), kMegatronCoreMemory);
  // T = 512, h = 1024; every half keeps 4 h. State space: inner 1024, projection 2 x 1024 + 2 x 4 x 32 + 16 =
  // 2320; kept is 2 x (2320 + 1024 + 1024). Attention 2 (1024 + 512) + 2 h + 64; MLP 6 x 3000; experts four
  // rows of 2 x 256 + 6 x 500, 13 x 16 of the router, and 2 x 256 on the way back.
  const double halves = 4 * 4'096 + 8'736 + (3'072 + 2'048 + 64) + 18'000 + (4 * 3'512 + 208 + 512);
  CHECK(memory.activations.value == 512 * 2 * halves);
  // In 8 bits the inputs of the products after the norms and the scan are narrow: of M 1024 + 1024 columns.
  ParallelPlan narrow = plan;
  narrow.precision = Precision::Fp8;
  TransformerModel scans = model;
  scans.layer_pattern = "MMMMMMMM";
  const double wide = stage_memory(scans, plan, 0, a100(), kMegatronCoreMemory).activations.value;
  CHECK(wide - stage_memory(scans, narrow, 0, a100(), kMegatronCoreMemory).activations.value ==
        512 * 8 * 2'048.0);
  // A pattern may put the fullest stage anywhere: the estimate looks at all of them.
  ParallelPlan staged = plan;
  staged.pipeline = 4;
  const MemoryEstimate estimate = estimate_memory(model, staged, a100(), kMegatronCoreMemory);
  for (std::int64_t stage = 0; stage < 4; ++stage)
    CHECK(stage_memory(model, staged, stage, a100(), kMegatronCoreMemory).total() <= estimate.peak);
}

TEST_CASE("memory_model: recomputation of norms and activations, or of experts") {
  TransformerModel model = llama();
  model.experts = {.num_experts = 16, .top_k = 4, .expert_ffn_size = 500};
  const ParallelPlan none{.global_batch = 8, .micro_batch = 1, .recompute = Recompute::None};
  ParallelPlan plan = none;
  plan.recompute = Recompute::Selective;
  const auto kept = [&](SelectiveRecompute rule) {
    MemoryRules rules = kMegatronCoreMemory;
    rules.selective = rule;
    return stage_memory(model, plan, 0, a100(), rules).activations.value;
  };
  const double full = stage_memory(model, none, 0, a100(), kMegatronCoreMemory).activations.value;
  // 512 tokens, 8 layers: outputs of two norms of 1024 columns, and four rows of 500 columns, of 2 bytes.
  CHECK(full - kept(SelectiveRecompute::NormsAndActivations) == 512 * 8 * (2 * 2'048 + 4 * 1'000.0));
  // One norm's output, four rows of 1024 columns and three times 500, and 13 bytes for each of 16 scores.
  CHECK(full - kept(SelectiveRecompute::Experts) == 512 * 8 * (2'048 + 4 * (2'048 + 3'000) + 208.0));
  CHECK(full - kept(SelectiveRecompute::Activations) == 512 * 8 * 4 * 1'000.0);
  // Of every second product half of its columns: gate and value of shared experts of 300 columns are 600.
  const double without_shared = kept(SelectiveRecompute::EverySecondProduct);
  model.experts.shared_ffn_size = 300;
  CHECK(kept(SelectiveRecompute::EverySecondProduct) - without_shared == 512 * 8 * 2 * 300.0);
  model.experts.shared_ffn_size = 0;
  // Gate and value of the experts, in the memory of the CPU.
  MemoryRules rules = kMegatronCoreMemory;
  rules.offloads_expert_inputs = true;
  CHECK(full - stage_memory(model, none, 0, a100(), rules).activations.value == 512 * 8 * 4 * 2'000.0);
}

TEST_CASE("memory_model: in a layer with experts the first product and every second one after it are kept") {
  TransformerModel model = llama();
  model.experts = {.num_experts = 16, .top_k = 4, .expert_ffn_size = 500};
  ParallelPlan plan{.data = 8, .global_batch = 8, .micro_batch = 1, .recompute = Recompute::Selective};
  const auto kept = [&] { return stage_memory(model, plan, 0, a100(), kTorchTitanMemory).activations.value; };
  // Eight layers of T = 512. The input has 1024 columns, queries 1024, keys and values 256 each. Kept are the
  // input, queries, values and attention's output, not keys and its projection; 4 x 16 logarithms of sums.
  CHECK(kept() == 512 * 8 * (2 * (1024 + 1024 + 256 + 1024) + 64.0));
  // Of shared experts of 300 columns the fifth and the seventh product: a half before the non-linearity, 300,
  // and the output, 1024.
  model.experts.shared_ffn_size = 300;
  const double alone = kept();
  CHECK(alone == 512 * 8 * (2 * (1024 + 1024 + 256 + 1024 + 300 + 1024) + 64.0));
  // Four rows of 1024 columns arrive at the experts, and four come back.
  plan.expert = 4;
  CHECK(kept() - alone == 512 * 8 * 2 * (4 + 4) * 1024.0);
  // Two GPUs split columns, but for the sums over both that their reduce-scatters take; these leave half of
  // the tokens, as in the input.
  plan = {.tensor = 2,
          .data = 4,
          .global_batch = 4,
          .micro_batch = 1,
          .recompute = Recompute::Selective,
          .sequence_parallel = true};
  CHECK(kept() == 512 * 8 * (2 * (3 * 512 + 512 + 128 + 512 + 150 + 1024) + 32.0));
  // Latent attention has five products. Kept are the compressed queries (256), the compressed keys and values
  // (128 + 32), the projection (1024), and the second half of the shared experts' columns (300).
  plan = {.data = 8, .global_batch = 8, .micro_batch = 1, .recompute = Recompute::Selective};
  model.num_kv_heads = 0;
  model.latent = {.query_rank = 256,
                  .kv_rank = 128,
                  .plain_head_size = 64,
                  .rotary_head_size = 32,
                  .value_head_size = 64};
  CHECK(kept() == 512 * 8 * (2 * (1024 + 256 + 160 + 1024 + 1024 + 300) + 64.0));
  // Four without compressed queries. Kept are queries of 16 x 96, plain keys and values of 16 x (64 + 64),
  // and again the first half of the shared experts' columns and their output.
  model.latent.query_rank = 0;
  CHECK(kept() == 512 * 8 * (2 * (1024 + 1536 + 2048 + 1024 + 300 + 1024) + 64.0));
}

TEST_CASE("memory_model: torchtitan keeps the rows of routed experts in single precision") {
  TransformerModel model = llama();
  model.experts = {.num_experts = 16, .top_k = 4, .expert_ffn_size = 500};
  // The first of two stages, which has no head: four layers, two micro-batches in flight.
  ParallelPlan plan{.pipeline = 2, .global_batch = 8, .micro_batch = 1, .recompute = Recompute::None};
  const StageMemory half = stage_memory(model, plan, 0, a100(), kFsdp2Memory);
  const StageMemory single = stage_memory(model, plan, 0, a100(), kTorchTitanMemory);
  // T = 512, four rows of 1024 columns and 4 bytes; of one layer their gradients too.
  const double rows = 512 * 4 * 1024 * 4.0;
  CHECK(single.activations.value - half.activations.value == 2 * 4 * rows);
  CHECK(single.working_set.value - half.working_set.value == rows);
  // Recomputed layers have them one after the other.
  plan.recompute = Recompute::Full;
  const StageMemory again_half = stage_memory(model, plan, 0, a100(), kFsdp2Memory);
  const StageMemory again_single = stage_memory(model, plan, 0, a100(), kTorchTitanMemory);
  CHECK(again_single.activations == again_half.activations);
  CHECK(again_single.working_set.value - again_half.working_set.value == 2 * rows);
}

TEST_CASE("memory_model: a loss in parts holds the logits of one part") {
  TransformerModel model = llama();
  model.sequence_length = 32'768;
  ParallelPlan plan{.pipeline = 2, .global_batch = 1, .micro_batch = 1, .recompute = Recompute::Full};
  MemoryRules rules{.keeps_scores = false, .loss_bytes = 14};
  const auto head = [&] { return stage_memory(model, plan, 1, a100(), rules).working_set.value; };
  // T = 32,768: 4 h a token and 14 bytes for each of 50,000 logits.
  CHECK(head() == 32'768 * (4'096 + 14 * 50'000.0));
  // Logits of 25,600 tokens, and 50,000 x 1,024 weights and their gradient in single precision.
  rules.loss_tokens = 25'600;
  CHECK(head() == 32'768 * 4'096.0 + 25'600 * 14 * 50'000.0 + 8 * 51'200'000.0);
  // A part is no longer than the micro-batch.
  rules.loss_tokens = 40'000;
  CHECK(head() == 32'768 * (4'096 + 14 * 50'000.0) + 8 * 51'200'000.0);
}

TEST_CASE("memory_model: experts are sharded over the replicas that hold them, weights within a domain") {
  const auto check_group = [](GpuGroup group, std::int64_t size, std::int64_t per_node) {
    CHECK(group.size == size);
    CHECK(group.per_node == per_node);
  };
  const ShardingGroups all = sharding_groups(a100(), 16, 2, 4, 1);
  check_group(all.shared, 16, 4);
  check_group(all.routed, 8, 2);
  const ShardingGroups inside = sharding_groups(a100(), 16, 2, 4, 4);
  check_group(inside.shared, 4, 4);
  check_group(inside.routed, 2, 2);
  check_group(replicate_group(a100(), 16, 2, 4), 4, 1);
  CHECK(sharding_groups(a100(), 4, 2, 64, 1).routed.size == 1);

  // Four bytes of a parameter over the eight GPUs of a set instead of all 32; of the routed experts over the
  // two with the same ones instead of eight.
  TransformerModel model = llama();
  model.experts = {.num_experts = 16, .top_k = 4, .expert_ffn_size = 500};
  ParallelPlan plan{.data = 32,
                    .global_batch = 32,
                    .micro_batch = 1,
                    .recompute = Recompute::None,
                    .expert = 4,
                    .sharding = Sharding::Full};
  const auto state = [&](const MemoryRules& rules) {
    return stage_memory(model, plan, 0, a100(), rules).model_state.value;
  };
  const double everywhere = state(kMegatronCoreMemory);
  const double everywhere_in_pytorch = state(kTorchTitanMemory);
  plan.replicate = 4;
  const double routed = 8 * 4 * 1'536'000;
  const double shared = stage_parameters(model, plan, 0).total() - routed;
  const double more = shared * (1 / 8.0 - 1 / 32.0) + routed * (1 / 2.0 - 1 / 8.0);
  CHECK(state(kMegatronCoreMemory) - everywhere == 4 * more);
  // PyTorch keeps the optimizer's twelve bytes there too.
  CHECK(state(kTorchTitanMemory) - everywhere_in_pytorch == 16 * more);
  // In single precision weights and gradients have eight.
  plan.precision = Precision::Fp32;
  const double in_sets = state(kMegatronCoreMemory);
  plan.replicate = 1;
  CHECK(in_sets - state(kMegatronCoreMemory) == 8 * more);
}

TEST_CASE("memory_model: GPUs that share an expert hold their part of it and take each other's tokens") {
  TransformerModel model = llama();
  model.experts = {.num_experts = 16, .top_k = 4, .expert_ffn_size = 500};
  ParallelPlan plan{.data = 8,
                    .global_batch = 8,
                    .micro_batch = 1,
                    .recompute = Recompute::None,
                    .expert = 4,
                    .sharding = Sharding::Optimizer};
  const StageMemory whole = stage_memory(model, plan, 0, a100(), kMegatronCoreMemory);
  const double whole_parameters = stage_parameters(model, plan, 0).total();
  plan.expert_tensor = 2;
  const StageMemory shared = stage_memory(model, plan, 0, a100(), kMegatronCoreMemory);
  // Eight layers of 4 experts of 3 x 1024 x 500 on a GPU, of which half is gone.
  const double gone = 8 * 4 * 1'536'000 / 2.0;
  CHECK(stage_parameters(model, plan, 0).total() == whole_parameters - gone);
  // One replica of half an expert takes the place of two of a whole: 12 bytes a weight on either. Half an
  // expert less is in the placeholders.
  CHECK(shared.model_state.value == whole.model_state.value - 6 * gone - 2 * 768'000);
  // T = 512, four rows a token: those of both GPUs of 2 h and 6 x 250, instead of its own of 2 h + 6 x 500.
  CHECK(shared.activations.value - whole.activations.value ==
        512 * 8 * 4 * (2 * (2'048.0 + 1'500) - (2'048 + 3'000)));
}

TEST_CASE("memory_model: activations in the memory of the CPU are not in the GPU's") {
  ParallelPlan plan{.global_batch = 1, .micro_batch = 1, .recompute = Recompute::None};
  const double all = stage_memory(llama(), plan, 0, a100(), kMegatronCoreMemory).activations.value;
  CHECK(offloaded_activations(llama(), plan, 0, kMegatronCoreMemory).value == 0);
  // Of eight layers six leave, one of them is on its way.
  plan.offloaded_layers = 6;
  CHECK(stage_memory(llama(), plan, 0, a100(), kMegatronCoreMemory).activations.value == all * 3 / 8);
  CHECK(offloaded_activations(llama(), plan, 0, kMegatronCoreMemory).value == all * 6 / 8);
  plan.offloaded_layers = 8;
  CHECK(stage_memory(llama(), plan, 0, a100(), kMegatronCoreMemory).activations.value == all / 8);
}

TEST_CASE("memory_model: layers that are not recomputed keep all") {
  // Two stages of two chunks of two layers; the second stage holds 3 of them at once (interleaved 1F1B).
  ParallelPlan plan{.pipeline = 2, .global_batch = 8, .micro_batch = 1, .virtual_stages = 2};
  const auto activations = [&](Recompute recompute, std::int64_t num_layers) {
    plan.recompute = recompute;
    plan.recomputed_layers = num_layers;
    return stage_memory(llama(), plan, 1, a100(), kMegatronCoreMemory).activations.value;
  };
  const double none = activations(Recompute::None, 0);
  const double all = activations(Recompute::Full, 0);
  CHECK(all < none / 4);
  CHECK(activations(Recompute::Full, 2) == all);
  CHECK(activations(Recompute::Full, 1) == (none + all) / 2);
}

TEST_CASE("memory_model: attention over parts of a sequence holds those of others, and partial outputs") {
  // T = 65,536 / 64 = 1,024 tokens a GPU, on the first of two stages, which has no head.
  TransformerModel model = llama();
  model.sequence_length = 65'536;
  ParallelPlan plan{.pipeline = 2, .global_batch = 1, .micro_batch = 1, .context = 64};
  const auto working_set = [&](const MemoryRules& rules) {
    return stage_memory(model, plan, 0, a100(), rules).working_set.value;
  };
  const std::int64_t others = 63 * (model.key_size() + model.value_size());
  const std::int64_t outputs = 64 * model.attention_output_size();
  CHECK(working_set(kMegatronCoreMemory) == 2.0 * 1'024 * static_cast<double>(others + outputs));
  CHECK(working_set(kTorchTitanMemory) == 2.0 * 1'024 * static_cast<double>(others));
  plan.tensor = 2;
  CHECK(working_set(kMegatronCoreMemory) == 1'024 * static_cast<double>(others + outputs));
}

TEST_CASE("memory_model: replicas under DistributedDataParallel hold their gradients twice") {
  ParallelPlan plan{.global_batch = 8, .micro_batch = 1, .recompute = Recompute::None};
  const MemoryRules rules{.gradient_bytes = 4, .copies_gradients = true};
  const auto state = [&] { return stage_memory(kModel, plan, 0, a100(), rules).model_state.value; };
  const double alone = state();
  plan.data = 8;
  CHECK(state() == alone + 4 * stage_parameters(kModel, plan, 0).total());
}

TEST_CASE("memory_model: of latent attention, what is made again is not kept") {
  TransformerModel model = llama();
  model.num_kv_heads = 0;
  model.latent = {.query_rank = 256,
                  .kv_rank = 128,
                  .plain_head_size = 64,
                  .rotary_head_size = 32,
                  .value_head_size = 64};
  REQUIRE(check_model(model));
  ParallelPlan plan{.global_batch = 1, .micro_batch = 1, .recompute = Recompute::None};
  const double all = stage_memory(model, plan, 0, a100(), kMegatronCoreMemory).activations.value;
  plan.recompute = Recompute::Selective;
  // Eight layers, T = 512, 2 bytes: 16 heads of queries and keys of 64 + 32 and values of 64.
  CHECK(stage_memory(model, plan, 0, a100(), kMegatronCoreMemory).activations.value ==
        all - 8 * 512 * 2 * 16 * (96 + 96 + 64.0));
}

TEST_CASE("memory_model: with fewer heads of keys than GPUs each GPU holds one") {
  ParallelPlan plan{
      .tensor = 8, .pipeline = 2, .global_batch = 1, .micro_batch = 1, .recompute = Recompute::None};
  // T = 512. Norms and inputs 8 h; queries 128, keys and values 64 each, not 32; attention 128; MLP 3000 / 8;
  // logarithms 4 x 2.
  CHECK(stage_memory(llama(), plan, 0, a100(), kMegatronCoreMemory).activations.value ==
        4 * 512 * (8'192 + 2 * (128 + 2 * 64) + 2 * 128 + 6 * 375 + 8.0));
}

TEST_CASE("memory_model: the fullest stage is found without looking at all of them") {
  TransformerModel model = llama();
  model.num_layers = 24;
  model.experts = {.num_experts = 8, .top_k = 2, .expert_ffn_size = 2000, .num_dense_layers = 7};
  int num_plans = 0;
  for (const bool has_experts : {false, true}) {
    if (!has_experts) model.experts = {};
    for (const std::int64_t pipeline : {1, 2, 3, 4, 6, 12, 13, 24}) {
      for (const std::int64_t virtual_stages : {1, 2}) {
        for (const Schedule schedule : {Schedule::OneForwardOneBackward, Schedule::ZeroBubble}) {
          ParallelPlan plan{.pipeline = pipeline,
                            .global_batch = 48,
                            .micro_batch = 2,
                            .recompute = Recompute::None,
                            .virtual_stages = virtual_stages,
                            .schedule = schedule};
          for (const bool ends : {false, true}) {
            plan.ends_count_as_layers = ends;
            if (!check_plan(model, plan)) continue;
            ++num_plans;
            MemoryEstimate expected;
            for (std::int64_t stage = 0; stage < pipeline; ++stage) {
              const Bytes total = stage_memory(model, plan, stage, a100(), kMegatronCoreMemory).total();
              if (total > expected.peak) expected = {total, Bytes(0), stage};
            }
            const MemoryEstimate estimate = estimate_memory(model, plan, a100(), kMegatronCoreMemory);
            CHECK(estimate.peak == expected.peak);
            CHECK(estimate.stage == expected.stage);
          }
        }
      }
    }
  }
  CHECK(num_plans > 20);
}

/// Largest number of chunks of one micro-batch that a stage holds at once, from a walk through its order.
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
  for (std::size_t row = 0; row < schedule_rules().size(); ++row) {
    const auto schedule = static_cast<Schedule>(row);
    CHECK(parse_schedule(name_of(schedule)).value() == schedule);
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
