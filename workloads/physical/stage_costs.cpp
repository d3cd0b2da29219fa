#include "workloads/physical/stage_costs.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/units.hpp"
#include "core/profile/gpu_profile.hpp"
#include "workloads/layers/layer_cost.hpp"
#include "workloads/layers/layer_shape.hpp"
#include "workloads/layers/pass_builder.hpp"
#include "workloads/physical/memory_model.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {
namespace {

Nanoseconds whole(Nanoseconds time) {
  return Nanoseconds(std::round(time.count()));
}

/// Share of the links between the stages of a pipeline that leave an NVLink domain. With several chunks a
/// stage, the last stage also sends to the first.
double share_across(const ParallelPlan& plan, const GpuProfile& profile) {
  const std::int64_t wraps = plan.virtual_stages > 1 ? 1 : 0;
  const std::int64_t links = plan.pipeline - 1 + wraps;
  const std::int64_t borders = (plan.num_gpus().value - 1) / profile.nvlink_domain;
  return borders == 0 ? 0 : real(std::min(links, borders + wraps)) / real(links);
}

/// Time of a message from a stage to the next one, in whole nanoseconds.
struct MessageTimes {
  Nanoseconds mean{0};  ///< over the links of the pipeline
  Nanoseconds slowest{0};
};

MessageTimes message_times(const TransformerModel& model, const ParallelPlan& plan, const GpuProfile& profile,
                           const Stack& stack) {
  const double tokens = real(plan.micro_batch) * real(model.sequence_length) / real(plan.context);
  const Bytes activations(element_bytes(plan.precision) * tokens * real(model.hidden_size));
  const bool is_gathered = plan.tensor > 1 && !plan.sequence_parallel && stack.splits_messages;
  const std::int64_t parts = plan.sequence_parallel || is_gathered ? plan.tensor : 1;
  const Bytes part(activations.value / real(parts));
  const Nanoseconds within = send_time(profile, true, part).time;
  const Nanoseconds across = send_time(profile, false, part).time;
  Nanoseconds gather(0);
  if (is_gathered) {
    gather = collective_time(profile, Collective::AllGather, placed_group(profile, plan.tensor, 1),
                             activations, stack.libraries)
                 .time;
  }
  const double share = share_across(plan, profile);
  return {.mean = whole(within + share * (across - within) + gather),
          .slowest = whole((share > 0 ? across : within) + gather)};
}

}  // namespace

StageCosts::StageCosts(const TransformerModel& model, const ParallelPlan& plan, const GpuProfile& profile,
                       const Stack& stack, const LayerCosts& costs)
    : model_(model), plan_(plan), profile_(profile), stack_(stack), costs_(costs) {
  if (plan.pipeline == 1) return;
  const MessageTimes times = message_times(model, plan, profile, stack);
  message_ = times.mean;
  slowest_message_ = times.slowest;
}

ChunkLayers StageCosts::layers(std::int64_t stage, std::int64_t chunk) const {
  const LayerRange range = chunk_layers(model_, plan_, stage, chunk);
  const LayerCounts counts = count_layers(model_, range.first, range.count);
  const bool is_part = plan_.recomputed_layers > 0 && plan_.recomputed_layers < range.count;
  return {.range = range,
          .counts = counts,
          .recomputed = is_part ? count_layers(model_, range.first, plan_.recomputed_layers) : counts,
          .is_first = stage == 0 && chunk == 0,
          .is_last = stage == plan_.pipeline - 1 && chunk == plan_.virtual_stages - 1};
}

bool StageCosts::alike(std::int64_t a, std::int64_t b) const {
  for (std::int64_t chunk = 0; chunk < plan_.virtual_stages; ++chunk) {
    const ChunkLayers first = layers(a, chunk);
    const ChunkLayers second = layers(b, chunk);
    if (first.counts != second.counts || first.recomputed != second.recomputed) return false;
    if (first.is_first || second.is_first || first.is_last || second.is_last) return false;
  }
  return true;
}

StageCosts::Sends StageCosts::sends(const ChunkLayers& layers, Nanoseconds forward,
                                    Nanoseconds backward) const {
  // A micro-batch on its way waits for all links, a stage that waits for a link for the slowest of them.
  const auto send = [this](Nanoseconds link_wait) {
    if (stack_.sends_hold_stage) return Send{.hold = slowest_message_};
    return Send{.link_wait = link_wait, .latency = std::max(Nanoseconds(0), message_ - link_wait)};
  };
  const auto wait_after = [this](Nanoseconds others) {
    return std::max(Nanoseconds(0), slowest_message_ - others);
  };
  Sends sends;
  if (plan_.schedule == Schedule::GPipe) {
    // All forward passes come one after the other, and so do all backward passes.
    if (!layers.is_last) sends.forward = send(wait_after(forward));
    if (!layers.is_first) sends.backward = send(wait_after(backward));
    return sends;
  }
  // They alternate: who waits for one direction has waited for the other, too.
  const Nanoseconds wait = wait_after(forward + backward);
  if (!layers.is_last) sends.forward = send(wait);
  if (!layers.is_first) sends.backward = send(layers.is_last ? wait : Nanoseconds(0));
  return sends;
}

