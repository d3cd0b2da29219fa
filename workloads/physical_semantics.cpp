#include "workloads/physical_semantics.hpp"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "workloads/kernel_cost.hpp"
#include "workloads/memory_model.hpp"

namespace vtrain {
namespace {

/// One pass of one stage.
struct BlockParts {
  const std::vector<Operator>* before =
      nullptr;  ///< the embedding or the head, whichever comes first in this pass
  const std::vector<Operator>* layer = nullptr;
  const std::vector<Operator>* recomputed = nullptr;  ///< forward pass of a layer, run before `layer`
  const std::vector<Operator>* after = nullptr;
  std::int64_t first_layer = 0;
  std::int64_t num_layers = 0;
  bool descending = false;  ///< the last layer first
};

void append(std::vector<Operator>& block, const std::vector<Operator>* part, std::int64_t layer) {
  if (part == nullptr) return;
  for (const Operator& op : *part) {
    block.push_back(op);
    block.back().layer = static_cast<std::int32_t>(layer);
  }
}

void append_recomputed(std::vector<Operator>& block, const std::vector<Operator>* part, std::int64_t layer) {
  const std::size_t first = block.size();
  append(block, part, layer);
  for (std::size_t i = first; i < block.size(); ++i) {
    if (block[i].kind == TaskKind::Forward) block[i].kind = TaskKind::Recompute;
  }
}

std::vector<Operator> all_operators(const BlockParts& parts) {
  const auto size = [](const std::vector<Operator>* part) { return part == nullptr ? 0 : part->size(); };
  std::vector<Operator> block;
  block.reserve(size(parts.before) + size(parts.after) +
                static_cast<std::size_t>(parts.num_layers) * (size(parts.layer) + size(parts.recomputed)));
  append(block, parts.before, -1);
  for (std::int64_t i = 0; i < parts.num_layers; ++i) {
    const std::int64_t layer = parts.first_layer + (parts.descending ? parts.num_layers - 1 - i : i);
    append_recomputed(block, parts.recomputed, layer);
    append(block, parts.layer, layer);
  }
  append(block, parts.after, -1);
  return block;
}

/// Adds `times` repetitions of `part` to the compute operator and the collective operator of a block.
void accumulate(Operator& compute, Operator& collective, const std::vector<Operator>* part,
                std::int64_t times) {
  if (part == nullptr) return;
  const auto factor = static_cast<double>(times);
  for (const Operator& op : *part) {
    Operator& sum = is_communication(op.kind) ? collective : compute;
    sum.duration += op.duration * factor;
    sum.gap += op.gap * factor;
  }
}

std::vector<Operator> summed_operators(const BlockParts& parts, TaskKind kind) {
  Operator compute{.name = {}, .kind = kind};
  Operator collective{.name = {}, .kind = TaskKind::TensorComm};
  accumulate(compute, collective, parts.before, 1);
  accumulate(compute, collective, parts.recomputed, parts.num_layers);
  accumulate(compute, collective, parts.layer, parts.num_layers);
  accumulate(compute, collective, parts.after, 1);
  std::vector<Operator> block;
  block.push_back(std::move(compute));
  if (collective.duration.count() > 0) block.push_back(std::move(collective));
  return block;
}

std::vector<Operator> make_block(const BlockParts& parts, TaskKind kind, WorkDetail detail) {
  return detail == WorkDetail::Operators ? all_operators(parts) : summed_operators(parts, kind);
}

Nanoseconds whole(Nanoseconds time) {
  return Nanoseconds(std::round(time.count()));
}

/// Bytes of the gradients that each GPU of a stage reduces: half precision.
Bytes gradient_size(const TransformerModel& model, const ParallelPlan& plan, std::int64_t stage) {
  return Bytes(2 * stage_parameters(model, plan, stage));
}

StageWork make_stage(const TransformerModel& model, const ParallelPlan& plan, const GpuProfile& profile,
                     const LayerCosts& costs, std::int64_t stage, WorkDetail detail) {
  const bool is_first = stage == 0;
  const bool is_last = stage == plan.pipeline - 1;
  const bool recomputes =
      plan.recompute == Recompute::Full && (!is_last || plan.pipeline == 1 || profile.last_stage_recomputes);
  const std::int64_t num_layers = model.num_layers / plan.pipeline;
  StageWork work;
  ChunkWork& chunk = work.chunks.emplace_back();
  chunk.forward = make_block({.before = is_first ? &costs.embedding.forward : nullptr,
                              .layer = &costs.layer.forward,
                              .after = is_last ? &costs.head.forward : nullptr,
                              .first_layer = stage * num_layers,
                              .num_layers = num_layers},
                             TaskKind::Forward, detail);
  chunk.backward = make_block({.before = is_last ? &costs.head.backward : nullptr,
                               .layer = &costs.layer.backward,
                               .recomputed = recomputes ? &costs.layer.forward : nullptr,
                               .after = is_first ? &costs.embedding.backward : nullptr,
                               .first_layer = stage * num_layers,
                               .num_layers = num_layers,
                               .descending = true},
                              TaskKind::Backward, detail);
  const double tokens = static_cast<double>(plan.micro_batch) * static_cast<double>(model.sequence_length);
  const Bytes activations(2 * tokens * static_cast<double>(model.hidden_size));
  const Nanoseconds send = whole(send_time(profile, plan.tensor, plan.data, activations));
  if (!is_last) chunk.send_forward.hold = send;
  if (!is_first) chunk.send_backward.hold = send;
  if (plan.data > 1) {
    const KernelTime reduction =
        gradient_all_reduce_time(profile, plan.tensor, plan.data, gradient_size(model, plan, stage));
    work.data_parallel.push_back(
        {.name = "grad_all_reduce", .kind = TaskKind::DataComm, .duration = whole(reduction.time)});
  }
  const Bytes traffic = profile.optimizer_traffic * stage_parameters(model, plan, stage);
  work.optimizer.push_back(
      {.name = "adam",
       .kind = TaskKind::Optimizer,
       .duration = whole(memory_kernel_time(profile, MemoryKernel::Optimizer, traffic, 1))});
  return work;
}

/// What of the plan's messages lies outside the measured sizes.
std::vector<std::string> find_fallbacks(const TransformerModel& model, const ParallelPlan& plan,
                                        const GpuProfile& profile, const LayerCosts& costs) {
  std::vector<std::string> fallbacks;
  if (costs.all_reduce_extrapolated) {
    fallbacks.push_back(
        fmt::format("tensor-parallel all-reduce over {} GPUs: activations outside the measured 1 to 1024 MiB",
                    plan.tensor));
  }
  for (const std::int64_t stage : {std::int64_t{0}, plan.pipeline - 1}) {
    const Bytes size = gradient_size(model, plan, stage);
    if (gradient_all_reduce_time(profile, plan.tensor, plan.data, size).evidence != Evidence::Extrapolated)
      continue;
    fallbacks.push_back(
        fmt::format("gradient all-reduce over {} GPUs: {:.0f} MiB, outside the measured sizes", plan.data,
                    size.value / 1048576.0));
    break;
  }
  return fallbacks;
}

}  // namespace

IterationWork make_physical_work(const TransformerModel& model, const ParallelPlan& plan,
                                 const GpuProfile& profile, const LayerCosts& costs, WorkDetail detail) {
  IterationWork work;
  work.num_micro_batches = plan.num_micro_batches();
  work.stages.reserve(static_cast<std::size_t>(plan.pipeline));
  for (std::int64_t stage = 0; stage < plan.pipeline; ++stage) {
    const bool is_inner = stage > 1 && stage < plan.pipeline - 1;
    // Inner stages differ only in the layers they hold, which blocks do not name.
    if (is_inner && detail == WorkDetail::Blocks) {
      work.stages.push_back(work.stages.back());
    } else {
      work.stages.push_back(make_stage(model, plan, profile, costs, stage, detail));
    }
  }
  return work;
}

Result<PhysicalPrediction> predict_physical(const TransformerModel& model, const ParallelPlan& plan,
                                            const GpuProfile& profile) {
  if (auto checked = check_plan(model, plan); !checked) return fail(checked.error());
  const LayerCosts costs = layer_costs(model, plan.tensor, plan.micro_batch, profile);
  return PhysicalPrediction{
      .work = make_physical_work(model, plan, profile, costs, WorkDetail::Operators),
      .memory = estimate_memory(model, plan, profile),
      .provenance = {.profile = profile.name,
                     .profile_description = profile.description,
                     .all_reduce_source = std::string(profile.source_of("collectives all_reduce")),
                     .fallbacks = find_fallbacks(model, plan, profile, costs)}};
}

}  // namespace vtrain
