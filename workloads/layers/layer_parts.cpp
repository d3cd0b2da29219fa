// Traffic is counted from each kernel's inputs, outputs and masks: 2 bytes an element, 1 a mask. In single
// precision `PassBuilder` takes twice as much.
#include "workloads/layers/layer_parts.hpp"

#include "core/base/units.hpp"

namespace vtrain {
namespace {

/// Traffic of some kernels.
struct KernelTraffic {
  double bytes = 0;
  int count = 0;
};

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
  EagerWork eager;        ///< by PyTorch's own kernels
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
  pass.begin("attn_scores").plain_gemm(scores_product(shape.attention));
  pass.begin("attn_softmax");
  add_score_passes(pass, layer);
  pass.memory(MemoryKernel::Softmax, 4 * scores, 1);
  if (layer.dropout().attention) pass.memory(MemoryKernel::Dropout, 5 * scores, 1);
  pass.begin("attn_context").plain_gemm(context_product(shape.attention));
  pass.memory(MemoryKernel::Elementwise, 4 * elements(shape, shape.attention_output), 1);
}

void add_unfused_backward(PassBuilder& pass, const LayerContext& layer) {
  const LayerShape& shape = layer.shape;
  const double scores = score_elements(shape);
  const GemmShape scores_gemm = scores_product(shape.attention);
  const GemmShape context_gemm = context_product(shape.attention);
  pass.begin("attn_ctx_grad")
      .memory(MemoryKernel::Elementwise, 4 * elements(shape, shape.attention_output), 1)
      .plain_gemm(scores_gemm)
      .plain_gemm(context_gemm);
  pass.begin("softmax_grad");
  if (layer.dropout().attention) pass.memory(MemoryKernel::Dropout, 5 * scores, 1);
  pass.memory(MemoryKernel::Softmax, 6 * scores, 1);
  add_score_passes(pass, layer);
  pass.begin("scores_grad").plain_gemm(context_gemm).plain_gemm(context_gemm);
}

/// The bias after attention where a kernel of its own adds it, and the sum over rows that is its gradient.
constexpr EagerWork kOutputBias{.strided_passes = 1, .strided_traffic = 4, .num_kernels = 1};
constexpr EagerWork kOutputBiasGradient{.traffic = 2, .num_kernels = 1};

void add_output_bias(PassBuilder& pass, const LayerContext& layer, std::string_view name,
                     const EagerWork& eager) {
  const TransformerModel& model = layer.model;
  if (layer.stack.eager.output_bias && model.has_bias && model.has_experts())
    pass.begin(name).eager(layer.shape.split_elements, eager);
}

/// Kernels of the MLP's non-linearity, bytes an element of its input.
struct ActivationKernels {
  KernelTraffic forward;
  KernelTraffic backward;
};

/// Of eager code, operator by operator. The gradient of a square is that of a power, which copies its operand
/// to the power of one (pow_backward of PyTorch's FunctionsManual.cpp). GELU of decoders is the formula with
/// tanh that GPT-2's code in transformers spells out (NewGELUActivation); of encoders it is one kernel.
ActivationKernels eager_activation(const TransformerModel& model) {
  switch (model.activation) {
    case Activation::SwiGlu:
      return {{10, 2}, {18, 3}};
    case Activation::SquaredRelu:
      return {{8, 2}, {20, 4}};
    case Activation::Gelu:
      if (!model.is_bidirectional) return {{36, 8}, {56, 11}};
      break;
    case Activation::Relu:
      break;
  }
  return {{4, 1}, {6, 1}};
}

ActivationKernels activation_kernels(const LayerContext& layer) {
  const double inputs = real(layer.shape.mlp_inputs);
  const bool is_eager = layer.is_eager() || layer.stack.eager.activation;
  ActivationKernels kernels =
      is_eager ? eager_activation(layer.model) : ActivationKernels{{2 * inputs + 2, 1}, {4 * inputs + 2, 1}};
  // The gradient of the bias is summed by a kernel of its own.
  if (!layer.is_fused() && layer.model.has_bias) {
    kernels.backward.bytes += 2;
    ++kernels.backward.count;
  }
  return kernels;
}

/// A root-mean-square norm in eager code, operator by operator.
struct NormKernels {
  EagerWork forward;
  EagerWork backward;
};

/// Before release 2.9 PyTorch has no kernel of its own for it (pytorch/pytorch, pull request 153666), nor
/// have the models in transformers (LlamaRMSNorm). Forward the input is converted to single precision and
/// squared, the squares' mean is taken, the input multiplied by its inverse root, converted back, and
/// multiplied by the weight. Backward come the gradients of the two products, of the root and of the squares,
/// of which two are added up. Factors of a row or column are broadcast. In single precision nothing is
/// converted.
NormKernels plain_norm(Precision precision) {
  if (precision == Precision::Fp32) {
    return {{.strided_passes = 2, .strided_traffic = 8, .traffic = 12, .num_kernels = 6},
            {.strided_passes = 3, .strided_traffic = 8, .traffic = 52, .num_kernels = 11}};
  }
  return {{.strided_passes = 4, .strided_traffic = 6, .traffic = 12, .num_kernels = 8},
          {.strided_passes = 5, .strided_traffic = 6.4, .traffic = 44, .num_kernels = 13}};
}

/// Attention as this mixer computes it. Unfused kernels compute every score, whatever the window.
AttentionShape attention_of(const LayerContext& layer, Mixer mixer) {
  AttentionShape shape = layer.shape.attention;
  if (mixer == Mixer::WindowedAttention) shape.window = layer.model.window.size;
  return shape;
}

/// Of a collective of the tensor-parallel group on so many columns of every token.
KernelTime tensor_time(const LayerContext& layer, Collective collective, std::int64_t columns,
                       double bytes_per_element) {
  return collective_time(layer.profile, collective, layer.shape.tensor_group,
                         Bytes(bytes_per_element * elements(layer.shape, columns)), layer.stack.libraries);
}

/// A sum over the tensor-parallel group, of which each GPU holds all or, with sequence parallelism, its part.
struct Reduction {
  std::string_view name;
  KernelTime time;
};

Reduction tensor_reduction(const LayerContext& layer, std::int64_t columns) {
  const bool scatters = layer.key.sequence_parallel;
  const Collective collective = scatters ? Collective::ReduceScatter : Collective::AllReduce;
  return {scatters ? "reduce_scatter" : "all_reduce",
          tensor_time(layer, collective, columns, element_bytes(layer.key.precision))};
}

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

/// Where stacks reduce in pieces with a kernel of their own, what these take.
void add_sums_of_pieces(PassBuilder& pass, const LayerContext& layer, std::int64_t columns) {
  const OverlapRule& overlap = layer.stack.overlap;
  if (!layer.key.sequence_parallel || !overlap.tensor || !overlap.sums_pieces) return;
  const LayerShape& shape = layer.shape;
  pass.begin("sum_pieces")
      .memory(MemoryKernel::Elementwise, 2 * (elements(shape, columns) + real(shape.split_tokens * columns)),
              1);
}

}  // namespace

