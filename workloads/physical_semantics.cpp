#include "workloads/physical_semantics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "workloads/kernel_cost.hpp"
#include "workloads/layer_shape.hpp"
#include "workloads/memory_model.hpp"
#include "workloads/pass_builder.hpp"

namespace vtrain {
namespace {

using Operators = std::vector<Operator>;

double real(std::int64_t value) {
  return static_cast<double>(value);
}

Nanoseconds whole(Nanoseconds time) {
  return Nanoseconds(std::round(time.count()));
}

/// The layers of a chunk, by kind: those without experts come first.
struct ChunkLayers {
  std::int64_t first = 0;
  std::int64_t num_dense = 0;
  std::int64_t num_experts = 0;
  bool is_first = false;  ///< of the model
  bool is_last = false;
  std::int64_t count() const { return num_dense + num_experts; }
};

ChunkLayers layers_of(const TransformerModel& model, const ParallelPlan& plan, std::int64_t stage,
                      std::int64_t chunk) {
  const LayerRange range = chunk_layers(model, plan, stage, chunk);
  const std::int64_t num_dense = std::clamp<std::int64_t>(model.dense_layers() - range.first, 0, range.count);
  return {.first = range.first,
          .num_dense = num_dense,
          .num_experts = range.count - num_dense,
          .is_first = stage == 0 && chunk == 0,
          .is_last = stage == plan.pipeline - 1 && chunk == plan.virtual_stages - 1};
}

/// Collects a block operator by operator.
class OperatorBlock {
 public:
  explicit OperatorBlock(TaskKind /*kind*/) {}
  void add(const Operators& part) { append(part, -1); }
  /// A run of equal layers, each with `before` just before it.
  void add_layers(const Operators* before, const Operators& layer, std::int64_t first, std::int64_t count,
                  bool descending) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t number = first + (descending ? count - 1 - i : i);
      if (before != nullptr) append(*before, number);
      append(layer, number);
    }
  }
  Operators take() { return std::move(operators_); }

 private:
  void append(const Operators& part, std::int64_t layer) {
    for (const Operator& op : part) {
      operators_.push_back(op);
      operators_.back().layer = static_cast<std::int32_t>(layer);
    }
  }

  Operators operators_;
};

/// Collects a block's sums: computation, tensor-parallel and data-parallel collectives.
class SummedBlock {
 public:
  explicit SummedBlock(TaskKind kind) {
    sums_[0].kind = kind;
    sums_[1].kind = TaskKind::TensorComm;
    sums_[2].kind = TaskKind::DataComm;
  }
  void add(const Operators& part) { accumulate(part, 1); }
  void add_layers(const Operators* before, const Operators& layer, std::int64_t /*first*/, std::int64_t count,
                  bool /*descending*/) {
    if (before != nullptr) accumulate(*before, count);
    accumulate(layer, count);
  }
  Operators take() {
    Operators block{sums_[0]};
    for (const Operator& sum : {sums_[1], sums_[2]}) {
      if (sum.duration.count() > 0) block.push_back(sum);
    }
    return block;
  }

 private:
  void accumulate(const Operators& part, std::int64_t times) {
    for (const Operator& op : part) {
      Operator& sum = sums_[!is_communication(op.kind) ? 0 : op.kind == TaskKind::TensorComm ? 1 : 2];
      sum.duration += op.duration * real(times);
      sum.gap += op.gap * real(times);
    }
  }

  std::array<Operator, 3> sums_{};
};

template <class Block>
Operators forward_block(const LayerCosts& costs, const ChunkLayers& layers) {
  Block block(TaskKind::Forward);
  if (layers.is_first) block.add(costs.embedding.forward);
  block.add_layers(nullptr, costs.dense.forward, layers.first, layers.num_dense, false);
  block.add_layers(nullptr, costs.experts.forward, layers.first + layers.num_dense, layers.num_experts,
                   false);
  if (layers.is_last) block.add(costs.head.forward);
  return block.take();
}

