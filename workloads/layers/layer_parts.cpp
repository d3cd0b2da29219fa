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

/// Kernels of the MLP's non-linearity, bytes an element of its input.
struct ActivationKernels {
  KernelTraffic forward;
  KernelTraffic backward;
};

/// Activation kernels of eager code, operator by operator. The gradient of a square is that of a power, which
/// copies its operand to the power of one (pow_backward of PyTorch's FunctionsManual.cpp). GELU of decoders
/// is the formula with tanh that GPT-2's code in transformers spells out (NewGELUActivation); of encoders it
/// is one kernel.
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

/// Kernels of an RMS norm without a fused kernel: PyTorch has none before release 2.9 (pytorch/pytorch, pull
/// request 153666), nor have the models in transformers (LlamaRMSNorm). Forward the input is converted to
/// single precision and squared, the squares' mean is taken, the input multiplied by its inverse root,
/// converted back, and multiplied by the weight. Backward come the gradients of the two products, of the root
/// and of the squares; two of them are added up. Factors of a row or column are broadcast. In single
/// precision nothing is converted.
NormKernels plain_norm(Precision precision) {
  if (precision == Precision::Fp32) {
    return {{.strided_passes = 2, .strided_traffic = 8, .traffic = 12, .num_kernels = 6},
            {.strided_passes = 3, .strided_traffic = 8, .traffic = 52, .num_kernels = 11}};
  }
  return {{.strided_passes = 4, .strided_traffic = 6, .traffic = 12, .num_kernels = 8},
          {.strided_passes = 5, .strided_traffic = 6.4, .traffic = 44, .num_kernels = 13}};
}

/// Time of a collective of the tensor-parallel group on `columns` columns of every token.
KernelTime tensor_time(const LayerContext& layer, Collective collective, std::int64_t columns,
                       double bytes_per_element) {
  return collective_time(layer.profile, collective, layer.shape.tensor_group,
                         Bytes(bytes_per_element * elements(layer.shape, columns)), layer.stack.libraries);
}

/// A sum over the tensor-parallel group. Each GPU holds all of it or, with sequence parallelism, its part.
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

/// Adds the kernels that sum up pieces, for stacks that reduce in pieces with separate kernels.
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
  // If not fused, the kernel of the gradients of the norm's weights reads both tensors again.
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
