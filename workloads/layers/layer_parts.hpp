/// The parts that layers are made of, forward and backward: attention, state space, MLP, mixture of experts.
#pragma once

#include <algorithm>
#include <string_view>

#include "core/base/units.hpp"
#include "workloads/layers/layer_shape.hpp"
#include "workloads/layers/pass_builder.hpp"
#include "workloads/model/layer_kinds.hpp"
#include "workloads/model/model.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {

/// What the parts of a layer depend on.
struct LayerContext {
  const TransformerModel& model;
  const LayerKey& key;
  const GpuProfile& profile;
  const Stack& stack;
  LayerShape shape;

  /// Kernels that do several memory-bound steps in one.
  bool is_fused() const { return stack.elementwise == ElementwiseKernels::Fused; }
  /// Kernels of Megatron-LM in 2021.
  bool is_2021() const { return stack.elementwise == ElementwiseKernels::Megatron2021; }
  /// Kernels of PyTorch itself, one for each step.
  bool is_eager() const { return stack.elementwise == ElementwiseKernels::Eager; }
  /// Norms for which eager code has no kernel.
  bool has_plain_norm() const { return is_eager() && model.normalization == Normalization::RmsNorm; }
  /// What is dropped.
  Dropout dropout() const { return model.dropout.value_or(stack.memory.dropout); }
  /// The precision of products of which the stack says whether they are computed in a wider format.
  Precision precision_unless(bool is_wider, Precision wider = Precision::Bf16) const {
    return is_wider ? std::min(key.precision, wider) : key.precision;
  }
};

/// Elements of a micro-batch's tokens times columns.
inline double elements(const LayerShape& shape, std::int64_t columns) {
  return real(shape.tokens) * real(columns);
}

/// Columns of the keys and values that attention reads: where they are repeated, of every query's head.
inline std::int64_t keys_and_values(const LayerContext& layer) {
  const LayerShape& shape = layer.shape;
  return layer.stack.eager.repeated_heads ? shape.query + shape.attention_output : shape.key + shape.value;
}

/// The backward pass of a layer. Weight gradients go to a pass of their own where the schedule runs them
/// later.
struct BackwardPass {
  PassBuilder input;
  PassBuilder weight;
  bool splits_weights = false;
  /// Times of products for gradients.
  struct ProductTimes {
    Nanoseconds input_gradients{0};
    Nanoseconds weight_gradients{0};
  };
  ProductTimes products{};  ///< of `linear` so far, those that `input` holds

  /// The precision of products that follow.
  void use(Precision precision) {
    input.use(precision);
    weight.use(precision);
  }
  /// The gradients of a linear layer whose forward pass is `forward`, with its quantisation. That of the
  /// input is computed `in_pieces` where that of the output is gathered beside it.
  void linear(std::string_view name, const GemmShape& forward, bool in_pieces = false);
};

// Each part adds its operators to a forward pass, and their gradients, in the opposite order, to a backward
// pass.

/// Norm, projections, attention, residual: the first half of a layer whose mixer has attention.
void add_attention_forward(PassBuilder& pass, const LayerContext& layer, Mixer mixer);
void add_attention_backward(BackwardPass& pass, const LayerContext& layer, Mixer mixer);

/// Norm, projections, convolution, scan, gated norm, residual: a state space in place of attention.
void add_state_space_forward(PassBuilder& pass, const LayerContext& layer);
void add_state_space_backward(BackwardPass& pass, const LayerContext& layer);

/// Norm, MLP, residual: the second half of a layer without experts.
void add_mlp_forward(PassBuilder& pass, const LayerContext& layer);
void add_mlp_backward(BackwardPass& pass, const LayerContext& layer);

/// Norm, router, experts, residual: the second half of a layer with experts.
void add_experts_forward(PassBuilder& pass, const LayerContext& layer);
void add_experts_backward(BackwardPass& pass, const LayerContext& layer);

/// Whether an operator is the dispatch or combine of experts, in either pass.
bool is_dispatch(const Operator& op);

/// A norm, and the residual connection after a half of a layer.
void add_norm_forward(PassBuilder& pass, const LayerContext& layer, std::string_view name);
void add_norm_backward(PassBuilder& pass, const LayerContext& layer, std::string_view name);
void add_residual_forward(PassBuilder& pass, const LayerContext& layer, std::string_view name);
void add_residual_backward(PassBuilder& pass, const LayerContext& layer, std::string_view name);

/// The collectives around a half of a layer, on so many columns: with sequence parallelism its input is
/// gathered and its output reduced and scattered, without it is reduced everywhere.
void add_gather(PassBuilder& pass, const LayerContext& layer, std::string_view name, std::int64_t columns);
inline void add_gather(PassBuilder& pass, const LayerContext& layer) {
  add_gather(pass, layer, "all_gather", layer.shape.hidden);
}
/// The same for an operand of the layers' products, which stacks may convert to 8 or 4 bits before.
void add_operand_gather(PassBuilder& pass, const LayerContext& layer, std::string_view name,
                        std::int64_t columns);
inline void add_operand_gather(PassBuilder& pass, const LayerContext& layer) {
  add_operand_gather(pass, layer, "all_gather", layer.shape.hidden);
}
/// The product at the other end of the half in the forward pass, and the reduction of its result.
void add_reduced_product(PassBuilder& pass, const LayerContext& layer, const GemmShape& shape);
/// The reduction alone.
void add_reduction(PassBuilder& pass, const LayerContext& layer, std::int64_t columns);
inline void add_reduction(PassBuilder& pass, const LayerContext& layer) {
  add_reduction(pass, layer, layer.shape.hidden);
}
/// Of a layer that is split by columns: the gradient of its input is reduced, which may run beside the
/// products for the weights' gradients, and before it its input is gathered for these, beside the products
/// for the gradient of the input. `begun` is what the pass had of products before the layer.
void add_input_reduction(BackwardPass& pass, const LayerContext& layer,
                         const BackwardPass::ProductTimes& begun, std::int64_t columns);
inline void add_input_reduction(BackwardPass& pass, const LayerContext& layer,
                                const BackwardPass::ProductTimes& begun) {
  add_input_reduction(pass, layer, begun, layer.shape.hidden);
}

}  // namespace vtrain
