/// What is trained and how it is split: a transformer, and its parallel plan.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.hpp"
#include "core/units.hpp"

namespace vtrain {

/// A GPT-style decoder-only transformer.
struct TransformerModel {
  std::string name;
  std::int64_t num_layers = 0;
  std::int64_t hidden_size = 0;
  std::int64_t num_heads = 0;
  std::int64_t sequence_length = 0;
  std::int64_t vocab_size = 50257;

  /// Weights: 12 h^2 + 13 h a layer, V h + s h embeddings, 2 h for the final norm (Narayanan et al., SC'21,
  /// section 5.1).
  std::int64_t num_parameters() const;
  friend bool operator==(const TransformerModel&, const TransformerModel&) = default;
};

/// What is kept of the forward pass for the backward pass.
enum class Recompute : std::uint8_t {
  None,  ///< every activation
  Full,  ///< the input of each layer; the layer's forward pass is run again
};

/// 3D parallelism: how one iteration of a model is spread over tensor x data x pipeline GPUs.
struct ParallelPlan {
  std::int64_t tensor = 1;
  std::int64_t data = 1;
  std::int64_t pipeline = 1;
  std::int64_t global_batch = 0;  ///< sequences an iteration
  std::int64_t micro_batch = 0;   ///< sequences a micro-batch
  Recompute recompute = Recompute::Full;

  GpuCount num_gpus() const { return GpuCount(static_cast<std::int32_t>(tensor * data * pipeline)); }
  /// Micro-batches that each pipeline works through in an iteration.
  std::int64_t num_micro_batches() const { return global_batch / data / micro_batch; }
  friend bool operator==(const ParallelPlan&, const ParallelPlan&) = default;
};

/// Whether a model can be computed with: every size at least 1 and within wide bounds, hidden size divided by
/// the heads. The error names the field.
Result<void> check_model(const TransformerModel& model);

/// Whether the plan fits the model: `check_model`; tensor divides the heads, pipeline the layers, data the
/// global batch and the micro-batch what is left of it. The error names the field of the plan.
Result<void> check_plan(const TransformerModel& model, const ParallelPlan& plan);

/// Arithmetic of one iteration that the model itself asks for, without recomputation: a forward pass and a
/// backward pass of twice its cost. With B sequences of s tokens, the matrix products of a layer take 24 B s
/// h^2 + 4 B s^2 h forward and the logits 2 B s h V, so that three passes take 72 B s L h^2 (1 + s / (6 h) +
/// V / (12 L h)): Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
/// Megatron-LM", SC'21, appendix, with its fourth pass (recomputation) left out.
Flops model_flops(const TransformerModel& model, std::int64_t global_batch);

}  // namespace vtrain
