/// The model that is trained: a transformer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.hpp"
#include "core/base/units.hpp"

namespace vtrain {

/// The non-linearity of the MLP. `SwiGlu` is gated: it has a third weight matrix.
enum class Activation : std::uint8_t {
  Gelu,         ///< GELU
  SwiGlu,       ///< gated SiLU
  SquaredRelu,  ///< square of ReLU
  Relu          ///< ReLU
};

/// The normalisation before attention and MLP, and after the last layer.
enum class Normalization : std::uint8_t {
  LayerNorm,  ///< normalisation by mean and variance
  RmsNorm     ///< normalisation by root mean square
};

/// Encoding of token positions: a learned table next to the word embedding, a rotation of queries and keys,
/// or none.
enum class Positions : std::uint8_t {
  Learned,  ///< a table next to the word embedding
  Rotary,   ///< a rotation of queries and keys
  None      ///< no encoding
};

/// Bound of `sequence_length`, far beyond every model so far.
inline constexpr std::int64_t kMaxSequenceLength = std::int64_t{1} << 24;

/// A mixture of experts in place of the MLP. `num_experts` 0: the model is dense.
struct MixtureOfExperts {
  std::int64_t num_experts = 0;       ///< experts of a layer that tokens are routed to; 0: the model is dense
  std::int64_t top_k = 0;             ///< experts that each token is routed to
  std::int64_t expert_ffn_size = 0;   ///< inner size of one expert
  std::int64_t shared_ffn_size = 0;   ///< inner size of all experts that every token passes, 0 for none
  std::int64_t num_dense_layers = 0;  ///< the first layers, which have an MLP of `ffn_size` instead
  double capacity_factor = 0;  ///< ratio of an expert's rows to the mean; 0: the rows that are routed to it
  /// Width to which tokens are projected before they are routed and from which they come back (NVIDIA,
  /// "Nemotron 3", 2025: LatentMoE); 0: experts see the hidden size.
  std::int64_t latent_size = 0;
  /// Equal groups of experts. For each token a router picks some groups before it picks experts in them
  /// (DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, section 2.1.2). 1: no groups.
  std::int64_t num_groups = 1;
  std::int64_t groups_per_token = 1;  ///< groups that the router picks for each token
  friend bool operator==(const MixtureOfExperts&, const MixtureOfExperts&) = default;
};

/// Multi-head latent attention (DeepSeek-AI, "DeepSeek-V2", 2024, section 2.1): queries, keys and values pass
/// through low-rank projections. `kv_rank` 0: ordinary attention.
struct LatentAttention {
  std::int64_t query_rank = 0;        ///< 0: queries are projected directly
  std::int64_t kv_rank = 0;           ///< columns of the compressed keys and values; 0: no latent attention
  std::int64_t plain_head_size = 0;   ///< columns of a query or key head without position
  std::int64_t rotary_head_size = 0;  ///< rotated columns of a query or key head; all heads share the key's
  std::int64_t value_head_size = 0;   ///< columns of a value head

