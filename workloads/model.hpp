/// What is trained and how it is split: a transformer, and its parallel plan.
#pragma once

#include <cstdint>
#include <string>

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

}  // namespace vtrain