StageCosts::ChunkTimes StageCosts::chunk_times(std::int64_t stage, const ChunkLayers& layers,
                                               const BlockTimes& passes) const {
  ChunkTimes chunk{.layers = layers,
                   .passes = passes,
                   .forward_wait = offload_wait(stage, passes.forward),
                   .backward_wait = offload_wait(stage, passes.backward)};
  chunk.passes.forward += chunk.forward_wait;
  chunk.passes.backward += chunk.backward_wait;
  chunk.sends = sends(layers, chunk.passes.forward, chunk.passes.backward + chunk.passes.weight);
  return chunk;
}

StageCosts::OnceTimes StageCosts::once_times(std::int64_t stage, std::span<const ChunkTimes> chunks) const {
  Nanoseconds forward(0);
  Nanoseconds backward(0);
  for (const ChunkTimes& chunk : chunks) {
    forward += chunk.passes.forward;
    backward += chunk.passes.backward + chunk.passes.weight;
  }
  return {.reduction = reduction(stage, forward, backward),
          .embedding_reduction = embedding_reduction(stage),
          .optimizer = optimizer(stage)};
}

bool StageCosts::has_reduction() const {
  return std::max(replicas(), model_.has_experts() ? expert_replicas() : 1) > 1;
}

std::int64_t StageCosts::expert_replicas() const {
  return std::max<std::int64_t>(1, replicas() * plan_.tensor / (plan_.expert * plan_.expert_tensor));
}

/// Reducing the gradients of `parameters` over a group, and with a sharded optimizer gathering the weights.
Nanoseconds StageCosts::reduction_time(GpuGroup group, double parameters) const {
  if (parameters <= 0) return Nanoseconds(0);
  const Bytes gradients = stack_.gradients(plan_.precision, parameters);
  if (plan_.sharding == Sharding::None)
    return collective_time(profile_, Collective::AllReduce, group, gradients, stack_.libraries).time;
  return collective_time(profile_, Collective::ReduceScatter, group, gradients, stack_.libraries).time +
         collective_time(profile_, Collective::AllGather, group,
                         Bytes(element_bytes(plan_.precision) * parameters), stack_.libraries)
             .time;
}

/// Bytes that arrive at a GPU while gradients are reduced: the reduced gradients, and the sums or weights
/// that are gathered then.
Bytes StageCosts::arriving_bytes(const StageParameters& held) const {
  const Bytes gradients = stack_.gradients(plan_.precision, held.total());
  if (plan_.sharding == Sharding::None) return gradients * 2;
  return gradients + Bytes(element_bytes(plan_.precision) * held.total());
}

/// True if gradients of fully sharded weights are reduced between sets of replicas once an iteration.
bool StageCosts::reduces_between_sets() const {
  return plan_.replicate > 1 && stack_.memory.shards_optimizer_over_sets;
}

/// Parameters of a GPU that it reduces once an iteration: all, or its parts of those that a set shares.
StageParameters StageCosts::reduced_parameters(std::int64_t stage) const {
  StageParameters held = stage_parameters(model_, plan_, stage);
  if (!shards_weights(plan_.sharding)) return held;
  const ShardingGroups groups = sharding_groups(profile_, replicas(), plan_.tensor,
                                                plan_.expert * plan_.expert_tensor, plan_.replicate);
  held.shared /= real(groups.shared.size);
  held.routed /= real(groups.routed.size);
  return held;
}

/// Over which GPUs: all that hold the same parameters, or those that hold the same parts.
ShardingGroups StageCosts::reduction_groups() const {
  if (shards_weights(plan_.sharding)) {
    const GpuGroup between = replicate_group(profile_, replicas(), plan_.tensor, plan_.replicate);
    return {.shared = between, .routed = between};
  }
  return {.shared = placed_group(profile_, replicas(), plan_.tensor),
          .routed = placed_group(profile_, expert_replicas(), plan_.expert * plan_.expert_tensor)};
}

/// Stages with several chunks reduce one chunk at a time after its last backward pass and gather it before
/// its first forward pass (Megatron-Core, schedules.py: grad_sync_func, param_sync_func). In between the
/// passes of the other chunks run, for a group of as many micro-batches as there are stages.
StageCosts::ReductionWindow StageCosts::reduction_window(std::int64_t num_layers) const {
  if (plan_.virtual_stages == 1)
    return {.passes = 1, .num_buckets = real(std::max<std::int64_t>(1, num_layers))};
  const double num_chunks = real(plan_.virtual_stages);
  const double group = real(std::min(plan_.pipeline, plan_.num_micro_batches()));
  return {.passes = group * (num_chunks - 1) / num_chunks, .num_buckets = num_chunks};
}