template <class Block>
Operators backward_block(const LayerCosts& costs, const ChunkLayers& layers, bool recomputes) {
  Block block(TaskKind::Backward);
  if (layers.is_last) block.add(costs.head.backward);
  block.add_layers(recomputes ? &costs.experts.recompute : nullptr, costs.experts.backward,
                   layers.first + layers.num_dense, layers.num_experts, true);
  block.add_layers(recomputes ? &costs.dense.recompute : nullptr, costs.dense.backward, layers.first,
                   layers.num_dense, true);
  if (layers.is_first) block.add(costs.embedding.backward);
  return block.take();
}

template <class Block>
Operators weight_block(const LayerCosts& costs, const ChunkLayers& layers) {
  Block block(TaskKind::Backward);
  if (layers.is_last) block.add(costs.head.weight);
  block.add_layers(nullptr, costs.experts.weight, layers.first + layers.num_dense, layers.num_experts, true);
  block.add_layers(nullptr, costs.dense.weight, layers.first, layers.num_dense, true);
  return block.take();
}

/// Sending activations or gradients to the neighbouring stage: each GPU of a tensor-parallel group sends its
/// part; without sequence parallelism the group then gathers the whole.
Send stage_send(const TransformerModel& model, const ParallelPlan& plan, const GpuProfile& profile,
                const Stack& stack) {
  const double tokens = real(plan.micro_batch) * real(model.sequence_length) / real(plan.context);
  const Bytes activations(2 * tokens * real(model.hidden_size));
  const bool within_node = plan.tensor * plan.context * plan.data < profile.nvlink_domain;
  Nanoseconds time = send_time(profile, within_node, Bytes(activations.value / real(plan.tensor))).time;
  if (plan.tensor > 1 && !plan.sequence_parallel) {
    time +=
        collective_time(profile, Collective::AllGather, placed_group(profile, plan.tensor, 1), activations)
            .time;
  }
  return stack.sends_hold_stage ? Send{.hold = whole(time)} : Send{.latency = whole(time)};
}

/// Time of a pass or block.
Nanoseconds span_of(const Operators& operators) {
  Nanoseconds sum(0);
  for (const Operator& op : operators)
    sum += op.duration + op.gap;
  return sum;
}

/// Parameters of one stage on one GPU: `routed` are those of routed experts.
struct StageParameters {
  double shared = 0;
  double routed = 0;
};

/// Makes one stage.
class StageMaker {
 public:
  StageMaker(const TransformerModel& model, const ParallelPlan& plan, const GpuProfile& profile,
             const Stack& stack, const LayerCosts& costs)
      : model_(model),
        plan_(plan),
        profile_(profile),
        stack_(stack),
        costs_(costs),
        send_(plan.pipeline > 1 ? stage_send(model, plan, profile, stack) : Send{}) {}

  template <class Block>
  StageWork make(std::int64_t stage) const {
    StageWork work;
    work.chunks.reserve(static_cast<std::size_t>(plan_.virtual_stages));
    const bool is_last_stage = stage == plan_.pipeline - 1;
    const bool recomputes = !is_last_stage || plan_.pipeline == 1 || stack_.last_stage_recomputes;
    for (std::int64_t i = 0; i < plan_.virtual_stages; ++i) {
      const ChunkLayers layers = layers_of(model_, plan_, stage, i);
      ChunkWork& chunk = work.chunks.emplace_back();
      chunk.forward = forward_block<Block>(costs_, layers);
      chunk.backward = backward_block<Block>(costs_, layers, recomputes);
      if (plan_.schedule == Schedule::ZeroBubble) chunk.weight = weight_block<Block>(costs_, layers);
      if (!layers.is_last) chunk.send_forward = send_;
      if (!layers.is_first) chunk.send_backward = send_;
    }
    add_reduction(work, stage);
    add_optimizer(work, stage);
    return work;
  }

