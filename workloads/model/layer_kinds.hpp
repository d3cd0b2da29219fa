/// The kinds of a model's layers: their parts, their positions and their numbers of weights.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "workloads/model/model.hpp"

namespace vtrain {

/// First half of a layer, in which tokens see each other.
enum class Mixer : std::uint8_t { None, Attention, WindowedAttention, StateSpace };

/// Second half of a layer, which each token passes alone.
enum class FeedForward : std::uint8_t { None, Mlp, Experts };

/// Halves of a layer. Each half has a norm before it and a residual connection around it.
struct LayerKind {
  Mixer mixer = Mixer::Attention;
  FeedForward feed_forward = FeedForward::Mlp;

  /// True if there is a first half.
  bool has_mixer() const { return mixer != Mixer::None; }
  /// True if the first half is attention, with or without a window.
  bool has_attention() const { return mixer == Mixer::Attention || mixer == Mixer::WindowedAttention; }
  /// True if the second half is a mixture of experts.
  bool has_experts() const { return feed_forward == FeedForward::Experts; }
  /// Number of halves, up to 2.
  int num_halves() const { return (has_mixer() ? 1 : 0) + (feed_forward == FeedForward::None ? 0 : 1); }
  friend bool operator==(const LayerKind&, const LayerKind&) = default;
};

/// Largest number of kinds in one model.
inline constexpr std::size_t kNumLayerKinds = 4;

/// A value for each kind that a model can have, in the order of `layer_kinds`.
template <class T>
using PerLayerKind = std::array<T, kNumLayerKinds>;

/// Number of layers of each kind.
using LayerCounts = PerLayerKind<std::int32_t>;

/// The kinds of a model's layers: attention with an MLP or with experts, and both with a window; for a
/// hybrid, the four halves. A model need not have a layer of every kind.
const PerLayerKind<LayerKind>& layer_kinds(const TransformerModel& model);

/// The kind of one layer, as its place in `layer_kinds`.
std::size_t kind_of_layer(const TransformerModel& model, std::int64_t layer);

/// Counts `count` layers from `first` on by kind. Constant time, for a hybrid linear in `count`.
LayerCounts count_layers(const TransformerModel& model, std::int64_t first, std::int64_t count);

/// Counts all layers of a model by kind.
inline LayerCounts count_layers(const TransformerModel& model) {
  return count_layers(model, 0, model.num_layers);
}

/// Counts the layers of one depth of multi-token prediction by kind.
LayerCounts prediction_layers(const TransformerModel& model);

/// Number of sets of weights in multi-token prediction.
std::int64_t prediction_sets(const TransformerModel& model);

/// Weights of one set outside its layers: the projection of hidden state and embedding, and three norms.
std::int64_t prediction_weights(const TransformerModel& model);

/// The weights of one layer, by part; biases are counted with the matrices that they belong to.
struct LayerWeights {
  std::int64_t attention = 0;  ///< attention or state space: projections, and the norms inside
  /// Projections of latent attention into the compressed form, and its norms.
  std::int64_t compression = 0;
  std::int64_t mlp = 0;     ///< the MLP of a dense layer, or the experts that every token passes
  std::int64_t router = 0;  ///< router, and the projections to the width of the routed experts and back
  std::int64_t expert = 0;  ///< one routed expert
  std::int64_t num_experts = 0;
  std::int64_t norms = 0;  ///< the norms before each half

  /// All weights but those of the routed experts.
  std::int64_t shared() const { return attention + compression + mlp + router + norms; }
  /// Weights but for the routed experts' on each of the `tensor` GPUs that share a layer. Each of them has
  /// the whole router, norms and compression.
  double shared_on_gpu(double tensor) const {
    return static_cast<double>(attention + mlp) / tensor + static_cast<double>(compression + router + norms);
  }
  /// All weights, including every routed expert.
  std::int64_t total() const { return shared() + num_experts * expert; }
};

/// The weights of a layer. The model must have passed `check_model`.
LayerWeights layer_weights(const TransformerModel& model, LayerKind kind);

/// The weights of a norm over `size` columns.
std::int64_t norm_weights(const TransformerModel& model, std::int64_t size);

/// Elements of the matrices of a layer that a token passes, with `top_k` of the routed experts.
std::int64_t product_weights(const TransformerModel& model, LayerKind kind);

}  // namespace vtrain