Nanoseconds StageCosts::reduction(std::int64_t stage, Nanoseconds forward, Nanoseconds backward) const {
  if (!has_reduction()) return Nanoseconds(0);
  std::int64_t num_layers = 0;
  Nanoseconds gathers(0);
  for (std::int64_t chunk = 0; chunk < plan_.virtual_stages; ++chunk) {
    const ChunkLayers held = layers(stage, chunk);
    num_layers += held.range.count;
    for (std::size_t kind = 0; kind < kNumLayerKinds; ++kind)
      gathers += costs_.gathers[kind] * real(held.counts[kind]);
    if (held.is_first) gathers += costs_.embedding_gathers;
    if (held.is_last) gathers += costs_.head_gathers;
  }
  if (shards_weights(plan_.sharding) && !reduces_between_sets()) return whole(gathers);
  const StageParameters held = reduced_parameters(stage);
  const ShardingGroups groups = reduction_groups();
  const Nanoseconds reduction =
      reduction_time(groups.shared, held.shared) + reduction_time(groups.routed, held.routed);
  if (!stack_.overlap.data_parallel) return whole(gathers + reduction);
  constexpr double kUsableWindow = 0.9;
  const ReductionWindow window = reduction_window(num_layers);
  const Nanoseconds passes = plan_.sharding == Sharding::None ? backward : forward + backward;
  const Nanoseconds cover =
      std::min(kUsableWindow * window.passes * passes, reduction - reduction / window.num_buckets);
  const double share = stack_.data_parallel.share(reduction, arriving_bytes(held), profile_.memory_bandwidth);
  return whole(gathers + exposed_time(reduction, cover, share));
}

/// All-reduce between every GPU of the first stage and the corresponding one of the last. Some pair lies in
/// two NVLink domains unless all stages are in one. Fully sharded weights are summed by parts.
KernelTime StageCosts::embedding_all_reduce() const {
  const double table = real(model_.vocab_size) * real(model_.hidden_size) / real(plan_.tensor);
  const double parts = shards_weights(plan_.sharding) ? real(replicas() / plan_.replicate) : 1;
  const bool is_in_one_domain = plan_.num_gpus().value <= profile_.nvlink_domain;
  return collective_time(profile_, Collective::AllReduce, {.size = 2, .per_node = is_in_one_domain ? 2 : 1},
                         stack_.gradients(plan_.precision, table / parts), stack_.libraries);
}

Nanoseconds StageCosts::embedding_reduction(std::int64_t stage) const {
  const bool holds_it = stage == 0 || stage == plan_.pipeline - 1;
  if (!holds_it || !shares_embedding(model_, plan_)) return Nanoseconds(0);
  return whole(embedding_all_reduce().time);
}

std::vector<Extrapolation> StageCosts::extrapolated_reductions() const {
  std::vector<Extrapolation> found;
  const auto add_if_beyond = [&found](std::string name, const KernelTime& time) {
    if (time.evidence == Evidence::Extrapolated) found.push_back({std::move(name), time.reach});
  };
  if (shares_embedding(model_, plan_)) {
    add_if_beyond("all-reduce of the word embedding between the first and the last stage",
                  embedding_all_reduce());
  }
  if (shards_weights(plan_.sharding) && !reduces_between_sets()) return found;
  StageParameters most{};
  for (std::int64_t stage = 0; stage < plan_.pipeline; ++stage) {
    const StageParameters held = reduced_parameters(stage);
    most = {std::max(most.shared, held.shared), std::max(most.routed, held.routed)};
  }
  const bool is_all_reduce = plan_.sharding == Sharding::None;
  const auto add = [&](std::string_view whose, GpuGroup group, double parameters) {
    if (group.size <= 1 || parameters <= 0) return;
    const Bytes gradients = stack_.gradients(plan_.precision, parameters);
    add_if_beyond(fmt::format("{}gradient {} over {} GPUs", whose,
                              is_all_reduce ? "all-reduce" : "reduce-scatter", group.size),
                  collective_time(profile_, is_all_reduce ? Collective::AllReduce : Collective::ReduceScatter,
                                  group, gradients, stack_.libraries));
  };
  const ShardingGroups groups = reduction_groups();
  add("", groups.shared, most.shared);
  add("experts' ", groups.routed, most.routed);
  return found;
}

Nanoseconds StageCosts::offload_wait(std::int64_t stage, Nanoseconds pass) const {
  if (plan_.offloaded_layers == 0 || profile_.host_bandwidth.value <= 0) return Nanoseconds(0);
  const Bytes of_chunk(offloaded_activations(model_, plan_, stage, stack_.memory).value /
                       real(plan_.virtual_stages));
  const Nanoseconds copies = of_chunk / profile_.host_bandwidth;
  return whole(std::max(Nanoseconds(0), copies - pass));
}

Nanoseconds StageCosts::optimizer(std::int64_t stage) const {
  if (!stack_.updates_weights) return Nanoseconds(0);
  StageParameters held = stage_parameters(model_, plan_, stage);
  if (plan_.sharding != Sharding::None) {
    const std::int64_t replicate = stack_.memory.shards_optimizer_over_sets ? 1 : plan_.replicate;
    held.shared /= real(replicas() / replicate);
    held.routed /= real(expert_replicas() / replicate);
  }
  const Bytes traffic = profile_.optimizer_traffic * (held.shared + held.routed);
  return whole(memory_kernel_time(profile_, MemoryKernel::Optimizer, traffic, 1));
}

}  // namespace vtrain
