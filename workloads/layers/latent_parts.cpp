// The projections of latent attention: into the compressed form, and from it to queries, keys and values.
#include "workloads/layers/layer_parts.hpp"

namespace vtrain {
namespace {

/// The products on one GPU. Every GPU of a tensor-parallel group compresses into all columns.
struct LatentProducts {
  GemmShape query_down;  ///< of no columns where queries are not compressed
  GemmShape query_up;
  GemmShape key_value_down;
  GemmShape key_value_up;
};

LatentProducts latent_products(const LayerContext& layer) {
  const LatentAttention& latent = layer.model.latent;
  const LayerShape& shape = layer.shape;
  const std::int64_t compressed = layer.stack.exchanges_compressed ? shape.split_tokens : shape.tokens;
  const std::int64_t heads = layer.model.num_heads / shape.tensor;
  return {.query_down = {compressed, latent.query_rank, shape.hidden},
          .query_up = {shape.tokens, shape.query, latent.query_rank > 0 ? latent.query_rank : shape.hidden},
          .key_value_down = {compressed, latent.kv_rank + latent.rotary_head_size, shape.hidden},
          .key_value_up = {shape.tokens, heads * (latent.plain_head_size + latent.value_head_size),
                           latent.kv_rank}};
}

/// The gradients of a product with the compressed form, and the reduction of the latter's.
void add_up_gradients(BackwardPass& pass, const LayerContext& layer, std::string_view name,
                      std::string_view weight_name, const GemmShape& up) {
  const BackwardPass::ProductTimes begun = pass.products;
  pass.input.begin(name);
  pass.linear(weight_name, up);
  if (layer.stack.exchanges_compressed) add_input_reduction(pass, layer, begun, up.k);
}

}  // namespace

void add_latent_forward(PassBuilder& pass, const LayerContext& layer) {
  const LatentProducts products = latent_products(layer);
  const LatentAttention& latent = layer.model.latent;
  const bool exchanges = layer.stack.exchanges_compressed;
  if (!exchanges || latent.query_rank == 0) add_operand_gather(pass, layer);
  pass.begin("qkv_gemm").quantise(layer.shape.split_elements);
  if (latent.query_rank > 0) {
    pass.gemm(products.query_down);
    if (exchanges) add_operand_gather(pass, layer, "latent_gather", latent.query_rank);
    pass.begin("q_up_gemm").quantise(real(products.query_down.m * latent.query_rank));
  }
  pass.gemm(products.query_up).begin("kv_down_gemm").gemm(products.key_value_down);
  if (exchanges) {
    add_gather(pass, layer, "rotary_gather", latent.rotary_head_size);
    add_operand_gather(pass, layer, "latent_gather", latent.kv_rank);
  }
  pass.begin("kv_up_gemm").quantise(real(products.key_value_down.m * latent.kv_rank));
  pass.gemm(products.key_value_up);
}

void add_latent_backward(BackwardPass& pass, const LayerContext& layer) {
  const LatentProducts products = latent_products(layer);
  const LatentAttention& latent = layer.model.latent;
  const bool exchanges = layer.stack.exchanges_compressed;
  BackwardPass::ProductTimes begun = pass.products;
  add_up_gradients(pass, layer, "kv_up_grad", "kv_up_weight_grad", products.key_value_up);
  if (exchanges) add_reduction(pass.input, layer, latent.rotary_head_size);
  pass.input.begin("kv_down_grad");
  pass.linear("kv_down_weight_grad", products.key_value_down);
  if (latent.query_rank > 0)
    add_up_gradients(pass, layer, "q_up_grad", "q_up_weight_grad", products.query_up);
  if (exchanges) begun = pass.products;
  pass.input.begin("qkv_grad");
  pass.linear("qkv_weight_grad", latent.query_rank > 0 ? products.query_down : products.query_up);
  if (!exchanges || latent.query_rank == 0) add_input_reduction(pass, layer, begun);
}

}  // namespace vtrain
