#include "workloads/physical/physical_predictor.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/numbers.hpp"
#include "core/base/units.hpp"
#include "core/profile/gpu_profile.hpp"
#include "workloads/layers/layer_cost.hpp"
#include "workloads/layers/pass_builder.hpp"
#include "workloads/model/model.hpp"
#include "workloads/model/parallel_plan.hpp"
#include "workloads/physical/stage_costs.hpp"
#include "workloads/pipeline/schedule.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {
namespace {

using Operators = std::vector<Operator>;

/// The passes of a layer that a block consists of, one after the other.
struct LayerPasses {
  const Operators* recompute = nullptr;  ///< null: none
  const Operators* pass = nullptr;
};

/// Collects a block operator by operator.
class OperatorBlock {
 public:
  explicit OperatorBlock(const TransformerModel& model) : model_(model) {}
  void add(const Operators& part) { append(part, -1); }
  /// The layers of a chunk, the last one first if `descending`.
  void add_layers(const ChunkLayers& layers, const PerLayerKind<LayerPasses>& passes, bool descending) {
    const LayerRange& range = layers.range;
    const std::int64_t num_recomputed =
        std::accumulate(layers.recomputed.begin(), layers.recomputed.end(), std::int64_t{0});
    for (std::int64_t i = 0; i < range.count; ++i) {
      const std::int64_t number = range.first + (descending ? range.count - 1 - i : i);
      const LayerPasses& layer = passes[kind_of_layer(model_, number)];
      if (layer.recompute != nullptr && number - range.first < num_recomputed)
        append(*layer.recompute, number);
      append(*layer.pass, number);
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

  const TransformerModel& model_;
  Operators operators_;
};

/// One pass of each kind of layer, perhaps with what runs again before it.
PerLayerKind<LayerPasses> layer_passes(const LayerCosts& costs, Operators PassCosts::*pass,
                                       bool with_recompute = false) {
  PerLayerKind<LayerPasses> passes;
  for (std::size_t kind = 0; kind < kNumLayerKinds; ++kind) {
    const PassCosts& layer = costs.layers[kind];
    passes[kind] = {.recompute = with_recompute ? &layer.recompute : nullptr, .pass = &(layer.*pass)};
  }
  return passes;
}

Operators forward_block(const TransformerModel& model, const LayerCosts& costs, const ChunkLayers& layers) {
  OperatorBlock block(model);
  if (layers.is_first) block.add(costs.embedding.forward);
  block.add_layers(layers, layer_passes(costs, &PassCosts::forward), false);
  if (layers.is_last) block.add(costs.head.forward);
  return block.take();
}

Operators backward_block(const TransformerModel& model, const LayerCosts& costs, const ChunkLayers& layers) {
  OperatorBlock block(model);
  if (layers.is_last) block.add(costs.head.backward);
  block.add_layers(layers, layer_passes(costs, &PassCosts::backward, true), true);
  if (layers.is_first) block.add(costs.embedding.backward);
  return block.take();
}

Operators weight_block(const TransformerModel& model, const LayerCosts& costs, const ChunkLayers& layers) {
  OperatorBlock block(model);
  if (layers.is_last) block.add(costs.head.weight);
  block.add_layers(layers, layer_passes(costs, &PassCosts::weight), true);
  return block.take();
}

/// The GPU waits in its first kernel of the pass.
void add_wait(Operators& pass, Nanoseconds wait) {
  if (wait.count() > 0 && !pass.empty()) first_computation(pass).gap += wait;
}

/// Makes one stage.
StageWork make_stage(const TransformerModel& model, const StageCosts& stages, const ParallelPlan& plan,
                     const LayerCosts& costs, std::int64_t stage) {
  StageWork work;
  std::vector<StageCosts::ChunkTimes> chunks;
  work.chunks.reserve(static_cast<std::size_t>(plan.virtual_stages));
  chunks.reserve(static_cast<std::size_t>(plan.virtual_stages));
  for (std::int64_t i = 0; i < plan.virtual_stages; ++i) {
    const ChunkLayers layers = stages.layers(stage, i);
    ChunkWork& chunk = work.chunks.emplace_back();
    chunk.forward = forward_block(model, costs, layers);
    chunk.backward = backward_block(model, costs, layers);
    if (splits_backward(plan.schedule)) chunk.weight = weight_block(model, costs, layers);
    const BlockTimes passes{.forward = total_span(chunk.forward),
                            .backward = total_span(chunk.backward),
                            .weight = total_span(chunk.weight)};
    const StageCosts::ChunkTimes& times = chunks.emplace_back(stages.chunk_times(stage, layers, passes));
    add_wait(chunk.forward, times.forward_wait);
    add_wait(chunk.backward, times.backward_wait);
    chunk.send_forward = times.sends.forward;
    chunk.send_backward = times.sends.backward;
  }
  const StageCosts::OnceTimes once = stages.once_times(stage, chunks);
  if (stages.has_reduction()) {
    std::string_view name = "weight_gather";
    if (plan.sharding == Sharding::None) name = "grad_all_reduce";
    if (plan.sharding == Sharding::Optimizer) name = "grad_reduce_scatter";
    work.data_parallel.push_back({.name = name, .kind = TaskKind::DataComm, .duration = once.reduction});
  }
  if (once.embedding_reduction.count() > 0) {
    work.data_parallel.push_back(
        {.name = "embedding_all_reduce", .kind = TaskKind::DataComm, .duration = once.embedding_reduction});
  }
  work.optimizer.push_back({.name = "adam", .kind = TaskKind::Optimizer, .duration = once.optimizer});
  return work;
}

/// Puts an iteration together.
IterationWork make_work(const TransformerModel& model, const ParallelPlan& plan, const GpuProfile& profile,
                        const Stack& stack, const LayerCosts& costs) {
  const StageCosts stages(model, plan, profile, stack, costs);
  IterationWork work;
  work.num_micro_batches = plan.num_micro_batches();
  work.schedule = plan.schedule;
  work.stages.reserve(static_cast<std::size_t>(plan.pipeline));
  for (std::int64_t stage = 0; stage < plan.pipeline; ++stage)
    work.stages.push_back(make_stage(model, stages, plan, costs, stage));
  return work;
}

/// Parts of a model that GPT-2 and GPT-3 lack.
std::vector<std::string_view> newer_parts(const TransformerModel& model) {
  std::vector<std::string_view> parts;
  if (model.positions == Positions::Rotary) parts.emplace_back("rotary positions");
  if (model.normalization != Normalization::LayerNorm) parts.emplace_back("RMS norms");
  if (model.is_gated()) parts.emplace_back("gated MLPs");
  if (model.kv_heads() != model.num_heads) parts.emplace_back("grouped queries");
  if (model.has_experts()) parts.emplace_back("experts");
  if (model.is_hybrid()) parts.emplace_back("state spaces");
  return parts;
}

/// The part of the passes of the longest stage in which the GPU waits between operators: for the CPU, where
/// nothing is copied to its memory.
double waiting_share(const IterationWork& work) {
  Nanoseconds longest(0);
  double share = 0;
  for (const StageWork& stage : work.stages) {
    Nanoseconds span(0);
    Nanoseconds waiting(0);
    for (const ChunkWork& chunk : stage.chunks) {
      for (const auto* pass : {&chunk.forward, &chunk.recompute, &chunk.backward, &chunk.weight}) {
        span += total_span(*pass);
        for (const Operator& op : *pass)
          waiting += op.gap;
      }
    }
    if (span <= longest) continue;
    longest = span;
    share = waiting / span;
  }
  return share;
}

/// Facts about a plan and a model on a stack that a user should know, a sentence each.
std::vector<std::string> remarks_on(const TransformerModel& model, const ParallelPlan& plan,
                                    const Stack& stack, const LayerCosts& costs, const IterationWork& work) {
  constexpr double kMuch = 0.1;
  std::vector<std::string> remarks;
  const bool recomputes =
      std::ranges::any_of(costs.layers, [](const PassCosts& layer) { return !layer.recompute.empty(); });
  const bool is_selective = plan.recompute == Recompute::Selective;
  if (is_selective && !recomputes) {
    remarks.push_back(
        fmt::format("recompute selective: stack {} has nothing to recompute here, as none", stack.name));
  } else if (is_selective && stack.memory.selective == SelectiveRecompute::AttentionScores &&
             stack.attention != AttentionKernel::Unfused && !model.has_latent_attention()) {
    remarks.emplace_back("recompute selective: fused attention runs twice and keeps as much as without");
  }
  if (const double share = waiting_share(work); plan.offloaded_layers == 0 && share >= kMuch) {
    remarks.push_back(fmt::format(
        "the GPU waits for the CPU to launch kernels in {:.0f} % of the passes (CPU wait)", 100 * share));
  }
  const std::vector<std::string_view> newer = newer_parts(model);
  if (stack.libraries == Libraries::Old && !newer.empty()) {
    remarks.push_back(
        fmt::format("{}: predicted with the kernels of stack {}, which is old; megatron-core has newer ones",
                    fmt::join(newer, ", "), stack.name));
  }
  return remarks;
}

/// Choices of a plan that a stack's software lacks, a sentence each.
std::vector<std::string> unsupported_choices(const ParallelPlan& plan, const Stack& stack) {
  std::vector<std::string> unsupported;
  const PlanChoices& choices = stack.choices;
  const auto complain_unless = [&](bool has, const std::string& what, std::string_view timed) {
    if (!has)
      unsupported.push_back(fmt::format("{}: not known of stack {}, timed {}", what, stack.name, timed));
  };
  for (const auto& [has, degree, name] :
       {std::tuple(choices.tensor, plan.tensor, "tensor"),
        std::tuple(choices.context, plan.context, "context"),
        std::tuple(choices.pipeline, plan.pipeline, "pipeline"),
        std::tuple(choices.virtual_stages, plan.virtual_stages, "virtual stages"),
        std::tuple(choices.expert, plan.expert, "expert")})
    complain_unless(has || degree <= 1, fmt::format("{} {}", name, degree), "as in Megatron-Core");
  const auto is_among = [](const auto& list, auto choice) {
    return std::ranges::find(list, choice) != list.end();
  };
  constexpr std::string_view kAsIf = "as if it had it";
  const bool is_of_fork = choices.zero_bubble && plan.schedule == Schedule::ZeroBubble;
  complain_unless(plan.pipeline == 1 || is_of_fork || is_among(choices.schedules, plan.schedule),
                  fmt::format("schedule {}", name_of(plan.schedule)), kAsIf);
  complain_unless(plan.sharding == Sharding::None || plan.num_replicas() == 1 ||
                      is_among(choices.sharding, plan.sharding),
                  fmt::format("sharding {}", name_of(plan.sharding)), kAsIf);
  complain_unless(choices.sequence_parallel || !plan.sequence_parallel || plan.tensor == 1,
                  "sequence_parallel", kAsIf);
  complain_unless(choices.ends_count_as_layers || !plan.ends_count_as_layers, "ends_count_as_layers", kAsIf);
  complain_unless(choices.partial_recompute || plan.recomputed_layers == 0, "recomputed_layers", kAsIf);
  const bool can_offload = choices.offload && plan.pipeline == 1 && plan.recompute == Recompute::None;
  complain_unless(
      can_offload || plan.offloaded_layers == 0,
      choices.offload ? "offloaded_layers with several stages or recomputation" : "offloaded_layers", kAsIf);
  return unsupported;
}

/// True if the profile has rates of the fused kernels that a plan names.
bool has_rates(const GpuProfile& profile, AttentionChoice attention) {
  const auto known = [&profile](AttentionKernel kernel) {
    return profile.attention[static_cast<std::size_t>(kernel)].log_rate != nullptr;
  };
  return (attention == AttentionChoice::Flash2 && known(AttentionKernel::Flash2)) ||
         (attention == AttentionChoice::Flash3 && known(AttentionKernel::Flash3));
}

/// The stack with the attention that the plan names. Fused kernels without rates are the stack's or, where
/// that has none, the newest that the profile knows.
Stack with_attention(Stack stack, const ParallelPlan& plan, const GpuProfile& profile) {
  if (plan.attention == AttentionChoice::Stack) return stack;
  const bool is_unfused = plan.attention == AttentionChoice::Unfused;
  if (is_unfused)
    stack.attention = AttentionKernel::Unfused;
  else if (has_rates(profile, plan.attention))
    stack.attention =
        plan.attention == AttentionChoice::Flash2 ? AttentionKernel::Flash2 : AttentionKernel::Flash3;
  else if (stack.attention == AttentionKernel::Unfused)
    stack.attention = AttentionKernel::Flash3;
  stack.memory.keeps_scores = is_unfused;
  return stack;
}

/// Fallback sentence about fused kernels that a plan names and the profile has no rates of.
std::string attention_fallback(AttentionChoice attention, const GpuProfile& profile, const Stack& stack) {
  const std::string used = stack.attention == AttentionKernel::Unfused
                               ? "the newest kernel that it has"
                               : fmt::format("the kernel of stack {}", stack.name);
  return fmt::format("attention {}: {} has no rates of it, those of {} were used", name_of(attention),
                     profile.name, used);
}

std::string_view all_reduce_source(const GpuProfile& profile, const Stack& stack) {
  constexpr std::string_view kNone = "not measured on this GPU, from the rate of its links";
  if (profile.nvlink_domain <= 1) return kNone;
  const std::string_view old = profile.source_of("old_collectives all_reduce");
  if (stack.libraries == Libraries::Old && !old.empty()) return old;
  const std::string_view current = profile.source_of("collectives all_reduce");
  return current.empty() ? kNone : current;
}

/// Size in bytes as people read it: `5.0 GiB`, `320 MiB`, `16 KiB`.
std::string binary_size_text(double bytes) {
  constexpr double kKibi = 1024;
  if (bytes >= kKibi * kKibi * kKibi) return fmt::format("{:.1f} GiB", bytes / (kKibi * kKibi * kKibi));
  if (bytes >= kKibi * kKibi) return fmt::format("{:.0f} MiB", bytes / (kKibi * kKibi));
  return fmt::format("{:.3g} KiB", bytes / kKibi);
}

}  // namespace

std::vector<std::string> Fallbacks::sentences() const {
  std::vector<std::string> all;
  for (const Extrapolation& each : extrapolated)
    all.push_back(fmt::format("{}: outside the measured sizes: {}", each.name, describe_reach(each.reach)));
  all.insert(all.end(), missing.begin(), missing.end());
  return all;
}

const Extrapolation* furthest_extrapolation(const Fallbacks& fallbacks) {
  const auto found = std::ranges::max_element(fallbacks.extrapolated, {},
                                              [](const Extrapolation& each) { return each.reach.factor(); });
  return found == fallbacks.extrapolated.end() ? nullptr : &*found;
}

double furthest(const Fallbacks& fallbacks) {
  const Extrapolation* const found = furthest_extrapolation(fallbacks);
  return found == nullptr ? 1 : found->reach.factor();
}

std::string describe_reach(const Reach& reach) {
  const double ratio = reach.asked / reach.nearest;
  const std::string size = reach.unit == "bytes"
                               ? binary_size_text(reach.asked)
                               : fmt::format("{} {}", with_thousands(std::llround(reach.asked)), reach.unit);
  return fmt::format("{}, {:.{}f} times the {} measured", size, ratio,
                     ratio < 1.95   ? 2
                     : ratio < 9.95 ? 1
                                    : 0,
                     ratio < 1 ? "smallest" : "largest");
}

Fallbacks find_fallbacks(const TransformerModel& model, const ParallelPlan& plan, const GpuProfile& profile,
                         const Stack& stack, const LayerCosts& costs) {
  Fallbacks fallbacks{.missing = unsupported_choices(plan, stack)};
  for (const auto& [name, reach] : costs.extrapolated)
    fallbacks.extrapolated.push_back({std::string(name), reach});
  const StageCosts stages(model, plan, profile, stack, costs);
  for (Extrapolation& reduction : stages.extrapolated_reductions())
    fallbacks.extrapolated.push_back(std::move(reduction));
  if (plan.offloaded_layers > 0 && profile.host_bandwidth.value <= 0) {
    fallbacks.missing.push_back(
        "offloaded activations: host_bandwidth is not in the profile, copies cost nothing");
  }
  if (plan.precision == Precision::Bf16 && !profile.has_bf16)
    fallbacks.missing.push_back(fmt::format("bf16: {} has none, timed as fp16", profile.name));
  if (model.has_experts() && plan.tensor > 1 && !plan.sequence_parallel) {
    fallbacks.missing.push_back(fmt::format(
        "experts without sequence_parallel: all {} GPUs of a tensor-parallel group route the same tokens, {} "
        "times the work (Megatron-Core refuses such plans)",
        plan.tensor, plan.tensor));
  }
  return fallbacks;
}

Result<PhysicalPrediction> predict_physical(const TransformerModel& model, const ParallelPlan& plan,
                                            const GpuProfile& profile, const Stack& given) {
  if (auto checked = check_plan(model, plan); !checked) return fail(checked.error());
  const Stack stack = with_attention(given, plan, profile);
  if (auto checked = check_precision(profile, plan.precision); !checked) return fail(checked.error());
  if (auto checked = check_stack(stack, plan); !checked) return fail(checked.error());
  const LayerCosts costs = layer_costs(model, layer_key(plan), profile, stack);
  IterationWork work = make_work(model, plan, profile, stack, costs);
  std::vector<std::string> remarks = remarks_on(model, plan, stack, costs, work);
  Fallbacks fallbacks = find_fallbacks(model, plan, profile, stack, costs);
  if (stack.attention != given.attention) {
    remarks.push_back(fmt::format("attention {}: the plan's, in place of {} of stack {}",
                                  name_of(plan.attention), name_of(given.attention), given.name));
  }
  const bool names_fused =
      plan.attention != AttentionChoice::Stack && plan.attention != AttentionChoice::Unfused;
  if (names_fused && !has_rates(profile, plan.attention))
    fallbacks.missing.push_back(attention_fallback(plan.attention, profile, given));
  return PhysicalPrediction{
      .work = std::move(work),
      .memory = estimate_memory(model, plan, profile, stack.memory),
      .provenance = {.all_reduce_source = std::string(all_reduce_source(profile, stack)),
                     .modelled = {costs.modelled.begin(), costs.modelled.end()},
                     .remarks = std::move(remarks),
                     .fallbacks = std::move(fallbacks)}};
}

}  // namespace vtrain
