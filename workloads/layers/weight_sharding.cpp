#include "workloads/layers/weight_sharding.hpp"

#include <cmath>

#include "workloads/layers/layer_shape.hpp"
#include "workloads/layers/pass_builder.hpp"
#include "workloads/stack/kernel_cost.hpp"

namespace vtrain {
namespace {

Operator data_collective(std::string_view name, Nanoseconds time) {
  return {.name = name, .kind = TaskKind::DataComm, .duration = Nanoseconds(std::round(time.count()))};
}

}  // namespace

Nanoseconds WeightSharding::shard_layer(PassCosts& costs, LayerKind kind) {
  const double routed = kind.has_experts() ? layer_.shape.routed_weights : 0;
  const std::optional<Times> times = times_of(gpu_weights(layer_.model, layer_.shape, kind) - routed, routed,
                                              layer_.stack.gathered_weight_bytes(layer_.key.precision));
  if (!times) return Nanoseconds(0);
  if (gathers_once()) return times->all();
  costs.forward.push_back(data_collective("weight_gather", gather_beside(*times, cover(costs.forward))));
  const Nanoseconds beside = cover(costs.recompute) + cover(costs.backward);
  if (layer_.key.gather == WeightGather::EveryPass) {
    const Nanoseconds both =
        exposed(times->gather + times->reduction, beside, times->gathered_bytes + times->reduced_bytes);
    costs.backward.push_back(
        data_collective("gather_reduce", times->copied_weights + times->copied_gradients + both));
  } else {
    costs.backward.push_back(data_collective("gradient_reduce", reduce_beside(*times, beside)));
  }
  return Nanoseconds(0);
}

Nanoseconds WeightSharding::shard_embedding(PassCosts& costs) {
  double weights = table_weights();
  if (layer_.model.positions == Positions::Learned)
    weights += real(layer_.model.sequence_length) * real(layer_.shape.hidden);
  const std::optional<Times> times = table_times(weights);
  if (!times) return Nanoseconds(0);
  if (gathers_once()) return times->all();
  costs.forward.insert(costs.forward.begin(),
                       data_collective("weight_gather", gather_beside(*times, Nanoseconds(0))));
  costs.backward.push_back(data_collective("gradient_reduce", reduce_beside(*times, Nanoseconds(0))));
  return Nanoseconds(0);
}

Nanoseconds WeightSharding::shard_head(PassCosts& costs) {
  if (layer_.model.tied_embeddings && !gathers_once()) return Nanoseconds(0);
  const std::optional<Times> times = table_times(table_weights());
  if (!times) return Nanoseconds(0);
  if (gathers_once()) return times->all();
  costs.forward.push_back(data_collective("weight_gather", gather_beside(*times, total_span(costs.forward))));
  costs.backward.push_back(
      data_collective("gradient_reduce", reduce_beside(*times, total_span(costs.backward))));
  return Nanoseconds(0);
}

std::optional<WeightSharding::Times> WeightSharding::table_times(double weights) {
  return times_of(weights, 0, element_bytes(layer_.key.precision));
}

std::optional<WeightSharding::Times> WeightSharding::times_of(double shared, double routed, double gathered) {
  const LayerKey& key = layer_.key;
  if (!key.is_sharded) return std::nullopt;
  const ShardingGroups groups = this->groups();
  const GpuGroup between = reduction_between_sets();
  if (groups.shared.size <= 1 && (routed <= 0 || groups.routed.size <= 1) && between.size <= 1)
    return std::nullopt;
  const auto time_over = [&](std::string_view name, Collective collective, GpuGroup group, double bytes) {
    if (bytes <= 0) return Nanoseconds(0);
    const KernelTime time =
        collective_time(layer_.profile, collective, group, Bytes(bytes), layer_.stack.libraries);
    if (time.evidence == Evidence::Extrapolated) add_extrapolated(extrapolated_, name, time.reach);
    return time.time;
  };
  const auto time_of = [&](std::string_view name, Collective collective, double bytes) {
    return time_over(name, collective, groups.shared, bytes * shared) +
           time_over(name, collective, groups.routed, bytes * routed);
  };
  const double all = shared + routed;
  const double part = shared / real(groups.shared.size) + routed / real(groups.routed.size);
  const double reduced = layer_.stack.gradients(key.precision, 1).value;
  const Nanoseconds reduction = time_of("gradient_reduce", Collective::ReduceScatter, reduced) +
                                time_over("gradient_reduce", Collective::AllReduce, between, reduced * part);
  const double factor = layer_.stack.factors.communication;
  return Times{.gather = factor * time_of("weight_gather", Collective::AllGather, gathered),
               .reduction = factor * reduction,
               .copied_weights = copy_time(all * 2 * gathered),
               .copied_gradients = copy_time(all * (element_bytes(key.precision) + reduced)),
               .gathered_bytes = all * gathered,
               .reduced_bytes = all * reduced};
}

ShardingGroups WeightSharding::groups() const {
  const LayerKey& key = layer_.key;
  return sharding_groups(layer_.profile, key.replicas, key.tensor, key.expert * key.expert_tensor,
                         key.replicate);
}

/// Part of a layer's pass that hides the collectives of its weights: all but dispatch and combine of experts,
/// if these use the same links.
Nanoseconds WeightSharding::cover(std::span<const Operator> pass) const {
  const auto leaves_node = [](GpuGroup group) { return group.per_node < group.size; };
  const bool shares_links = leaves_node(groups().shared) == leaves_node(layer_.shape.expert_group);
  Nanoseconds cover = total_span(pass);
  for (const Operator& op : pass) {
    if (shares_links && is_dispatch(op)) cover -= op.duration;
  }
  return cover;
}

/// Over which each layer's gradients are summed after they are within a set; of one GPU where that is done
/// once an iteration.
GpuGroup WeightSharding::reduction_between_sets() const {
  const LayerKey& key = layer_.key;
  if (layer_.stack.memory.shards_optimizer_over_sets) return {};
  return replicate_group(layer_.profile, key.replicas, key.tensor, key.replicate);
}

/// Time of the stack's copies around gathers and reductions.
Nanoseconds WeightSharding::copy_time(double bytes) const {
  if (!layer_.stack.data_parallel.copies) return Nanoseconds(0);
  return layer_.stack.factors.memory *
         memory_kernel_time(layer_.profile, MemoryKernel::Elementwise, Bytes(bytes), 1);
}

/// Visible part of collectives by which `bytes` bytes arrive during computation.
Nanoseconds WeightSharding::exposed(Nanoseconds time, Nanoseconds cover, double bytes) const {
  return exposed_time(time, cover,
                      layer_.stack.data_parallel.share(time, Bytes(bytes), layer_.profile.memory_bandwidth));
}

/// Visible part of a gather and its copies during computation.
Nanoseconds WeightSharding::gather_beside(const Times& times, Nanoseconds cover) const {
  return times.copied_weights + exposed(times.gather, cover, times.gathered_bytes);
}

/// Visible part of a reduction and its copies during computation.
Nanoseconds WeightSharding::reduce_beside(const Times& times, Nanoseconds cover) const {
  return times.copied_gradients + exposed(times.reduction, cover, times.reduced_bytes);
}

/// Weights of the word embedding, or of the output layer, on one GPU.
double WeightSharding::table_weights() const {
  return real(layer_.shape.vocabulary) * real(layer_.shape.hidden);
}

}  // namespace vtrain