void BackwardPass::linear(std::string_view name, const GemmShape& forward, bool in_pieces) {
  const Nanoseconds before = input.time_of_products();
  input.quantise(real(forward.m) * real(forward.n)).input_gradient(forward, in_pieces);
  const Nanoseconds between = input.time_of_products();
  PassBuilder& target = splits_weights ? weight : input;
  if (splits_weights) weight.begin(name);
  target.weight_gradient(forward);
  products.input_gradients += between - before;
  products.weight_gradients += input.time_of_products() - between;
}

void add_norm_forward(PassBuilder& pass, const LayerContext& layer, std::string_view name) {
  pass.begin(name);
  if (layer.has_plain_norm()) {
    pass.eager(layer.shape.split_elements, plain_norm(layer.key.precision).forward);
  } else {
    pass.memory(MemoryKernel::LayerNorm, 4 * layer.shape.split_elements, 1);
  }
}

void add_norm_backward(PassBuilder& pass, const LayerContext& layer, std::string_view name) {
  // Where it is not fused the kernel of the gradients of the norm's weights reads both tensors once more.
  pass.begin(name);
  if (layer.has_plain_norm()) {
    pass.eager(layer.shape.split_elements, plain_norm(layer.key.precision).backward);
  } else if (layer.is_fused()) {
    pass.memory(MemoryKernel::LayerNorm, 6 * layer.shape.split_elements, 1);
  } else {
    pass.memory(MemoryKernel::LayerNorm, 10 * layer.shape.split_elements, 2);
  }
  // The gradient that the residual connection carries is added.
  pass.memory(MemoryKernel::Elementwise, 6 * layer.shape.split_elements, 1);
}

void add_residual_forward(PassBuilder& pass, const LayerContext& layer, std::string_view name) {
  const double split = layer.shape.split_elements;
  if (layer.dropout().hidden && layer.is_eager()) {
    pass.begin(name)
        .memory(MemoryKernel::Dropout, 5 * split, 1)
        .memory(MemoryKernel::Elementwise, 6 * split, 1);
  } else if (layer.dropout().hidden) {
    pass.begin(name).memory(MemoryKernel::Dropout, 7 * split, 1);
  } else {
    pass.begin(name).memory(MemoryKernel::Elementwise, 6 * split, 1);
  }
}