  /// Columns of the compressed form with the key's rotated part; includes queries if they are compressed.
  std::int64_t compressed_columns() const { return query_rank + kv_rank + rotary_head_size; }
  friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};

/// Attention to the nearest tokens instead of all earlier ones. `size` 0: no layer has a window.
struct AttentionWindow {
  std::int64_t size = 0;         ///< tokens that a token attends to, itself included
  std::int64_t first_layer = 0;  ///< the first layer with a window
  std::int64_t full_every = 0;   ///< last of each `full_every` layers has none (gpt-oss: 2); 0: all have it
  friend bool operator==(const AttentionWindow&, const AttentionWindow&) = default;
};

/// State-space layers in place of attention: Mamba-2 (Dao and Gu, "Transformers are SSMs", ICLR'24,
/// arXiv:2405.21060, sections 6 and 7). `num_heads` 0: the model has none.
struct StateSpace {
  std::int64_t num_heads = 0;     ///< heads of a layer; 0: none
  std::int64_t head_size = 0;     ///< columns of a head
  std::int64_t state_size = 0;    ///< values of the state for each column of a head
  std::int64_t num_groups = 1;    ///< groups of heads that share the projections into and out of the state
  std::int64_t conv_width = 4;    ///< tokens that the causal convolution sees
  std::int64_t chunk_size = 128;  ///< tokens that are computed together
  /// Columns of the inner layer, over all heads.
  std::int64_t inner_size() const { return num_heads * head_size; }
  /// Columns that pass the convolution: the inner layer, and both projections of each group.
  std::int64_t conv_size() const { return inner_size() + 2 * num_groups * state_size; }
  /// Columns of the input projection: those of the convolution, the gate, and a time step for each head.
  std::int64_t projection_size() const { return inner_size() + conv_size() + num_heads; }
  friend bool operator==(const StateSpace&, const StateSpace&) = default;
};

/// Multi-token prediction after the last layer (DeepSeek-AI, "DeepSeek-V3", 2024, section 2.2): `depth` times
/// over, the hidden state and the embedding of the token after the next are normalised and projected together
/// (2 h to h), pass some layers and predict with the output layer. `depth` 0: none.
struct MultiTokenPrediction {
  std::int64_t depth = 0;       ///< additional tokens that are predicted; 0: none
  bool shares_weights = false;  ///< all depths use the same weights (Nemotron 3)
  /// Letters of the layers of a hybrid, as in `TransformerModel::layer_pattern`; other models use one layer
  /// like the last.
  std::string layer_pattern{};
  friend bool operator==(const MultiTokenPrediction&, const MultiTokenPrediction&) = default;
};

/// Values that are dropped at random in training (Srivastava et al., JMLR 2014). The rate does not change the
/// cost.
struct Dropout {
  bool attention = false;  ///< results of the softmax of the scores
  bool hidden = false;     ///< outputs of embedding, attention and MLP
  friend bool operator==(const Dropout&, const Dropout&) = default;
};

/// A decoder-only transformer: GPT or Llama style, dense or a mixture of experts, or a hybrid with
/// state-space layers; or, with `is_bidirectional`, an encoder like BERT. The defaults are GPT-3's. A size
/// that is 0 follows from the others; the matching function returns it.
struct TransformerModel {
  std::string name{};                        ///< name for people
  std::int64_t num_layers = 0;               ///< layers, without embedding and output layer
  std::int64_t hidden_size = 0;              ///< columns of the hidden state
  std::int64_t num_heads = 0;                ///< attention heads of a layer
  std::int64_t sequence_length = 0;          ///< tokens of a sequence in training
  std::int64_t vocab_size = 50257;           ///< entries of the vocabulary
  std::int64_t num_kv_heads = 0;             ///< heads of keys and values; 0: as many as `num_heads`
  std::int64_t size_per_head = 0;            ///< 0: `hidden_size / num_heads`
  std::int64_t ffn_size = 0;                 ///< inner size of the MLP; 0: 4 x `hidden_size`
  Activation activation = Activation::Gelu;  ///< non-linearity of the MLP
  Normalization normalization = Normalization::LayerNorm;  ///< kind of the norms
  Positions positions = Positions::Learned;                ///< encoding of token positions
  bool tied_embeddings = true;                             ///< the logits use the word embedding
  bool has_bias = true;                                    ///< linear layers add a bias
  bool has_qkv_bias = false;         ///< queries, keys and values add a bias even without `has_bias`
  bool has_qk_norm = false;          ///< queries and keys are normalised, head by head
  bool scales_rotation = false;      ///< sines and cosines are multiplied by a factor that is not 1 (YaRN)
  bool clamps_activation = false;    ///< the inputs of the non-linearity are clamped (gpt-oss)
  bool is_bidirectional = false;     ///< a token attends to those after it as well
  bool has_attention_sinks = false;  ///< each head learns a score that takes part in the softmax (gpt-oss)
  MixtureOfExperts experts{};        ///< experts in place of the MLP, if any
  LatentAttention latent{};          ///< latent attention, if any
  AttentionWindow window{};          ///< window of the attention, if any
  StateSpace state_space{};          ///< state-space layers, if any
  /// One letter for each layer of a hybrid; each is one half of an ordinary layer. `M` state space, `*`
  /// attention, `-` MLP, `E` experts (the `hybrid_override_pattern` of Nemotron-H). Empty: every layer has
  /// attention and, after it, an MLP or experts.
  std::string layer_pattern{};
  MultiTokenPrediction prediction{};  ///< multi-token prediction, if any
  std::optional<Dropout> dropout{};   ///< none: the software stack decides

