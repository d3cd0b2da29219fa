/// Weights that data-parallel replicas share (FSDP, ZeRO-2 and ZeRO-3): what gathering them and reducing
/// their gradients adds to the passes of a micro-batch.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "core/base/units.hpp"
#include "workloads/layers/layer_cost.hpp"
#include "workloads/layers/layer_parts.hpp"
#include "workloads/layers/layer_shape.hpp"
#include "workloads/model/layer_kinds.hpp"

namespace vtrain {

/// Adds the collectives of sharded weights to the passes of the parts of a model, and the copies that the
/// stack makes around them, as far as computation does not hide them. Where weights are gathered only once an
/// iteration (`WeightGather::EveryIteration`) the passes stay as they are, and the functions return what
/// nothing hides of that; otherwise, and where no GPUs share weights, they return 0.
class WeightSharding {
 public:
  /// The context must outlive it.
  explicit WeightSharding(const LayerContext& layer) : layer_(layer) {}

  /// Gathers the weights of a layer before its passes and reduces their gradients after them, beside the
  /// computation of neighbouring layers.
  Nanoseconds shard_layer(PassCosts& costs, LayerKind kind);
  /// The same for the word embedding. Nothing runs before its gather nor beside the reduction at the end, and
  /// its backward pass does not need the weights.
  Nanoseconds shard_embedding(PassCosts& costs);
  /// The same for the output layer, unless it has the embedding's weights. They stay gathered until its
  /// backward pass, which follows at once.
  Nanoseconds shard_head(PassCosts& costs);

  /// Names of the collectives so far with a message outside the sizes that the profile measured.
  const std::set<std::string_view>& extrapolated() const { return extrapolated_; }

 private:
  /// The collectives and the copies around them.
  struct Times {
    Nanoseconds gather{0};
    Nanoseconds reduction{0};
    Nanoseconds copied_weights{0};
    Nanoseconds copied_gradients{0};
    double gathered_bytes = 0;  ///< on one GPU
    double reduced_bytes = 0;
    Nanoseconds all() const { return gather + reduction + copied_weights + copied_gradients; }
  };

  /// Those of `shared` weights of a GPU and of `routed` ones, of experts, of which each takes so many bytes
  /// while it is gathered; none where no GPUs share them.
  std::optional<Times> times_of(double shared, double routed, double gathered);
  /// The same of a table, whose products are not in 8 bits.
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
  std::set<std::string_view> extrapolated_;
};

}  // namespace vtrain
