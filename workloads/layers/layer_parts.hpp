/// The parts of layers, forward and backward: attention, state space, MLP, mixture of experts.
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

/// Inputs of the functions that add the parts of a layer.
struct LayerContext {
  const TransformerModel& model;
  const LayerKey& key;
  const GpuProfile& profile;
  const Stack& stack;
  LayerShape shape;

  /// True if one kernel does several memory-bound steps.
  bool is_fused() const { return stack.elementwise == ElementwiseKernels::Fused; }
  /// True if the kernels are those of Megatron-LM in 2021.
  bool is_2021() const { return stack.elementwise == ElementwiseKernels::Megatron2021; }
  /// True if each step is a kernel of PyTorch itself.
  bool is_eager() const { return stack.elementwise == ElementwiseKernels::Eager; }
  /// True if eager code has no kernel for the norms.
  bool has_plain_norm() const { return is_eager() && model.normalization == Normalization::RmsNorm; }
  /// The dropout of the model or, if it has none, of the stack.
  Dropout dropout() const { return model.dropout.value_or(stack.memory.dropout); }
  /// The precision of products that the stack computes in the format `wider` if `is_wider`.
  Precision precision_unless(bool is_wider, Precision wider = Precision::Bf16) const {
    return is_wider ? std::min(key.precision, wider) : key.precision;
  }
};

/// Number of elements in `columns` columns of a micro-batch's tokens.
inline double elements(const LayerShape& shape, std::int64_t columns) {
  return real(shape.tokens) * real(columns);
}

/// Columns of the keys and values that attention reads; one set for every query head if they are repeated.
inline std::int64_t keys_and_values(const LayerContext& layer) {
  const LayerShape& shape = layer.shape;
  return layer.stack.eager.repeated_heads ? shape.query + shape.attention_output : shape.key + shape.value;
}

/// The backward pass of a layer. Weight gradients go to a separate pass if the schedule runs them later.
struct BackwardPass {
  PassBuilder input;
  PassBuilder weight;
  bool splits_weights = false;
  /// Times of products for gradients.
  struct ProductTimes {
    Nanoseconds input_gradients{0};
    Nanoseconds weight_gradients{0};
  };
  ProductTimes products{};  ///< times of the products that `linear` has added to `input`

  /// Sets the precision of the products that follow.
  void use(Precision precision) {
    input.use(precision);
    weight.use(precision);
  }
  /// Adds the gradients of a linear layer whose forward pass is `forward`, with its quantisation. The input's
  /// gradient is computed `in_pieces` if the output's gradient is gathered in parallel.
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

/// True if an operator is the dispatch or combine of experts, in either pass.
bool is_dispatch(const Operator& op);

/// A norm, and the residual connection after a half of a layer.
void add_norm_forward(PassBuilder& pass, const LayerContext& layer, std::string_view name);
void add_norm_backward(PassBuilder& pass, const LayerContext& layer, std::string_view name);
void add_residual_forward(PassBuilder& pass, const LayerContext& layer, std::string_view name);
void add_residual_backward(PassBuilder& pass, const LayerContext& layer, std::string_view name);

/// Adds the gather before a half of a layer, on `columns` columns. With sequence parallelism the half's input
/// is gathered and its output reduced and scattered; without it the output is all-reduced.
void add_gather(PassBuilder& pass, const LayerContext& layer, std::string_view name, std::int64_t columns);
inline void add_gather(PassBuilder& pass, const LayerContext& layer) {
  add_gather(pass, layer, "all_gather", layer.shape.hidden);
}
/// Adds the gather of an operand of the layer's products; stacks may first convert it to 8 or 4 bits.
void add_operand_gather(PassBuilder& pass, const LayerContext& layer, std::string_view name,
                        std::int64_t columns);
inline void add_operand_gather(PassBuilder& pass, const LayerContext& layer) {
  add_operand_gather(pass, layer, "all_gather", layer.shape.hidden);
}
/// Adds the last product of a half's forward pass, and the reduction of its result.
void add_reduced_product(PassBuilder& pass, const LayerContext& layer, const GemmShape& shape);
/// Adds the reduction alone.
void add_reduction(PassBuilder& pass, const LayerContext& layer, std::int64_t columns);
inline void add_reduction(PassBuilder& pass, const LayerContext& layer) {
  add_reduction(pass, layer, layer.shape.hidden);
}
/// Adds the reduction of the input's gradient of a layer that is split by columns. It may overlap the
/// products for the weights' gradients. Before it the input is gathered for those products, which may overlap
/// the products for the input's gradient. `begun` holds the times of the pass's products before the layer.
void add_input_reduction(BackwardPass& pass, const LayerContext& layer,
                         const BackwardPass::ProductTimes& begun, std::int64_t columns);
inline void add_input_reduction(BackwardPass& pass, const LayerContext& layer,
                                const BackwardPass::ProductTimes& begun) {
  add_input_reduction(pass, layer, begun, layer.shape.hidden);
}

}  // namespace vtrain