void add_residual_backward(PassBuilder& pass, const LayerContext& layer, std::string_view name) {
  if (!layer.dropout().hidden) return;
  pass.begin(name).memory(MemoryKernel::Dropout, 7 * layer.shape.split_elements, layer.is_fused() ? 1 : 2);
}

void add_gather(PassBuilder& pass, const LayerContext& layer, std::string_view name, std::int64_t columns) {
  if (!layer.key.sequence_parallel) return;
  const double bytes = element_bytes(layer.key.precision);
  pass.tensor_collective(name, tensor_time(layer, Collective::AllGather, columns, bytes));
}

void add_operand_gather(PassBuilder& pass, const LayerContext& layer, std::string_view name,
                        std::int64_t columns) {
  if (!layer.key.sequence_parallel) return;
  const double bytes = layer.stack.gathered_input_bytes(pass.precision());
  pass.tensor_collective(name, tensor_time(layer, Collective::AllGather, columns, bytes));
}

void add_reduction(PassBuilder& pass, const LayerContext& layer, std::int64_t columns) {
  const auto [name, time] = tensor_reduction(layer, columns);
  pass.tensor_collective(name, time);
  add_sums_of_pieces(pass, layer, columns);
}

void add_reduced_product(PassBuilder& pass, const LayerContext& layer, const GemmShape& product) {
  pass.reduced_gemm(product);
  const auto [name, time] = tensor_reduction(layer, product.n);
  pass.tensor_reduction(name, time);
  add_sums_of_pieces(pass, layer, product.n);
}

void add_input_reduction(BackwardPass& pass, const LayerContext& layer,
                         const BackwardPass::ProductTimes& begun, std::int64_t columns) {
  const OverlapRule& overlap = layer.stack.overlap;
  if (!overlap.input_gradients) return add_reduction(pass.input, layer, columns);
  auto [name, time] = tensor_reduction(layer, columns);
  time.time =
      exposed_time(time.time, pass.products.weight_gradients - begun.weight_gradients, overlap.contention);
  if (layer.key.sequence_parallel) {
    const double bytes = element_bytes(layer.key.precision);
    const Nanoseconds gather = tensor_time(layer, Collective::AllGather, columns, bytes).time;
    time.time +=
        exposed_time(gather, pass.products.input_gradients - begun.input_gradients, overlap.contention);
  }
  pass.input.exposed(name, TaskKind::TensorComm, time);
}

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

void add_mlp_forward(PassBuilder& pass, const LayerContext& layer) {
  const LayerShape& shape = layer.shape;
  add_norm_forward(pass, layer, "mlp_norm");
  add_operand_gather(pass, layer);
  pass.begin("mlp_up_gemm");
  pass.quantise(shape.split_elements);
  pass.gemm({shape.tokens, shape.mlp_inputs * shape.mlp, shape.hidden});
  const KernelTraffic activation = activation_kernels(layer).forward;
  pass.begin("mlp_act").memory(MemoryKernel::Gelu, activation.bytes * elements(shape, shape.mlp),
                               activation.count);
  pass.begin("mlp_down_gemm");
  pass.quantise(elements(shape, shape.mlp));
  add_reduced_product(pass, layer, {shape.tokens, shape.hidden, shape.mlp});
  add_residual_forward(pass, layer, "mlp_residual");
}

void add_mlp_backward(BackwardPass& pass, const LayerContext& layer) {
  const LayerShape& shape = layer.shape;
  add_residual_backward(pass.input, layer, "mlp_drop_grad");
  add_operand_gather(pass.input, layer);
  pass.input.begin("mlp_down_grad");
  pass.linear("mlp_down_weight_grad", {shape.tokens, shape.hidden, shape.mlp}, /*in_pieces=*/true);
  // Fused, the gradient of the output and each input are read and the gradient of each input is written.
  const KernelTraffic activation = activation_kernels(layer).backward;
  pass.input.begin("mlp_act_grad")
      .memory(MemoryKernel::Gelu, activation.bytes * elements(shape, shape.mlp), activation.count);
  pass.input.begin("mlp_up_grad");
  const BackwardPass::ProductTimes begun = pass.products;
  pass.linear("mlp_up_weight_grad", {shape.tokens, shape.mlp_inputs * shape.mlp, shape.hidden});
  add_input_reduction(pass, layer, begun);
  add_norm_backward(pass.input, layer, "mlp_norm_grad");
}

}  // namespace vtrain
