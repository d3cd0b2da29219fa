/// Weights that data-parallel replicas share (FSDP, ZeRO-2 and ZeRO-3): the time that their gathers and the
/// reductions of their gradients add to the passes of a micro-batch.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "core/base/units.hpp"
#include "workloads/layers/layer_cost.hpp"
#include "workloads/layers/layer_parts.hpp"
#include "workloads/layers/layer_shape.hpp"
#include "workloads/model/layer_kinds.hpp"

namespace vtrain {

/// Adds the collectives of sharded weights, and the stack's copies around them, to the passes of a model's
/// parts, as far as computation does not hide them. If weights are gathered only once an iteration
/// (`WeightGather::EveryIteration`), the passes stay unchanged and the functions return the time that is not
/// hidden. Otherwise, or if no GPUs share weights, they return 0.
class WeightSharding {
 public:
  /// The context must outlive it.
  explicit WeightSharding(const LayerContext& layer) : layer_(layer) {}

  /// Gathers the weights of a layer before its passes and reduces their gradients after them, during the
  /// computation of neighbouring layers.
  Nanoseconds shard_layer(PassCosts& costs, LayerKind kind);
  /// Gathers and reduces for the word embedding. Its gather and its final reduction are not overlapped. Its
  /// backward pass does not need the weights.
  Nanoseconds shard_embedding(PassCosts& costs);
  /// Gathers and reduces for the output layer, unless it has the embedding's weights. They stay gathered
  /// until its backward pass, which follows at once.
  Nanoseconds shard_head(PassCosts& costs);

  /// Collectives so far with a message outside the sizes that the profile measured.
  const ExtrapolatedOperators& extrapolated() const { return extrapolated_; }

 private:
  /// The collectives and the copies around them.
  struct Times {
    Nanoseconds gather{0};
    Nanoseconds reduction{0};
    Nanoseconds copied_weights{0};
    Nanoseconds copied_gradients{0};
    double gathered_bytes = 0;  ///< bytes gathered on one GPU
    double reduced_bytes = 0;
    Nanoseconds all() const { return gather + reduction + copied_weights + copied_gradients; }
  };

  /// Times for a GPU's `shared` weights and its `routed` ones, those of experts. Each weight takes `gathered`
  /// bytes while it is gathered. None if no GPUs share them.
  std::optional<Times> times_of(double shared, double routed, double gathered);
  /// Times for the weights of an embedding table, whose products are not in 8 bits.
  std::optional<Times> table_times(double weights);
  ShardingGroups groups() const;
  Nanoseconds cover(std::span<const Operator> pass) const;
  GpuGroup reduction_between_sets() const;
  Nanoseconds copy_time(double bytes) const;
  Nanoseconds exposed(Nanoseconds time, Nanoseconds cover, double bytes) const;
  Nanoseconds gather_beside(const Times& times, Nanoseconds cover) const;
  Nanoseconds reduce_beside(const Times& times, Nanoseconds cover) const;
  bool gathers_once() const { return layer_.key.gather == WeightGather::EveryIteration; }
  double table_weights() const;

  const LayerContext& layer_;
  ExtrapolatedOperators extrapolated_;
};

}  // namespace vtrain