  /// What of a stage's gradient reduction lies outside the measured sizes.
  std::optional<std::string> reduction_fallback(std::int64_t stage) const {
    if (plan_.sharding == Sharding::Full || replicas() <= 1) return std::nullopt;
    const bool is_all_reduce = plan_.sharding == Sharding::None;
    const Bytes gradients(stack_.gradient_bytes * parameters(stage).shared);
    const KernelTime time =
        collective_time(profile_, is_all_reduce ? Collective::AllReduce : Collective::ReduceScatter,
                        placed_group(profile_, replicas(), plan_.tensor), gradients);
    if (time.evidence != Evidence::Extrapolated) return std::nullopt;
    return fmt::format("gradient {} over {} GPUs: {:.0f} MiB, outside the measured sizes",
                       is_all_reduce ? "all-reduce" : "reduce-scatter", replicas(),
                       gradients.value / 1048576.0);
  }

  /// Whether two inner stages do the same but for the numbers of their layers.
  bool alike(std::int64_t a, std::int64_t b) const {
    for (std::int64_t i = 0; i < plan_.virtual_stages; ++i) {
      const ChunkLayers first = layers_of(model_, plan_, a, i);
      const ChunkLayers second = layers_of(model_, plan_, b, i);
      if (first.num_dense != second.num_dense || first.num_experts != second.num_experts) return false;
      if (first.is_first || second.is_first || first.is_last || second.is_last) return false;
    }
    return true;
  }

 private:
  std::int64_t replicas() const { return plan_.data * plan_.context; }
  std::int64_t expert_replicas() const {
    return std::max<std::int64_t>(1, replicas() * plan_.tensor / plan_.expert);
  }

  StageParameters parameters(std::int64_t stage) const {
    std::int64_t num_experts = 0;
    for (std::int64_t i = 0; i < plan_.virtual_stages; ++i)
      num_experts += layers_of(model_, plan_, stage, i).num_experts;
    const double routed = real(num_experts) * costs_.routed_weights;
    return {.shared = stage_parameters(model_, plan_, stage) - routed, .routed = routed};
  }

  /// Reducing the gradients of `parameters` over a group, and with a sharded optimizer gathering the weights.
  Nanoseconds reduction_time(GpuGroup group, double parameters) const {
    if (parameters <= 0) return Nanoseconds(0);
    const Bytes gradients(stack_.gradient_bytes * parameters);
    if (plan_.sharding == Sharding::None)
      return collective_time(profile_, Collective::AllReduce, group, gradients).time;
    return collective_time(profile_, Collective::ReduceScatter, group, gradients).time +
           collective_time(profile_, Collective::AllGather, group, Bytes(2 * parameters)).time;
  }

  /// What of the reduction shows. Overlapped it runs in buckets of a layer beside the last micro-batch's
  /// backward pass, and the gathering of weights beside the first one's forward pass; the last bucket shows.
  Nanoseconds shown_reduction(const StageWork& work, Nanoseconds reduction, std::int64_t num_layers) const {
    constexpr double kUsableWindow = 0.9;
    if (!stack_.overlap.data_parallel) return reduction;
    Nanoseconds window(0);
    for (const ChunkWork& chunk : work.chunks) {
      window += span_of(chunk.backward) + span_of(chunk.weight);
      if (plan_.sharding != Sharding::None) window += span_of(chunk.forward);
    }
    return exposed_time(reduction, kUsableWindow * window, stack_.overlap.contention) +
           reduction / real(std::max<std::int64_t>(1, num_layers));
  }

