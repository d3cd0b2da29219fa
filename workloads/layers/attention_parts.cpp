// The half of a layer that is attention: projections, latent ones too, rotation, the kernels of attention,
// and the exchange between the parts of a sequence under context parallelism.
//
// Traffic is counted as in `layer_parts.cpp`.
#include <algorithm>
#include <string_view>

#include "core/base/units.hpp"
#include "workloads/layers/layer_parts.hpp"

namespace vtrain {
namespace {

double attention_inputs(const LayerShape& shape) {
  return elements(shape, shape.query + shape.key + shape.value);
}

/// Elements of the scores of unfused attention.
double score_elements(const LayerShape& shape) {
  return real(shape.attention.heads) * real(shape.attention.sequence) * real(shape.attention.queries);
}

GemmShape scores_product(const AttentionShape& attention) {
  return {attention.queries, attention.sequence, attention.head_size, attention.heads};
}

GemmShape context_product(const AttentionShape& attention) {
  return {attention.queries, attention.value_head_size, attention.sequence, attention.heads};
}

/// Repeating the heads of keys and values, or summing the gradients of the copies.
void add_repeated_heads(PassBuilder& pass, const LayerContext& layer, std::string_view name) {
  const LayerShape& shape = layer.shape;
  if (!layer.stack.eager.repeated_heads || shape.key == shape.query) return;
  const std::int64_t columns = shape.key + shape.value + keys_and_values(layer);
  pass.begin(name).memory(MemoryKernel::Elementwise, 2 * elements(shape, columns), 2);
}

/// Kernels that rotate queries and keys in one pass.
struct RotationKernels {
  std::string_view name;
  EagerWork eager;        ///< work of PyTorch's own kernels
  double latent_traffic;  ///< bytes an element of the queries; parts of each head are split and concatenated
};

/// PyTorch's own kernels as in Megatron-Core's rope_utils.py. Forward two products with what is broadcast
/// over the heads, a half negated and concatenated with the other, the sum, and one more copy; backward the
/// same in reverse, with zeros for the empty part that is not rotated.
constexpr RotationKernels kRotation{
    .name = "rotation",
    .eager = {.strided_passes = 3.5, .strided_traffic = 4, .traffic = 10, .num_kernels = 12},
    .latent_traffic = 12};
constexpr RotationKernels kRotationGradient{
    .name = "rotation_grad",
    .eager = {.strided_passes = 3.5, .strided_traffic = 4, .traffic = 14, .num_kernels = 14},
    .latent_traffic = 16};

/// Either pass of a rotation by complex numbers: to single precision, half as many products of two numbers
/// with what is broadcast over the heads, and back. Compiled code fuses the conversions with other kernels.
constexpr EagerWork kComplexRotation{.strided_passes = 2.5, .strided_traffic = 8, .num_kernels = 6};
constexpr EagerWork kCompiledComplexRotation{
    .strided_passes = 0.5, .strided_traffic = 16, .traffic = 12, .num_kernels = 6};

/// Rotating queries and keys.
void add_rotation(PassBuilder& pass, const LayerContext& layer, const RotationKernels& kernels) {
  const LayerShape& shape = layer.shape;
  if (layer.model.positions != Positions::Rotary) return;
  pass.begin(kernels.name);
  if (layer.model.has_latent_attention()) {
    pass.memory(MemoryKernel::Elementwise, kernels.latent_traffic * elements(shape, shape.query), 2);
    return;
  }
  const double rotated = elements(shape, shape.query + shape.key);
  const EagerParts& eager = layer.stack.eager;
  if (eager.complex_rotation) {
    pass.eager(rotated, layer.is_eager() ? kComplexRotation : kCompiledComplexRotation);
  } else if (layer.is_eager() || (layer.model.scales_rotation && eager.scaled_rotation)) {
    pass.eager(rotated, kernels.eager);
  } else {
    pass.memory(MemoryKernel::Elementwise, 4 * rotated, 2);
  }
}

/// Scaling and masking the scores, or the gradients of both. Megatron-LM's fused kernels are for half
/// precision alone.
void add_score_passes(PassBuilder& pass, const LayerContext& layer) {
  const bool is_plain = layer.is_eager() || (layer.is_2021() && layer.key.precision == Precision::Fp32);
  if (is_plain) pass.memory(MemoryKernel::Elementwise, 8 * score_elements(layer.shape), 2);
}

void add_unfused_forward(PassBuilder& pass, const LayerContext& layer) {
  const LayerShape& shape = layer.shape;
  const double scores = score_elements(shape);
  pass.begin_attention("attn_scores").plain_gemm(scores_product(shape.attention));
  pass.begin_attention("attn_softmax");
  add_score_passes(pass, layer);
  pass.memory(MemoryKernel::Softmax, 4 * scores, 1);
  if (layer.dropout().attention) pass.memory(MemoryKernel::Dropout, 5 * scores, 1);
  pass.begin_attention("attn_context").plain_gemm(context_product(shape.attention));
  pass.memory(MemoryKernel::Elementwise, 4 * elements(shape, shape.attention_output), 1);
}

void add_unfused_backward(PassBuilder& pass, const LayerContext& layer) {
  const LayerShape& shape = layer.shape;
  const double scores = score_elements(shape);
  const GemmShape scores_gemm = scores_product(shape.attention);
  const GemmShape context_gemm = context_product(shape.attention);
  pass.begin_attention("attn_ctx_grad")
      .memory(MemoryKernel::Elementwise, 4 * elements(shape, shape.attention_output), 1)
      .plain_gemm(scores_gemm)
      .plain_gemm(context_gemm);
  pass.begin_attention("softmax_grad");
  if (layer.dropout().attention) pass.memory(MemoryKernel::Dropout, 5 * scores, 1);
  pass.memory(MemoryKernel::Softmax, 6 * scores, 1);
  add_score_passes(pass, layer);
  pass.begin_attention("scores_grad").plain_gemm(context_gemm).plain_gemm(context_gemm);
}

/// Bias after attention if a separate kernel adds it, and its gradient, the sum over rows.
constexpr EagerWork kOutputBias{.strided_passes = 1, .strided_traffic = 4, .num_kernels = 1};
constexpr EagerWork kOutputBiasGradient{.traffic = 2, .num_kernels = 1};

void add_output_bias(PassBuilder& pass, const LayerContext& layer, std::string_view name,
                     const EagerWork& eager) {
  const TransformerModel& model = layer.model;
  if (layer.stack.eager.output_bias && model.has_bias && model.has_experts())
    pass.begin(name).eager(layer.shape.split_elements, eager);
}

// Attention by flash kernels, and the additions of context parallelism.

/// Keys and values of all parts of a sequence are gathered before attention.
bool gathers(const LayerContext& layer) {
  return layer.stack.context == ContextExchange::Gather;
}

bool is_within_domain(const LayerContext& layer) {
  return layer.key.tensor * layer.key.context <= layer.profile.nvlink_domain;
}

/// Keys and values of the other GPUs arrive in a ring while attention works on those that are there. The
/// first hop shows, the rest as far as attention is not longer. Each GPU passes on keys and values of one
/// part for every other part.
KernelTime context_ring_time(const LayerContext& layer, KernelTime attention, double passes) {
  const Bytes part(passes * element_bytes(layer.key.precision) *
                   elements(layer.shape, keys_and_values(layer)));
  const KernelTime hop = send_time(layer.profile, is_within_domain(layer), part);
  const double parts = real(layer.key.context);
  const double others = parts - 1;
  const Nanoseconds cover = attention.time * (others / parts);
  return {hop.time + std::max(Nanoseconds(0), hop.time * (others - 1) - cover), hop.evidence};
}

/// Adds the steps before attention: keys and values are concatenated for transfer, and those of all parts are
/// gathered unless they pass in a ring. Compiled code waits for a collective where it issues it
/// (`_maybe_wrap_tensor` of torch/distributed/_functional_collectives.py).
void add_context_gather(PassBuilder& pass, const LayerContext& layer) {
  const double sent = elements(layer.shape, keys_and_values(layer));
  pass.begin("context_concat").memory(MemoryKernel::Elementwise, 4 * sent, 1);
  if (!gathers(layer)) return;
  const Bytes all(element_bytes(layer.key.precision) * real(layer.key.context) * sent);
  pass.exposed("context_gather", TaskKind::TensorComm,
               collective_time(layer.profile, Collective::AllGather, layer.shape.context_group, all,
                               layer.stack.libraries));
}

/// Attention works on one part of the sequence after the other, and partial outputs are merged. PyTorch adds
/// each to a sum in single precision (`_templated_ring_attention` of torch/distributed/tensor/experimental/
/// _attention.py); Transformer Engine scales the first, then adds the others in the precision that they have
/// (`AttnFuncWithCPAndKVP2P` of transformer_engine/pytorch/attention/dot_product_attention/
/// context_parallel.py).
void add_context_merge(PassBuilder& pass, const LayerContext& layer) {
  const double others = real(layer.key.context - 1);
  const double traffic = gathers(layer) ? 10 * others : 4 + 6 * others;
  pass.begin("context_merge")
      .memory(MemoryKernel::Elementwise, traffic * elements(layer.shape, layer.shape.attention_output),
              static_cast<int>(layer.key.context));
}

/// The backward counterpart: gradients of queries, and those of keys and values, which are concatenated.
/// PyTorch adds up in single precision and concatenates the sums, Transformer Engine does so before it adds.
void add_context_gradients(PassBuilder& pass, const LayerContext& layer) {
  const LayerShape& shape = layer.shape;
  const double parts = real(layer.key.context);
  const double queries = gathers(layer) ? 10 * parts : 4 + 6 * (parts - 1);
  const double sent = (gathers(layer) ? 10 + 8 : 6 + 4) * parts;
  pass.begin("context_add")
      .memory(MemoryKernel::Elementwise,
              queries * elements(shape, shape.query) + sent * elements(shape, keys_and_values(layer)),
              4 * static_cast<int>(layer.key.context));
}

/// Time of the ring of gradients of keys and values, which go from GPU to GPU in single precision after each
/// part.
KernelTime gradient_ring_time(const LayerContext& layer) {
  const KernelTime hop = send_time(layer.profile, is_within_domain(layer),
                                   Bytes(4 * elements(layer.shape, keys_and_values(layer))));
  return {hop.time * real(layer.key.context), hop.evidence};
}

/// Flash attention has no kernels in single precision: those that take its place are taken to reach the same
/// share of that precision's peak rate.
KernelTime in_plan_precision(const LayerContext& layer, KernelTime half) {
  if (layer.key.precision != Precision::Fp32) return half;
  return {half.time * (layer.profile.peak_rate.value / layer.profile.peak_rate_fp32.value),
          Evidence::Modelled};
}

void add_flash_forward(PassBuilder& pass, const LayerContext& layer, const AttentionShape& attention) {
  const KernelTime time =
      in_plan_precision(layer, attention_forward_time(layer.profile, layer.stack.attention, attention));
  if (layer.key.context <= 1) {
    pass.begin("attention").kernel(time);
    return;
  }
  add_context_gather(pass, layer);
  pass.begin("attention").kernel(time);
  if (!gathers(layer)) pass.exposed("context_ring", TaskKind::TensorComm, context_ring_time(layer, time, 1));
  add_context_merge(pass, layer);
}

void add_flash_backward(PassBuilder& pass, const LayerContext& layer, const AttentionShape& attention) {
  const KernelTime time =
      in_plan_precision(layer, attention_backward_time(layer.profile, layer.stack.attention, attention));
  if (layer.key.context <= 1) {
    pass.begin("attention_grad").kernel(time);
    return;
  }
  add_context_gather(pass, layer);
  pass.begin("attention_grad").kernel(time);
  // In a ring keys and values travel again, and their gradients with them.
  pass.exposed("context_ring", TaskKind::TensorComm,
               gathers(layer) ? gradient_ring_time(layer) : context_ring_time(layer, time, 2));
  add_context_gradients(pass, layer);
}

/// Attention as this mixer computes it. Unfused kernels compute every score, for any window.
AttentionShape attention_of(const LayerContext& layer, Mixer mixer) {
  AttentionShape shape = layer.shape.attention;
  if (mixer == Mixer::WindowedAttention) shape.window = layer.model.window.size;
  return shape;
}

// The projections of latent attention: into the compressed form, and from it to queries, keys and values.

/// The products on one GPU. Every GPU of a tensor-parallel group compresses into all columns.
struct LatentProducts {
  GemmShape query_down;  ///< empty if queries are not compressed
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

// All projections.

void add_projections_forward(PassBuilder& pass, const LayerContext& layer) {
  if (layer.model.has_latent_attention()) return add_latent_forward(pass, layer);
  const LayerShape& shape = layer.shape;
  add_operand_gather(pass, layer);
  pass.begin("qkv_gemm");
  pass.quantise(shape.split_elements);
  pass.gemm({shape.tokens, shape.query + shape.key + shape.value, shape.hidden});
  if (layer.is_2021()) pass.memory(MemoryKernel::Elementwise, 4 * attention_inputs(shape), 1);
  // Eager products add the bias themselves, but need copies whose heads lie one after the other.
  if (layer.is_eager()) pass.memory(MemoryKernel::Elementwise, 4 * attention_inputs(shape), 3);
}

void add_projections_backward(BackwardPass& pass, const LayerContext& layer) {
  if (layer.model.has_latent_attention()) return add_latent_backward(pass, layer);
  const LayerShape& shape = layer.shape;
  const BackwardPass::ProductTimes begun = pass.products;
  // Gradients of queries, keys and values are concatenated; where kernels are not fused those of their
  // biases are summed too, and in eager code their heads are put back between those of the tokens.
  pass.input.begin("qkv_grad");
  if (layer.is_fused()) {
    pass.input.memory(MemoryKernel::Elementwise, 4 * attention_inputs(shape), 1);
  } else {
    pass.input.memory(MemoryKernel::Elementwise, 6 * attention_inputs(shape), 3);
  }
  if (layer.is_eager()) pass.input.memory(MemoryKernel::Elementwise, 4 * attention_inputs(shape), 3);
  pass.linear("qkv_weight_grad", {shape.tokens, shape.query + shape.key + shape.value, shape.hidden});
  add_input_reduction(pass, layer, begun);
}

}  // namespace

void add_attention_forward(PassBuilder& pass, const LayerContext& layer, Mixer mixer) {
  const LayerShape& shape = layer.shape;
  pass.use(layer.precision_unless(layer.stack.wider.attention));
  add_norm_forward(pass, layer, "input_norm");
  add_projections_forward(pass, layer);
  add_rotation(pass, layer, kRotation);
  if (layer.stack.attention == AttentionKernel::Unfused) {
    add_unfused_forward(pass, layer);
  } else {
    add_repeated_heads(pass, layer, "repeat_heads");
    add_flash_forward(pass, layer, attention_of(layer, mixer));
  }
  pass.begin("attn_out_gemm");
  pass.quantise(elements(shape, shape.attention_output));
  add_reduced_product(pass, layer, {shape.tokens, shape.hidden, shape.attention_output});
  add_output_bias(pass, layer, "attn_out_bias", kOutputBias);
  add_residual_forward(pass, layer, "attn_residual");
  pass.use(layer.key.precision);
}

void add_attention_backward(BackwardPass& pass, const LayerContext& layer, Mixer mixer) {
  const LayerShape& shape = layer.shape;
  pass.use(layer.precision_unless(layer.stack.wider.attention));
  add_residual_backward(pass.input, layer, "attn_drop_grad");
  add_output_bias(pass.input, layer, "attn_out_bias_grad", kOutputBiasGradient);
  add_operand_gather(pass.input, layer);
  pass.input.begin("attn_out_grad");
  pass.linear("attn_out_weight_grad", {shape.tokens, shape.hidden, shape.attention_output},
              /*in_pieces=*/true);
  if (layer.stack.attention == AttentionKernel::Unfused) {
    add_unfused_backward(pass.input, layer);
  } else {
    add_flash_backward(pass.input, layer, attention_of(layer, mixer));
    add_repeated_heads(pass.input, layer, "repeat_heads_grad");
  }
  add_rotation(pass.input, layer, kRotationGradient);
  add_projections_backward(pass, layer);
  add_norm_backward(pass.input, layer, "input_norm_grad");
  pass.use(layer.key.precision);
}

}  // namespace vtrain
