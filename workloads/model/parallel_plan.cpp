#include "workloads/model/parallel_plan.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "workloads/model/layer_kinds.hpp"
#include "workloads/model/size_checks.hpp"

namespace vtrain {
namespace {

/// Bounds far beyond every plan run so far. They keep memory bounded and integer products exact.
constexpr std::int64_t kMostStages = 1024;
constexpr std::int64_t kMaxReplicas = std::int64_t{1} << 20;

constexpr std::array<std::string_view, 3> kRecomputeNames = {"none", "selective", "full"};
constexpr std::array<std::string_view, 4> kShardingNames = {"none", "optimizer", "full", "gradients"};
constexpr std::array<std::string_view, 5> kAttentionNames = {"stack", "flash-2", "flash-3", "cudnn",
                                                             "unfused"};

Result<void> check_layers(const TransformerModel& model, const ParallelPlan& plan) {
  if (!plan.ends_count_as_layers) {
    auto checked = check_divides("pipeline", plan.pipeline, "layers", model.num_layers);
    if (!checked) {
      Error error = checked.error();
      ParallelPlan with_ends = plan;
      with_ends.ends_count_as_layers = true;
      if (check_layers(model, with_ends))
        error.message += fmt::format(
            "; with \"ends_count_as_layers\": true embedding and output layer count too, {} in all",
            model.num_layers + 2);
      return fail(std::move(error));
    }
    return check_divides("virtual_stages", plan.virtual_stages, "layers of a stage",
                         model.num_layers / plan.pipeline);
  }
  const std::int64_t slots = model.num_layers + 2;
  const std::int64_t num_chunks = plan.pipeline * plan.virtual_stages;
  if ((num_chunks - 1) * chunk_size(model, plan) < slots) return {};
  return fail({.field = "pipeline",
               .message = expected_found(
                   fmt::format("a number of stages that leaves none of them without layers, of {}", slots),
                   fmt::format("{} x {}", plan.pipeline, plan.virtual_stages))});
}

Result<void> check_experts(const TransformerModel& model, const ParallelPlan& plan) {
  if (!model.has_experts()) {
    if (plan.expert == 1 && plan.expert_tensor == 1) return {};
    const bool is_tensor = plan.expert == 1;
    return fail({.field = is_tensor ? "expert_tensor" : "expert",
                 .message = expected_found("1, as the model has no experts",
                                           std::to_string(is_tensor ? plan.expert_tensor : plan.expert))});
  }
  const std::int64_t stage_gpus = plan.tensor * plan.context * plan.data;
  return first_error({check_divides("expert", plan.expert, "experts", model.experts.num_experts),
                      check_divides("expert", plan.expert, "GPUs of a stage", stage_gpus),
                      check_divides("expert_tensor", plan.expert_tensor, "columns of an expert",
                                    model.experts.expert_ffn_size),
                      check_divides("expert_tensor", plan.expert_tensor, "GPUs that share the experts",
                                    std::max<std::int64_t>(1, stage_gpus / plan.expert))});
}

Result<void> check_offloading(const TransformerModel& model, const ParallelPlan& plan) {
  const std::int64_t most = chunk_size(model, plan) * plan.virtual_stages;
  if (plan.offloaded_layers >= 0 && plan.offloaded_layers <= most) return {};
  return fail({.field = "offloaded_layers",
               .message = expected_found(fmt::format("0 to {}, the layers of a stage", most),
                                         std::to_string(plan.offloaded_layers))});
}

Result<void> check_recomputed(const TransformerModel& model, const ParallelPlan& plan) {
  const std::int64_t most = plan.recompute == Recompute::Full ? chunk_size(model, plan) : 0;
  if (plan.recomputed_layers >= 0 && plan.recomputed_layers <= most) return {};
  return fail(
      {.field = "recomputed_layers",
       .message = expected_found(most == 0 ? "0 without full recomputation"
                                           : fmt::format("0 to {}, the layers of a stage's chunk", most),
                                 std::to_string(plan.recomputed_layers))});
}

/// Tensor parallelism splits heads and the columns of the MLP evenly; heads of keys and values that are too
/// few for that are held several times, each as often.
Result<void> check_tensor(const TransformerModel& model, std::int64_t tensor) {
  const std::int64_t kv_heads = model.kv_heads();
  auto checked = check_divides("tensor", tensor, "heads", model.num_heads);
  if (!checked) return checked;
  if (kv_heads % tensor != 0 && tensor % kv_heads != 0) {
    return fail({.field = "tensor",
                 .message = expected_found(
                     fmt::format("a divisor or a multiple of the {} heads of keys and values", kv_heads),
                     std::to_string(tensor))});
  }
  if (model.state_space.num_heads > 0) {
    checked =
        check_divides("tensor", tensor, "groups of heads of the state space", model.state_space.num_groups);
    if (!checked) return checked;
  }
  if (const std::int64_t columns = mlp_columns(model); columns > 0) {
    checked = check_divides("tensor", tensor, "columns of the MLP", columns);
    if (!checked) return checked;
  }
  if (!model.has_experts() || model.experts.shared_ffn_size == 0) return {};
  return check_divides("tensor", tensor, "columns of the shared experts", model.experts.shared_ffn_size);
}

Result<void> check_replicate(const ParallelPlan& plan) {
  if (plan.replicate > 1 && !shards_weights(plan.sharding)) {
    return fail(
        {.field = "replicate",
         .message = expected_found("1 where weights are not fully sharded", std::to_string(plan.replicate))});
  }
  auto checked = check_divides("replicate", plan.replicate, "replicas (data x context)", plan.num_replicas());
  if (!checked || plan.replicate == 1) return checked;
  return check_divides("expert", plan.expert * plan.expert_tensor, "GPUs of a set that holds all weights",
                       plan.num_replicas() / plan.replicate * plan.tensor);
}

}  // namespace

std::int64_t chunk_size(const TransformerModel& model, const ParallelPlan& plan) {
  const std::int64_t num_chunks = plan.pipeline * plan.virtual_stages;
  if (!plan.ends_count_as_layers) return model.num_layers / num_chunks;
  return (model.num_layers + 2 + num_chunks - 1) / num_chunks;
}

std::int64_t mlp_columns(const TransformerModel& model) {
  const LayerCounts counts = count_layers(model);
  for (std::size_t kind = 0; kind < kNumLayerKinds; ++kind) {
    if (counts[kind] > 0 && layer_kinds(model)[kind].feed_forward == FeedForward::Mlp)
      return model.mlp_size();
  }
  return 0;
}

LayerRange chunk_layers(const TransformerModel& model, const ParallelPlan& plan, std::int64_t stage,
                        std::int64_t chunk) {
  const std::int64_t size = chunk_size(model, plan);
  const std::int64_t place = chunk * plan.pipeline + stage;
  LayerRange range{.first = place * size, .count = size};
  if (!plan.ends_count_as_layers) return range;
  if (place > 0) --range.first;
  if (place == 0) --range.count;
  if (place == plan.pipeline * plan.virtual_stages - 1) range.count = model.num_layers - range.first;
  return range;
}

std::vector<std::int64_t> layers_by_stage(const TransformerModel& model, const ParallelPlan& plan) {
  std::vector<std::int64_t> layers(static_cast<std::size_t>(plan.pipeline));
  for (std::int64_t stage = 0; stage < plan.pipeline; ++stage) {
    for (std::int64_t chunk = 0; chunk < plan.virtual_stages; ++chunk)
      layers[static_cast<std::size_t>(stage)] += chunk_layers(model, plan, stage, chunk).count;
  }
  return layers;
}

std::string pipeline_layout(const TransformerModel& model, const ParallelPlan& plan) {
  const std::int64_t num_chunks = plan.pipeline * plan.virtual_stages;
  const auto repeated = [](std::string_view what, std::int64_t times) {
    if (times < 2) return std::string(times == 1 ? what : "");
    return fmt::format("{}*{}", what, times);
  };
  std::vector<std::string> chunks;
  for (std::int64_t place = 0; place < num_chunks; ++place) {
    const LayerRange range = chunk_layers(model, plan, place % plan.pipeline, place / plan.pipeline);
    chunks.push_back((place == 0 ? "E" : "") + repeated("t", range.count));
    if (place + 1 == num_chunks) chunks.back() += repeated("m", model.prediction.depth) + "L";
  }
  std::string layout;
  for (std::size_t i = 0; i < chunks.size();) {
    std::size_t end = i + 1;
    while (end < chunks.size() && chunks[end] == chunks[i])
      ++end;
    const auto times = static_cast<std::int64_t>(end - i);
    const std::string chunk = end == chunks.size() ? chunks[i] : chunks[i] + "|";
    layout += times == 1 ? chunk : repeated("(" + chunk + ")", times);
    i = end;
  }
  return layout;
}

std::string_view name_of(Recompute recompute) {
  return kRecomputeNames[static_cast<std::size_t>(recompute)];
}

std::span<const std::string_view> recompute_names() {
  return kRecomputeNames;
}

Result<Recompute> parse_recompute(std::string_view name) {
  return parse_name<Recompute>("recompute", kRecomputeNames, name);
}

std::string_view name_of(Sharding sharding) {
  return kShardingNames[static_cast<std::size_t>(sharding)];
}

std::span<const std::string_view> sharding_names() {
  return kShardingNames;
}

Result<Sharding> parse_sharding(std::string_view name) {
  return parse_name<Sharding>("sharding", kShardingNames, name);
}

std::string_view name_of(AttentionChoice attention) {
  return kAttentionNames[static_cast<std::size_t>(attention)];
}

std::span<const std::string_view> attention_names() {
  return kAttentionNames;
}

Result<void> check_plan(const TransformerModel& model, const ParallelPlan& plan) {
  auto checked = first_error(
      {check_model(model), check_range("tensor", plan.tensor, kMostStages),
       check_range("pipeline", plan.pipeline, kMostStages), check_range("data", plan.data, kMaxReplicas),
       check_range("context", plan.context, kMostStages),
       check_range("virtual_stages", plan.virtual_stages, plan.pipeline > 1 ? kMostStages : 1),
       check_range("expert", plan.expert, kMaxReplicas),
       check_range("expert_tensor", plan.expert_tensor, kMostStages),
       check_range("replicate", plan.replicate, kMaxReplicas),
       check_range("global_batch", plan.global_batch, kMaxGlobalBatch),
       check_range("micro_batch", plan.micro_batch, kMaxGlobalBatch)});
  if (!checked) return checked;
  constexpr std::int64_t kMaxGpus = 1'000'000'000;
  checked =
      first_error({check_tensor(model, plan.tensor), check_layers(model, plan), check_experts(model, plan),
                   check_offloading(model, plan), check_recomputed(model, plan),
                   check_divides("context", plan.context, "tokens of a sequence", model.sequence_length),
                   check_divides("data", plan.data, "sequences of the global batch", plan.global_batch),
                   check_divides("micro_batch", plan.micro_batch, "sequences of a replica",
                                 plan.global_batch / plan.data),
                   check_range("data", plan.tensor * plan.context * plan.pipeline * plan.data, kMaxGpus),
                   check_replicate(plan)});
  if (!checked) return checked;
  if (plan.sequence_parallel) {
    checked =
        check_divides("tensor", plan.tensor, "tokens of a sequence on a GPU, which sequence_parallel splits",
                      model.sequence_length / plan.context);
    if (!checked) return checked;
  }
  return check_schedule(plan.schedule, {.num_stages = plan.pipeline,
                                        .num_chunks = plan.virtual_stages,
                                        .num_micro_batches = plan.num_micro_batches()});
}

}  // namespace vtrain