  void add_reduction(StageWork& work, std::int64_t stage) const {
    const std::int64_t group_size = std::max(replicas(), model_.has_experts() ? expert_replicas() : 1);
    if (group_size <= 1) return;
    std::int64_t num_layers = 0;
    Nanoseconds gathers(0);
    for (std::int64_t i = 0; i < plan_.virtual_stages; ++i) {
      const ChunkLayers layers = layers_of(model_, plan_, stage, i);
      num_layers += layers.count();
      gathers +=
          costs_.dense_gather * real(layers.num_dense) + costs_.experts_gather * real(layers.num_experts);
    }
    Nanoseconds time = gathers;
    const char* name = "weight_gather";
    if (plan_.sharding != Sharding::Full) {
      const StageParameters held = parameters(stage);
      const Nanoseconds reduction =
          reduction_time(placed_group(profile_, replicas(), plan_.tensor), held.shared) +
          reduction_time(placed_group(profile_, expert_replicas(), plan_.expert), held.routed);
      time = shown_reduction(work, reduction, num_layers);
      name = plan_.sharding == Sharding::None ? "grad_all_reduce" : "grad_reduce_scatter";
    }
    work.data_parallel.push_back({.name = name, .kind = TaskKind::DataComm, .duration = whole(time)});
  }

  void add_optimizer(StageWork& work, std::int64_t stage) const {
    StageParameters held = parameters(stage);
    if (plan_.sharding != Sharding::None) {
      held.shared /= real(replicas());
      held.routed /= real(expert_replicas());
    }
    const Bytes traffic = profile_.optimizer_traffic * (held.shared + held.routed);
    work.optimizer.push_back(
        {.name = "adam",
         .kind = TaskKind::Optimizer,
         .duration = whole(memory_kernel_time(profile_, MemoryKernel::Optimizer, traffic, 1))});
  }

  const TransformerModel& model_;
  const ParallelPlan& plan_;
  const GpuProfile& profile_;
  const Stack& stack_;
  const LayerCosts& costs_;
  Send send_;
};

}  // namespace

IterationWork make_physical_work(const TransformerModel& model, const ParallelPlan& plan,
                                 const GpuProfile& profile, const Stack& stack, const LayerCosts& costs,
                                 WorkDetail detail) {
  const StageMaker maker(model, plan, profile, stack, costs);
  IterationWork work;
  work.num_micro_batches = plan.num_micro_batches();
  work.schedule = plan.schedule;
  work.stages.reserve(static_cast<std::size_t>(plan.pipeline));
  for (std::int64_t stage = 0; stage < plan.pipeline; ++stage) {
    if (detail == WorkDetail::Operators) {
      work.stages.push_back(maker.make<OperatorBlock>(stage));
    } else if (stage > 0 && maker.alike(stage - 1, stage)) {
      work.stages.push_back(work.stages.back());
    } else {
      work.stages.push_back(maker.make<SummedBlock>(stage));
    }
  }
  return work;
}

const LayerCosts& LayerCostCache::costs(const ParallelPlan& plan) {
  const LayerKey key = layer_key(plan);
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  return known_.emplace(key, layer_costs(model_, key, profile_, stack_)).first->second;
}

IterationWork LayerCostCache::work(const ParallelPlan& plan) {
  return make_physical_work(model_, plan, profile_, stack_, costs(plan), WorkDetail::Blocks);
}

Result<PhysicalPrediction> predict_physical(const TransformerModel& model, const ParallelPlan& plan,
                                            const GpuProfile& profile, const Stack& stack) {
  if (auto checked = check_plan(model, plan); !checked) return fail(checked.error());
  const LayerCosts costs = layer_costs(model, layer_key(plan), profile, stack);
  std::vector<std::string> fallbacks;
  for (const std::string_view name : costs.extrapolated)
    fallbacks.push_back(fmt::format("{}: outside the measured sizes", name));
  const StageMaker maker(model, plan, profile, stack, costs);
  if (auto fallback = maker.reduction_fallback(0)) fallbacks.push_back(std::move(*fallback));
  return PhysicalPrediction{
      .work = make_physical_work(model, plan, profile, stack, costs, WorkDetail::Operators),
      .memory = estimate_memory(model, plan, profile, stack.memory),
      .provenance = {.profile = profile.name,
                     .profile_description = profile.description,
                     .all_reduce_source = std::string(profile.source_of("collectives all_reduce")),
                     .stack = stack.name,
                     .stack_summary = stack.summary,
                     .modelled = {costs.modelled.begin(), costs.modelled.end()},
                     .fallbacks = std::move(fallbacks)}};
}

}  // namespace vtrain
