/// What is trained: a transformer.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.hpp"
#include "core/units.hpp"

namespace vtrain {

/// The non-linearity of the MLP. `SwiGlu` is gated: it has a third weight matrix.
enum class Activation : std::uint8_t { Gelu, SwiGlu, SquaredRelu };

/// The normalisation before attention and MLP, and after the last layer.
enum class Normalization : std::uint8_t { LayerNorm, RmsNorm };

/// How tokens know their positions: a learned table beside the word embedding, or a rotation of queries and
/// keys.
enum class Positions : std::uint8_t { Learned, Rotary };

/// A mixture of experts in place of the MLP. `num_experts` 0: the model is dense.
struct MixtureOfExperts {
  std::int64_t num_experts = 0;
  std::int64_t top_k = 0;             ///< experts that each token is routed to
  std::int64_t expert_ffn_size = 0;   ///< inner size of one expert
  std::int64_t shared_ffn_size = 0;   ///< inner size of all experts that every token passes, 0 for none
  std::int64_t num_dense_layers = 0;  ///< the first layers, which have an MLP of `ffn_size` instead
  double capacity_factor = 0;         ///< tokens an expert takes over the mean; 0: no token is dropped
  friend bool operator==(const MixtureOfExperts&, const MixtureOfExperts&) = default;
};

/// Multi-head latent attention (DeepSeek-AI, "DeepSeek-V2", 2024, section 2.1): queries, keys and values pass
/// through low-rank projections. `kv_rank` 0: ordinary attention.
struct LatentAttention {
  std::int64_t query_rank = 0;  ///< 0: queries are projected directly
  std::int64_t kv_rank = 0;
  std::int64_t plain_head_size = 0;   ///< of query and key, without position
  std::int64_t rotary_head_size = 0;  ///< of query and key, rotated; the key's is shared by all heads
  std::int64_t value_head_size = 0;
  friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};

/// A decoder-only transformer: GPT or Llama style, dense or a mixture of experts. The defaults are GPT-3's;
/// a size that is 0 follows from the others, and the function of its name gives it.
struct TransformerModel {
  std::string name{};
  std::int64_t num_layers = 0;
  std::int64_t hidden_size = 0;
  std::int64_t num_heads = 0;
  std::int64_t sequence_length = 0;
  std::int64_t vocab_size = 50257;
  std::int64_t num_kv_heads = 0;   ///< heads of keys and values; 0: as many as `num_heads`
  std::int64_t size_per_head = 0;  ///< 0: `hidden_size / num_heads`
  std::int64_t ffn_size = 0;       ///< inner size of the MLP; 0: 4 x `hidden_size`
  Activation activation = Activation::Gelu;
  Normalization normalization = Normalization::LayerNorm;
  Positions positions = Positions::Learned;
  bool tied_embeddings = true;  ///< the logits use the word embedding
  bool has_bias = true;         ///< linear layers add a bias
  MixtureOfExperts experts{};
  LatentAttention latent{};

  std::int64_t kv_heads() const { return num_kv_heads > 0 ? num_kv_heads : num_heads; }
  std::int64_t head_size() const { return size_per_head > 0 ? size_per_head : hidden_size / num_heads; }
  std::int64_t mlp_size() const { return ffn_size > 0 ? ffn_size : 4 * hidden_size; }
  bool is_gated() const { return activation == Activation::SwiGlu; }
  bool has_experts() const { return experts.num_experts > 0; }
  bool has_latent_attention() const { return latent.kv_rank > 0; }

  /// Weights: 12 h^2 + 13 h a layer, V h + s h embeddings, 2 h for the final norm (Narayanan et al., SC'21,
  /// section 5.1).
  std::int64_t num_parameters() const;
  friend bool operator==(const TransformerModel&, const TransformerModel&) = default;
};

/// Whether a model can be computed with: every size at least 1 and within wide bounds, hidden size divided by
/// the heads. The error names the field.
Result<void> check_model(const TransformerModel& model);

/// Arithmetic of one iteration that the model itself asks for, without recomputation: a forward pass and a
/// backward pass of twice its cost. With B sequences of s tokens, the matrix products of a layer take 24 B s
/// h^2 + 4 B s^2 h forward and the logits 2 B s h V, so that three passes take 72 B s L h^2 (1 + s / (6 h) +
/// V / (12 L h)): Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
/// Megatron-LM", SC'21, appendix, with its fourth pass (recomputation) left out.
Flops model_flops(const TransformerModel& model, std::int64_t global_batch);

}  // namespace vtrain
