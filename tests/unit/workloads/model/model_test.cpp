#include "workloads/model/model.hpp"

#include <doctest/doctest.h>

#include <string>

#include <fmt/format.h>

#include "workloads/model/layer_kinds.hpp"
#include "workloads/model/parallel_plan.hpp"
#include "workloads/model/zoo.hpp"

namespace vtrain {
namespace {

constexpr LayerKind kDenseLayer{Mixer::Attention, FeedForward::Mlp};
constexpr LayerKind kExpertsLayer{Mixer::Attention, FeedForward::Experts};

TransformerModel gpt() {
  return {.num_layers = 4, .hidden_size = 64, .num_heads = 8, .sequence_length = 32, .vocab_size = 100};
}

/// A model with grouped queries and gated MLP, without biases or tied embeddings.
TransformerModel llama() {
  TransformerModel model = gpt();
  model.num_kv_heads = 2;
  model.ffn_size = 96;
  model.activation = Activation::SwiGlu;
  model.normalization = Normalization::RmsNorm;
  model.positions = Positions::Rotary;
  model.tied_embeddings = false;
  model.has_bias = false;
  return model;
}

TransformerModel mixture() {
  TransformerModel model = llama();
  model.experts = {
      .num_experts = 6, .top_k = 2, .expert_ffn_size = 24, .shared_ffn_size = 48, .num_dense_layers = 1};
  return model;
}

TransformerModel latent() {
  TransformerModel model = llama();
  model.num_kv_heads = 0;
  model.latent = {
      .query_rank = 24, .kv_rank = 16, .plain_head_size = 12, .rotary_head_size = 4, .value_head_size = 10};
  return model;
}

std::string field_of_error(const TransformerModel& model) {
  const auto checked = check_model(model);
  return checked ? "" : checked.error().field;
}

TEST_CASE("model: GPT-3's weights are 12 h^2 + 13 h a layer, and the embeddings") {
  const TransformerModel model = gpt();
  // 12 x 64^2 + 13 x 64 = 49,984: attention 4 x 64^2 + 4 x 64, MLP 8 x 64^2 + 5 x 64, norms 4 x 64.
  const LayerWeights layer = layer_weights(model, kDenseLayer);
  CHECK(layer.attention == 16'640);
  CHECK(layer.mlp == 33'088);
  CHECK(layer.norms == 256);
  CHECK(layer.total() == 49'984);
  CHECK(model.num_parameters() == 4 * 49'984 + (100 + 32 + 2) * 64);
  CHECK(model.active_parameters() == model.num_parameters());
}

TEST_CASE("model: grouped queries, a gated MLP and an untied output layer") {
  const TransformerModel model = llama();
  // Queries 64 x 64, keys and values 64 x 16 each, output 64 x 64; MLP 3 x 64 x 96; norms of 64.
  const LayerWeights layer = layer_weights(model, kDenseLayer);
  CHECK(layer.attention == 10'240);
  CHECK(layer.mlp == 18'432);
  CHECK(layer.norms == 128);
  CHECK(model.num_parameters() == 4 * 28'800 + 2 * 100 * 64 + 64);
  TransformerModel biased = model;
  biased.has_qkv_bias = true;  // 64 + 16 + 16 a layer
  biased.has_qk_norm = true;   // two of 8 a layer
  CHECK(biased.num_parameters() == model.num_parameters() + 4 * (96 + 16));
}

TEST_CASE("model: of the routed experts a token passes some") {
  const TransformerModel model = mixture();
  // An expert 3 x 64 x 24 = 4,608, the shared ones 9,216, router 64 x 6 = 384. One dense layer, three others.
  const LayerWeights layer = layer_weights(model, kExpertsLayer);
  CHECK(layer.expert == 4'608);
  CHECK(layer.mlp == 9'216);
  CHECK(layer.router == 384);
  CHECK(layer.shared() == 10'240 + 9'216 + 384 + 128);
  CHECK(model.num_parameters() == 28'800 + 3 * (19'968 + 6 * 4'608) + 2 * 6'400 + 64);
  CHECK(model.active_parameters() == 28'800 + 3 * (19'968 + 2 * 4'608) + 2 * 6'400 + 64);
}

TEST_CASE("model: latent attention") {
  const TransformerModel model = latent();
  CHECK(model.query_size() == 8 * 16);
  CHECK(model.key_size() == 8 * 16);
  CHECK(model.value_size() == 80);
  // Queries 64 x 24, a norm of 24, 24 x 128; keys and values 64 (16 + 4), a norm of 16, 16 x 8 (12 + 10);
  // output 80 x 64.
  CHECK(layer_weights(model, kDenseLayer).compression == 1'536 + 24 + 1'280 + 16);
  CHECK(layer_weights(model, kDenseLayer).attention == 3'072 + 2'816 + 5'120);
  TransformerModel direct = model;
  direct.latent.query_rank = 0;  // queries 64 x 128
  CHECK(layer_weights(direct, kDenseLayer).compression == 1'280 + 16);
  CHECK(layer_weights(direct, kDenseLayer).attention == 8'192 + 2'816 + 5'120);
}

TEST_CASE("model: FLOPs are 6 a token and weight of a matrix product, and those of attention") {
  // GPT-3: 72 B s L h^2 (1 + s / (6 h) + V / (12 L h)) with B = 3, s = 32, L = 4, h = 64, V = 100.
  const double gpt_flops = 72.0 * 3 * 32 * 4 * 64 * 64 * (1 + 32.0 / (6 * 64) + 100.0 / (12 * 4 * 64));
  CHECK(model_flops(gpt(), 3).value == doctest::Approx(gpt_flops).epsilon(1e-12));
  // Half of attention's s / (6 h) is masked, nothing if tokens attend to those after them as well.
  const double whole = 1 + 32.0 / (6 * 64) + 100.0 / (12 * 4 * 64);
  CHECK(masked_share(gpt()) == doctest::Approx(32.0 / (12 * 64) / whole).epsilon(1e-12));
  TransformerModel encoder = gpt();
  encoder.is_bidirectional = true;
  CHECK(masked_share(encoder) == 0);
  // Weights of products a token passes: attention 4 x 10,240; the dense MLP 18,432; three times shared 9,216,
  // router 384 and two experts of 4,608. Attention: 4 layers x 32 x (64 + 64). Output layer 6,400.
  const double weights = 4 * 10'240 + 18'432 + 3 * (9'216 + 384 + 2 * 4'608) + 4 * 32 * 128 + 6'400;
  CHECK(model_flops(mixture(), 5).value == doctest::Approx(6.0 * 5 * 32 * weights).epsilon(1e-12));
}

TEST_CASE("model: what cannot be is an error that names the field") {
  CHECK(field_of_error(gpt()).empty());
  CHECK(field_of_error(llama()).empty());
  CHECK(field_of_error(mixture()).empty());
  CHECK(field_of_error(latent()).empty());
  TransformerModel model = llama();
  model.num_kv_heads = 3;
  CHECK(field_of_error(model) == "num_kv_heads");
  model = llama();
  model.num_heads = 6;
  model.num_kv_heads = 2;
  CHECK(field_of_error(model) == "num_heads");
  model.size_per_head = 10;
  CHECK(field_of_error(model).empty());
  model = llama();
  model.ffn_size = -1;
  CHECK(field_of_error(model) == "ffn_size");
  model = mixture();
  model.experts.top_k = 7;
  CHECK(field_of_error(model) == "experts.top_k");
  model = mixture();
  model.experts.expert_ffn_size = 0;
  CHECK(field_of_error(model) == "experts.expert_ffn_size");
  model = mixture();
  model.experts.num_dense_layers = 4;
  CHECK(field_of_error(model) == "experts.num_dense_layers");
  model = mixture();
  model.experts.capacity_factor = -1;
  CHECK(field_of_error(model) == "experts.capacity_factor");
  model = latent();
  model.latent.value_head_size = 0;
  CHECK(field_of_error(model) == "latent.value_head_size");
  model = latent();
  model.has_bias = true;
  CHECK(field_of_error(model) == "has_bias");
  // 10,000 layers x 16,384 experts x 3 x 2^20 x 2^22 would overflow 64 bits.
  model = mixture();
  model.num_layers = 10'000;
  model.hidden_size = 1 << 20;
  model.experts.num_experts = 1 << 14;
  model.experts.expert_ffn_size = 1 << 22;
  CHECK(field_of_error(model) == "num_layers");
}

TEST_CASE("parallel_plan: chunks are dealt out in rounds") {
  TransformerModel model = gpt();
  model.num_layers = 12;
  const ParallelPlan plan{.pipeline = 2, .global_batch = 4, .micro_batch = 1, .virtual_stages = 3};
  REQUIRE(check_plan(model, plan));
  std::int64_t next = 0;
  for (std::int64_t chunk = 0; chunk < 3; ++chunk) {
    for (std::int64_t stage = 0; stage < 2; ++stage) {
      const LayerRange range = chunk_layers(model, plan, stage, chunk);
      CHECK(range.first == next);
      CHECK(range.count == 2);
      next += range.count;
    }
  }
}

TEST_CASE("parallel_plan: embedding and output layer may count as layers") {
  TransformerModel model = gpt();
  model.num_layers = 126;
  ParallelPlan plan{.pipeline = 8, .global_batch = 8, .micro_batch = 1, .virtual_stages = 8};
  CHECK(check_plan(model, plan).error().field == "pipeline");
  plan.ends_count_as_layers = true;
  REQUIRE(check_plan(model, plan));
  // 128 / 64 = 2 a chunk; one less at both ends.
  std::int64_t next = 0;
  for (std::int64_t chunk = 0; chunk < 8; ++chunk) {
    for (std::int64_t stage = 0; stage < 8; ++stage) {
      const LayerRange range = chunk_layers(model, plan, stage, chunk);
      CHECK(range.first == next);
      CHECK(range.count == (next == 0 || next == 125 ? 1 : 2));
      next += range.count;
    }
  }
  CHECK(next == 126);
}

TEST_CASE("parallel_plan: the layout of layers is said as Megatron-Core reads it") {
  TransformerModel model{"", 80, 1024, 16, 2048};
  ParallelPlan plan{.pipeline = 4, .global_batch = 8, .micro_batch = 1, .virtual_stages = 7};
  plan.ends_count_as_layers = true;
  REQUIRE(check_plan(model, plan));
  // 82 places in 28 chunks of 3: embedding and two layers, 26 times three, the loss alone.
  CHECK(pipeline_layout(model, plan) == "Et*2|(t*3|)*26L");
  CHECK(layers_by_stage(model, plan) == std::vector<std::int64_t>{20, 21, 21, 18});
  plan.virtual_stages = 1;
  CHECK(pipeline_layout(model, plan) == "Et*20|(t*21|)*2t*18L");
  plan.ends_count_as_layers = false;
  CHECK(pipeline_layout(model, plan) == "Et*20|(t*20|)*2t*20L");
  CHECK(layers_by_stage(model, plan) == std::vector<std::int64_t>{20, 20, 20, 20});
  model.num_layers = 2;
  model.prediction.depth = 1;
  plan.pipeline = 2;
  CHECK(pipeline_layout(model, plan) == "Et|tmL");
  plan.pipeline = 1;
  CHECK(pipeline_layout(model, plan) == "Et*2mL");
}

TEST_CASE("parallel_plan: where the ends count, the last chunk may hold fewer layers") {
  TransformerModel model = gpt();
  model.num_layers = 61;
  ParallelPlan plan{.pipeline = 4, .global_batch = 8, .micro_batch = 1, .virtual_stages = 4};
  plan.ends_count_as_layers = true;
  REQUIRE(check_plan(model, plan));
  // 63 places in 16 chunks of 4: 3 layers, 14 times 4, and 61 - 59 = 2.
  CHECK(chunk_layers(model, plan, 0, 0).count == 3);
  CHECK(chunk_layers(model, plan, 1, 0).first == 3);
  CHECK(chunk_layers(model, plan, 2, 3).count == 4);
  CHECK(chunk_layers(model, plan, 3, 3).first == 59);
  CHECK(chunk_layers(model, plan, 3, 3).count == 2);
  // 63 places in 40 chunks of 2 would leave eight without any.
  plan.pipeline = 10;
  CHECK(check_plan(model, plan).error().field == "pipeline");
  // A single chunk holds everything.
  plan.pipeline = 1;
  plan.virtual_stages = 1;
  CHECK(chunk_layers(model, plan, 0, 0).count == 61);
}

TEST_CASE("parallel_plan: tensor parallelism splits heads and columns evenly") {
  TransformerModel model = find_model("llama3.2-3b")->model();  // 24 heads, 8 of keys and values
  ParallelPlan plan{.global_batch = 8, .micro_batch = 1};
  for (const std::int64_t tensor : {1, 2, 4, 8, 24}) {
    plan.tensor = tensor;
    CHECK(check_plan(model, plan).has_value() == (model.mlp_size() % tensor == 0));
  }
  for (const std::int64_t tensor : {3, 6, 12}) {
    plan.tensor = tensor;
    CHECK(check_plan(model, plan).error().message ==
          fmt::format("expected a divisor or a multiple of the 8 heads of keys and values, found '{}'",
                      tensor));
  }
  plan.tensor = 8;
  model.ffn_size = 8193;
  CHECK(check_plan(model, plan).error().message ==
        "expected a divisor of the 8193 columns of the MLP, found '8'");
}

TEST_CASE("parallel_plan: experts and context must divide") {
  ParallelPlan plan{.data = 4, .global_batch = 8, .micro_batch = 1, .expert = 2};
  CHECK(check_plan(llama(), plan).error().field == "expert");
  CHECK(check_plan(mixture(), plan));
  plan.expert = 6;  // divides the experts, not the four GPUs
  CHECK(check_plan(mixture(), plan).error().field == "expert");
  plan.expert = 4;
  CHECK(check_plan(mixture(), plan).error().field == "expert");
  plan = {.global_batch = 8, .micro_batch = 1, .context = 3};
  CHECK(check_plan(gpt(), plan).error().field == "context");
}

TEST_CASE("parallel_plan: GPUs that share an expert divide its columns and the GPUs left to experts") {
  ParallelPlan plan{.data = 8, .global_batch = 8, .micro_batch = 1, .expert = 2};
  plan.expert_tensor = 4;
  CHECK(check_plan(mixture(), plan));
  plan.expert_tensor = 8;  // 2 x 8 of 8 GPUs
  CHECK(check_plan(mixture(), plan).error().field == "expert_tensor");
  plan.expert_tensor = 3;
  CHECK(check_plan(mixture(), plan).error().field == "expert_tensor");
  plan = {.data = 2, .global_batch = 8, .micro_batch = 1};
  plan.expert_tensor = 2;
  CHECK(check_plan(llama(), plan).error().field == "expert_tensor");
}

TEST_CASE("parallel_plan: sets of replicas are of one size, hold all experts, and need sharded weights") {
  ParallelPlan plan{.data = 8, .global_batch = 8, .micro_batch = 1, .sharding = Sharding::Full};
  plan.replicate = 2;
  CHECK(check_plan(llama(), plan));
  plan.replicate = 3;
  CHECK(check_plan(llama(), plan).error().field == "replicate");
  plan.replicate = 2;
  plan.sharding = Sharding::Optimizer;
  CHECK(check_plan(llama(), plan).error().field == "replicate");
  plan.sharding = Sharding::Full;
  plan.expert = 2;
  CHECK(check_plan(mixture(), plan));
  plan.replicate = 8;
  CHECK(check_plan(mixture(), plan).error().field == "expert");
}

TEST_CASE("parallel_plan: a stage offloads no more layers than it has") {
  const std::int64_t layers = gpt().num_layers;
  ParallelPlan plan{.global_batch = 8, .micro_batch = 1};
  plan.offloaded_layers = layers;
  CHECK(check_plan(gpt(), plan));
  plan.offloaded_layers = layers + 1;
  CHECK(check_plan(gpt(), plan).error().field == "offloaded_layers");
  plan.offloaded_layers = -1;
  CHECK(check_plan(gpt(), plan).error().field == "offloaded_layers");
  plan.pipeline = 2;
  plan.offloaded_layers = layers / 2 + 1;
  CHECK(check_plan(gpt(), plan).error().field == "offloaded_layers");
}

TEST_CASE("parallel_plan: a number of recomputed layers is for full recomputation") {
  const std::int64_t layers = gpt().num_layers;
  ParallelPlan plan{.global_batch = 8, .micro_batch = 1, .recomputed_layers = layers};
  CHECK(check_plan(gpt(), plan));
  plan.pipeline = 2;
  CHECK(check_plan(gpt(), plan).error().field == "recomputed_layers");
  plan.recomputed_layers = layers / 2;
  CHECK(check_plan(gpt(), plan));
  plan.recomputed_layers = -1;
  CHECK(check_plan(gpt(), plan).error().field == "recomputed_layers");
  plan = {.global_batch = 8, .micro_batch = 1, .recompute = Recompute::None, .recomputed_layers = 1};
  CHECK(check_plan(gpt(), plan).error().field == "recomputed_layers");
}

}  // namespace
}  // namespace vtrain