  /// Heads of keys and values.
  std::int64_t kv_heads() const { return num_kv_heads > 0 ? num_kv_heads : num_heads; }
  /// Columns of a head of queries and keys.
  std::int64_t head_size() const { return size_per_head > 0 ? size_per_head : hidden_size / num_heads; }
  /// Columns of the inner layer of the MLP.
  std::int64_t mlp_size() const { return ffn_size > 0 ? ffn_size : 4 * hidden_size; }
  /// True if the MLP multiplies two projections of its input.
  bool is_gated() const { return activation == Activation::SwiGlu; }
  /// True if any layer has experts.
  bool has_experts() const { return experts.num_experts > 0; }
  /// True if keys and values are kept compressed.
  bool has_latent_attention() const { return latent.kv_rank > 0; }
  /// True if `layer_pattern` gives the kind of each layer.
  bool is_hybrid() const { return !layer_pattern.empty(); }
  /// Columns of the tokens that routed experts see.
  std::int64_t routed_size() const { return experts.latent_size > 0 ? experts.latent_size : hidden_size; }
  /// Weight matrices of the MLP that multiply its input: 2 if it is gated, else 1.
  std::int64_t mlp_inputs() const { return is_gated() ? 2 : 1; }
  /// Columns of all queries in attention.
  std::int64_t query_size() const;
  std::int64_t key_size() const;    ///< columns of all keys
  std::int64_t value_size() const;  ///< columns of all values
  /// Columns of the attention's output, over all heads.
  std::int64_t attention_output_size() const;

  /// All weights: layers, word embedding, learned positions, final norm, multi-token prediction and an untied
  /// output layer. GPT-3's architecture has 12 h^2 + 13 h a layer, V h + s h embeddings and 2 h for the final
  /// norm (Narayanan et al., SC'21, section 5.1).
  std::int64_t num_parameters() const;
  /// The weights that a token passes, with only `top_k` of the routed experts in each layer.
  std::int64_t active_parameters() const;
  friend bool operator==(const TransformerModel&, const TransformerModel&) = default;
};

/// Checks that a model can be computed; the error names the field. Every size is within wide bounds. Heads
/// divide the hidden size unless the size of a head is given; heads of keys and values divide the heads.
/// Experts need their sizes, and a token passes no more of them than exist. Latent attention and state-space
/// layers need all of their sizes. A pattern has a known letter for every layer.
Result<void> check_model(const TransformerModel& model);

/// Arithmetic of one iteration without recomputation: a forward pass and a backward pass of twice its cost. B
/// sequences of s tokens take 2 B s FLOP a weight forward in matrix products (of the routed experts only the
/// `top_k` count). Attention takes 2 B s^2 (query + value size) a layer, the masked half included; with a
/// window of w tokens 2 B (2 s w - w^2) (query + value size). State-space layers take 2 B s (c (groups x
/// state + heads x head) + 2 heads x head x state) more, in chunks of c tokens, the masked half included
/// (arXiv:2405.21060, section 6). For GPT-3's architecture three passes take 72 B s L h^2 (1 + s / (6 h) + V
/// / (12 L h)): Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
/// Megatron-LM", SC'21, appendix, without its fourth pass (recomputation).
Flops model_flops(const TransformerModel& model, std::int64_t global_batch);

/// Part of `model_flops` in the masked half of attention, which fused kernels skip: 0 to 0.5.
double masked_share(const TransformerModel& model);

}  // namespace vtrain
