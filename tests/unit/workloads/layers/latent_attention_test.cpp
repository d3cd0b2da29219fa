#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "core/profile/gpu_profile.hpp"
#include "tests/unit/workloads/plain_a100.hpp"
#include "workloads/layers/layer_cost.hpp"
#include "workloads/layers/layer_shape.hpp"
#include "workloads/model/layer_kinds.hpp"
#include "workloads/physical/memory_model.hpp"
#include "workloads/stack/kernel_cost.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {
namespace {

using testing::a100;

constexpr std::int64_t kTensor = 4;

/// A model with 2,048 tokens of 4,096 columns and 32 heads, queries and keys of 64 + 32 and values of 64.
/// They are compressed into 512 columns (queries), 256 (keys and values) and 32 (the rotated part of the
/// keys).
TransformerModel latent_model() {
  TransformerModel model{"", 4, 4096, 32, 2048};
  model.has_bias = false;
  model.normalization = Normalization::RmsNorm;
  model.positions = Positions::Rotary;
  model.latent = {.query_rank = 512,
                  .kv_rank = 256,
                  .plain_head_size = 64,
                  .rotary_head_size = 32,
                  .value_head_size = 64};
  REQUIRE(check_model(model));
  return model;
}

PassCosts layer_of(const TransformerModel& model, const LayerKey& key, std::string_view stack) {
  return layer_costs(model, key, a100(), find_stack(stack).value()).layers[0];
}

LayerKey split_key() {
  return {.tensor = kTensor, .micro_batch = 1, .sequence_parallel = true, .precision = Precision::Bf16};
}

/// Times of the operators with a name.
std::vector<double> times_of(const std::vector<Operator>& pass, std::string_view name) {
  std::vector<double> times;
  for (const Operator& op : pass) {
    if (op.name == name) times.push_back(op.duration.count());
  }
  return times;
}

/// Time of a collective of four GPUs on `columns` columns of 2,048 tokens in 2 bytes.
double collective_ns(Collective collective, double columns) {
  const KernelTime time = collective_time(a100(), collective, {.size = kTensor, .per_node = kTensor},
                                          Bytes(2 * 2'048 * columns), Libraries::Current);
  return std::round(time.time.count());
}

double product_ns(std::int64_t rows, std::int64_t outputs, std::int64_t inputs) {
  return std::round(gemm_time(a100(), Precision::Bf16, {rows, outputs, inputs}).time.count());
}

TEST_CASE(
    "latent_attention: each GPU compresses its part of the sequence, and the compressed form is gathered") {
  const PassCosts layer = layer_of(latent_model(), split_key(), "megatron-core");
  using Times = std::vector<double>;
  CHECK(times_of(layer.forward, "qkv_gemm") == Times{product_ns(512, 512, 4096)});
  CHECK(times_of(layer.forward, "kv_down_gemm") == Times{product_ns(512, 256 + 32, 4096)});
  CHECK(times_of(layer.forward, "q_up_gemm") == Times{product_ns(2'048, 8 * 96, 512)});
  CHECK(times_of(layer.forward, "kv_up_gemm") == Times{product_ns(2'048, 8 * 128, 256)});
  CHECK(times_of(layer.forward, "latent_gather") ==
        Times{collective_ns(Collective::AllGather, 512), collective_ns(Collective::AllGather, 256)});
  CHECK(times_of(layer.forward, "rotary_gather") == Times{collective_ns(Collective::AllGather, 32)});
  // Before the MLP alone are inputs of the layer's width gathered.
  CHECK(times_of(layer.forward, "all_gather") == Times{collective_ns(Collective::AllGather, 4096)});
  // Backward in the opposite order: the MLP's input, then those of attention.
  CHECK(times_of(layer.backward, "reduce_scatter") ==
        Times{collective_ns(Collective::ReduceScatter, 4096), collective_ns(Collective::ReduceScatter, 256),
              collective_ns(Collective::ReduceScatter, 32), collective_ns(Collective::ReduceScatter, 512)});
}

TEST_CASE("latent_attention: without sequence parallelism gradients of the compressed form are summed") {
  LayerKey key = split_key();
  key.sequence_parallel = false;
  const PassCosts layer = layer_of(latent_model(), key, "megatron-core");
  CHECK(times_of(layer.forward, "qkv_gemm") == std::vector{product_ns(2'048, 512, 4096)});
  CHECK(times_of(layer.forward, "latent_gather").empty());
  CHECK(times_of(layer.backward, "all_reduce") ==
        std::vector{collective_ns(Collective::AllReduce, 4096), collective_ns(Collective::AllReduce, 256),
                    collective_ns(Collective::AllReduce, 32), collective_ns(Collective::AllReduce, 512)});
}

TEST_CASE("latent_attention: queries that are not compressed take the gathered input") {
  TransformerModel model = latent_model();
  model.latent.query_rank = 0;
  const PassCosts layer = layer_of(model, split_key(), "megatron-core");
  CHECK(times_of(layer.forward, "qkv_gemm") == std::vector{product_ns(2'048, 8 * 96, 4096)});
  CHECK(times_of(layer.forward, "kv_down_gemm") == std::vector{product_ns(512, 256 + 32, 4096)});
  CHECK(times_of(layer.forward, "all_gather").size() == 2);
  CHECK(times_of(layer.backward, "reduce_scatter").size() == 4);
}

TEST_CASE("latent_attention: in torchtitan inputs are gathered and all of them compressed on every GPU") {
  const PassCosts layer = layer_of(latent_model(), split_key(), "torchtitan");
  CHECK(times_of(layer.forward, "qkv_gemm") == std::vector{product_ns(2'048, 512, 4096)});
  CHECK(times_of(layer.forward, "latent_gather").empty());
  CHECK(times_of(layer.forward, "all_gather").size() == 2);
  CHECK(times_of(layer.backward, "reduce_scatter").size() == 2);
}

TEST_CASE("latent_attention: what is made again from the compressed form is gathered again") {
  LayerKey key = split_key();
  key.recompute = Recompute::Selective;
  const PassCosts layer = layer_of(latent_model(), key, "megatron-core");
  for (const std::string_view name : {"latent_gather", "q_up_gemm", "kv_up_gemm"})
    CHECK(times_of(layer.recompute, name) == times_of(layer.forward, name));
  CHECK(layer.recompute.size() == 4);
}

TEST_CASE("latent_attention: every GPU of a tensor-parallel group has all of the weights that compress") {
  const TransformerModel model = latent_model();
  // 4,096 x (512 + 256 + 32) and norms of 512 and 256; up 512 x 32 x 96 and 256 x 32 x 128, out 2,048 x
  // 4,096.
  const std::int64_t compression = 4'096 * 800 + 768;
  const std::int64_t attention = 512 * 3'072 + 256 * 4'096 + 2'048 * 4'096;
  const LayerWeights weights = layer_weights(model, {});
  CHECK(weights.compression == compression);
  CHECK(weights.attention == attention);
  const std::int64_t mlp = weights.mlp;
  const double on_gpu = static_cast<double>(attention + mlp) / kTensor + compression + 2 * 4'096;
  CHECK(gpu_weights(model, layer_shape(model, split_key(), a100()), {}) == on_gpu);

  ParallelPlan plan{.tensor = kTensor, .pipeline = 4, .global_batch = 4, .micro_batch = 1};
  CHECK(stage_parameters(model, plan, 1).shared == on_gpu);
  // Of what is kept, the inputs of the products with the compressed form and of its norms are split.
  plan.recompute = Recompute::None;
  const auto kept = [&] {
    return stage_memory(model, plan, 3, a100(), kMegatronCoreMemory).activations.value;
  };
  plan.sequence_parallel = true;
  const double split = kept();
  plan.sequence_parallel = false;
  // 2 bytes of two halves' inputs and norms and twice the compressed columns, for the other 1,536 tokens.
  CHECK(kept() - split == 2 * 1'536 * (4 * 4'096 + 2 * (512 + 256.0)));
}

}  // namespace
}  // namespace vtrain
