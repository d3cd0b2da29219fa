/// The kinds of layers that a model is made of: which they are, where they are, and what they weigh.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "workloads/model/model.hpp"

namespace vtrain {

/// The first half of a layer, in which tokens see each other.
enum class Mixer : std::uint8_t { None, Attention, WindowedAttention, StateSpace };

/// The second half of a layer, which each token passes alone.
enum class FeedForward : std::uint8_t { None, Mlp, Experts };

/// What a layer consists of; each half has a norm before and a residual connection around it.
struct LayerKind {
  Mixer mixer = Mixer::Attention;
  FeedForward feed_forward = FeedForward::Mlp;

  /// Whether there is a first half.
  bool has_mixer() const { return mixer != Mixer::None; }
  /// Whether that is attention, to a window or not.
  bool has_attention() const { return mixer == Mixer::Attention || mixer == Mixer::WindowedAttention; }
  /// Whether the second half is a mixture of experts.
  bool has_experts() const { return feed_forward == FeedForward::Experts; }
  /// How many of the two there are.
  int num_halves() const { return (has_mixer() ? 1 : 0) + (feed_forward == FeedForward::None ? 0 : 1); }
  friend bool operator==(const LayerKind&, const LayerKind&) = default;
};

/// Kinds in one model, at most.
inline constexpr std::size_t kNumLayerKinds = 4;

/// Something for each kind that a model can have, in the order of `layer_kinds`.
template <class T>
using PerLayerKind = std::array<T, kNumLayerKinds>;

/// How many layers there are of each kind.
using LayerCounts = PerLayerKind<std::int32_t>;

/// The kinds of a model's layers, of which it need not have all: attention with an MLP or with experts, the
/// same with a window; of a hybrid the four halves.
const PerLayerKind<LayerKind>& layer_kinds(const TransformerModel& model);

/// The kind of one layer, as its place in `layer_kinds`.
std::size_t kind_of_layer(const TransformerModel& model, std::int64_t layer);

/// The layers from `first` on by kind. Constant time, of a hybrid a look at each letter.
LayerCounts count_layers(const TransformerModel& model, std::int64_t first, std::int64_t count);

/// All layers of a model by kind.
inline LayerCounts count_layers(const TransformerModel& model) {
  return count_layers(model, 0, model.num_layers);
}

/// The layers of one depth of multi-token prediction, by kind.
LayerCounts prediction_layers(const TransformerModel& model);

/// How many sets of weights multi-token prediction has.
std::int64_t prediction_sets(const TransformerModel& model);

/// Weights of one set beside its layers': the projection of hidden state and embedding, and three norms.
std::int64_t prediction_weights(const TransformerModel& model);

/// The weights of one layer, by part; biases are counted with the matrices that they belong to.
struct LayerWeights {
  std::int64_t attention = 0;  ///< or state space: projections, and the norms inside
  /// Of latent attention: the projections into the compressed form, and its norms.
  std::int64_t compression = 0;
  std::int64_t mlp = 0;     ///< the MLP of a dense layer, or the experts that every token passes
  std::int64_t router = 0;  ///< with the projections to the width of the routed experts and back
  std::int64_t expert = 0;  ///< one routed expert
  std::int64_t num_experts = 0;
  std::int64_t norms = 0;  ///< before each half

  /// All but the routed experts.
  std::int64_t shared() const { return attention + compression + mlp + router + norms; }
  /// The same on each of the `tensor` GPUs that share a layer, all of which have router, norms and what
  /// compresses.
  double shared_on_gpu(double tensor) const {
    return static_cast<double>(attention + mlp) / tensor + static_cast<double>(compression + router + norms);
  }
  /// All weights, of every routed expert too.
  std::int64_t total() const { return shared() + num_experts * expert; }
};

/// The weights of a layer. The model must have passed `check_model`.
LayerWeights layer_weights(const TransformerModel& model, LayerKind kind);

/// The weights of a norm over `size` columns.
std::int64_t norm_weights(const TransformerModel& model, std::int64_t size);

/// Elements of the matrices of a layer that a token passes: of the routed experts `top_k`.
std::int64_t product_weights(const TransformerModel& model, LayerKind kind);

}  // namespace vtrain
