#include "docs/measured/normalise/published_recipe.hpp"

#include <array>
#include <optional>

#include <fmt/format.h>

#include "docs/measured/normalise/recorded_words.hpp"

namespace vtrain {
namespace {

/// One line of a recipe. An empty name matches all. All matching lines count, in their order: a later stack
/// replaces an earlier one.
struct RecipeLine {
  std::string_view family{};
  std::string_view model{};    ///< the beginning of the model's name
  std::string_view variant{};  ///< text in the model's name
  std::string_view profile{};
  std::optional<Precision> precision{};
  bool fully_sharded = false;  ///< only with fully sharded weights
  bool interleaved = false;    ///< only with virtual stages
  double first_release = 0;
  double end_release = 0;  ///< the first to which it does not apply; 0 for none
  std::optional<Recompute> recompute{};
  std::int64_t expert = 0;          ///< GPUs over which experts are spread, where the record does not say
  std::int64_t virtual_stages = 0;  ///< used if the record has several stages and no virtual stages
  std::int64_t offloaded_layers = 0;
  std::string_view stack{};
  std::optional<SelectiveRecompute> selective{};
  std::optional<AttentionKernel> attention{};
  std::optional<TokenDispatch> dispatch{};
  std::optional<CudaGraphs> graphs{};
  MultiTokenPrediction prediction{};
  std::optional<WiderProducts> wider{};
  bool unfused_router = false;
  bool plain_tensor = false;        ///< collectives of tensor parallelism overlap with no product
  std::int64_t sharded_over = 0;    ///< GPUs over which Megatron-FSDP shards, for any value in the record
  bool fused_experts = false;       ///< grouped MLP as one kernel, its inputs in the CPU's memory
  double loss_bytes_per_logit = 0;  ///< traffic of a loss other than the stack's; 0: the stack's
  bool eager_loss = false;          ///< cross entropy as Megatron-Core has it by default
  bool eager_activation = false;
  bool dropout = false;
  bool registered_buffers = false;  ///< collectives of sharded weights work on them (nccl_ub)
};

/// On registered buffers NCCL keeps 4 or 5 multiprocessors within an NVLink domain (Megatron-Core,
/// distributed_data_parallel_config.py), and what arrives is written to its place.
constexpr DataParallelCost kRegisteredBuffers{.contention = 0.03, .memory_traffic = 1};

/// Precisions of Nemotron 3 Super and Ultra (NVIDIA, "Nemotron 3 Super", arXiv:2604.12374, section on NVFP4;
/// num_layers_at_end_in_bf16 of Super in src/megatron/bridge/training/mixed_precision.py). Their recipes keep
/// multi-token prediction in bf16 for any precision of the rest (keep_mtp_spec_in_bf16).
constexpr WiderProducts kPredictionInBf16{.prediction = true};
constexpr WiderProducts kNemotronFp4{
    .last_layers = 14, .attention = true, .latent_experts = true, .prediction = true, .space_output = true};

/// NVIDIA-NeMo/Megatron-Bridge, scripts/performance/configs/*/*_workload_base_configs.py
/// (cpu_offloading_num_layers, virtual_pipeline_model_parallel_size, recompute_modules, cuda_graph_impl,
/// moe_a2a_overlap); NVIDIA-NeMo/Automodel, examples/benchmark/configs/*.yaml (activation_checkpointing); and
/// NVIDIA/NeMo-Framework-Launcher, launcher_scripts/conf/training/*/*.yaml (no cross_entropy_loss_fusion,
/// bias_activation_fusion, hidden_dropout).
const std::array kLines = {
    // Recipes name HybridEP (moe_flex_dispatcher_backend) from release 26.02 on.
    RecipeLine{.family = "mbridge", .end_release = 26.02, .dispatch = TokenDispatch::OnePerGpu},
    RecipeLine{.family = "dgxc", .dispatch = TokenDispatch::OnePerGpu},
    // Megatron's cross entropy in kernels of torch.jit, older than Transformer Engine's; an estimate.
    RecipeLine{.family = "nemo", .loss_bytes_per_logit = 20},
    RecipeLine{.family = "nemo", .model = "gpt3", .eager_loss = true, .dropout = true},
    RecipeLine{.family = "nemo", .model = "nemotron", .eager_loss = true, .eager_activation = true},
    // Nemotron-4 in NeMo 25: "remove until we have serialization", says nemo/collections/llm/fn/activation.py
    // of
    // the compilation of its squared ReLU.
    RecipeLine{.family = "dgxc", .model = "nemotron4", .eager_activation = true},
    RecipeLine{.family = "automodel", .recompute = Recompute::Full},
    // attn: flex. FlexAttention has 0.85 to 0.9 of the rate of the second generation ("FlexAttention: The
    // Flexibility of PyTorch with the Performance of FlashAttention", pytorch.org, 2024), so that generation
    // is used here.
    RecipeLine{.family = "automodel",
               .model = "gptoss",
               .recompute = Recompute::None,
               .attention = AttentionKernel::Flash2},
    RecipeLine{.family = "automodel", .model = "gptoss20b", .expert = 8},
    RecipeLine{.family = "automodel", .model = "gptoss120b", .expert = 64},
    RecipeLine{.family = "mbridge",
               .model = "llama370b",
               .profile = "gb300",
               .precision = Precision::Bf16,
               .fully_sharded = true,
               .offloaded_layers = 30},
    RecipeLine{.family = "mbridge",
               .model = "llama370b",
               .profile = "gb300",
               .precision = Precision::Fp8,
               .fully_sharded = true,
               .offloaded_layers = 20},
    // virtual_pipeline_model_parallel_size of FP8_MX, the only recipe of its 8-bit ones that has stages.
    RecipeLine{.family = "mbridge",
               .model = "llama370b",
               .profile = "gb300",
               .precision = Precision::Fp8,
               .virtual_stages = 5},
    RecipeLine{.family = "mbridge",
               .model = "llama370b",
               .profile = "gb200",
               .precision = Precision::Bf16,
               .fully_sharded = true,
               .offloaded_layers = 20},
    RecipeLine{.family = "mbridge",
               .model = "llama370b",
               .profile = "gb200",
               .precision = Precision::Fp8,
               .fully_sharded = true,
               .offloaded_layers = 40},
    RecipeLine{.family = "mbridge",
               .model = "llama370b",
               .profile = "b200",
               .precision = Precision::Fp8,
               .fully_sharded = true,
               .offloaded_layers = 5},
    RecipeLine{.family = "mbridge",
               .model = "llama31405b",
               .profile = "gb300",
               .precision = Precision::Bf16,
               .fully_sharded = true,
               .offloaded_layers = 40},
    RecipeLine{.family = "mbridge",
               .model = "llama31405b",
               .profile = "gb300",
               .precision = Precision::Fp8,
               .fully_sharded = true,
               .offloaded_layers = 10},
    RecipeLine{.family = "mbridge",
               .model = "llama31405b",
               .profile = "gb200",
               .precision = Precision::Fp8,
               .fully_sharded = true,
               .offloaded_layers = 92},
    // ddp.nccl_ub.
    RecipeLine{.family = "mbridge",
               .model = "llama38b",
               .profile = "h100",
               .fully_sharded = true,
               .registered_buffers = true},
    RecipeLine{.family = "mbridge",
               .model = "llama370b",
               .profile = "gb300",
               .precision = Precision::Bf16,
               .fully_sharded = true,
               .registered_buffers = true},
    // mla_up_proj; in some also dense MLPs or activations of experts, which are small.
    RecipeLine{.family = "mbridge", .model = "deepseekv3", .recompute = Recompute::Selective},
    RecipeLine{.family = "mbridge",
               .model = "deepseekv3",
               .profile = "gb300",
               .precision = Precision::Fp8,
               .first_release = 26.06,
               .recompute = Recompute::None},
    // cuda_graph_impl, cuda_graph_scope.
    RecipeLine{.family = "mbridge", .model = "qwen3", .profile = "gb200", .graphs = CudaGraphs::Layer},
    RecipeLine{.family = "mbridge", .model = "qwen3", .profile = "gb300", .graphs = CudaGraphs::Layer},
    RecipeLine{.family = "mbridge",
               .model = "qwen3",
               .variant = "tokendrop",
               .profile = "gb200",
               .graphs = CudaGraphs::Iteration},
    RecipeLine{.family = "mbridge", .model = "qwen330b", .profile = "b200", .graphs = CudaGraphs::Router},
    RecipeLine{.family = "mbridge", .model = "qwen330b", .profile = "b300", .graphs = CudaGraphs::Router},
    RecipeLine{.family = "mbridge",
               .model = "qwen330b",
               .profile = "b200",
               .first_release = 26.04,
               .graphs = CudaGraphs::Layer},
    RecipeLine{.family = "mbridge", .model = "deepseekv3", .profile = "gb200", .graphs = CudaGraphs::Layer},
    RecipeLine{.family = "mbridge",
               .model = "deepseekv3",
               .profile = "b300",
               .first_release = 26.04,
               .graphs = CudaGraphs::Layer},
    RecipeLine{.family = "mbridge", .model = "nemotron3", .graphs = CudaGraphs::Layer},
    RecipeLine{.family = "mbridge", .model = "nemotron3super", .profile = "b200", .graphs = CudaGraphs::None},
    // moe_a2a_overlap.
    RecipeLine{.family = "mbridge",
               .model = "deepseekv3",
               .profile = "h100",
               .interleaved = true,
               .end_release = 26.02,
               .stack = "megatron-bridge-overlap"},
    RecipeLine{.family = "mbridge",
               .model = "qwen3235b",
               .profile = "h100",
               .interleaved = true,
               .first_release = 25.11,
               .stack = "megatron-bridge-overlap"},
    RecipeLine{.family = "mbridge",
               .model = "qwen3235b",
               .profile = "b200",
               .interleaved = true,
               .first_release = 25.11,
               .end_release = 26.02,
               .stack = "megatron-bridge-overlap"},
    RecipeLine{.family = "mbridge",
               .model = "qwen3235b",
               .profile = "b300",
               .interleaved = true,
               .end_release = 26.04,
               .stack = "megatron-bridge-overlap"},
    RecipeLine{.family = "mbridge",
               .model = "qwen330b",
               .profile = "h100",
               .interleaved = true,
               .first_release = 25.11,
               .end_release = 26.04,
               .stack = "megatron-bridge-overlap"},
    // Whole iterations as CUDA graphs, dispatch under other work, fused grouped MLPs.
    RecipeLine{.family = "mbridge",
               .model = "deepseekv3",
               .profile = "gb200",
               .precision = Precision::Fp8,
               .first_release = 26.06,
               .stack = "megatron-bridge-26.06"},
    RecipeLine{.family = "mbridge",
               .model = "deepseekv3",
               .profile = "gb300",
               .precision = Precision::Fp8,
               .first_release = 26.06,
               .stack = "megatron-bridge-26.06"},
    RecipeLine{.family = "mbridge", .model = "gptoss", .profile = "gb300", .graphs = CudaGraphs::Layer},
    RecipeLine{.family = "mbridge", .model = "gptoss", .profile = "b300", .graphs = CudaGraphs::Layer},
    RecipeLine{.family = "mbridge", .model = "gptoss", .dispatch = TokenDispatch::AllToAll},
    RecipeLine{
        .family = "mbridge", .model = "gptoss", .profile = "b300", .dispatch = TokenDispatch::OnePerGpu},
    RecipeLine{.family = "mbridge",
               .model = "gptoss",
               .profile = "h100",
               .recompute = Recompute::Selective,
               .selective = SelectiveRecompute::NormsAndActivations},
    RecipeLine{.family = "mbridge",
               .model = "gptoss",
               .profile = "b200",
               .recompute = Recompute::Selective,
               .selective = SelectiveRecompute::NormsAndActivations},
    RecipeLine{.family = "mbridge",
               .model = "gptoss",
               .profile = "gb200",
               .precision = Precision::Bf16,
               .recompute = Recompute::Selective,
               .selective = SelectiveRecompute::NormsAndActivations},
    RecipeLine{.family = "mbridge",
               .model = "nemotron3nano",
               .profile = "h100",
               .recompute = Recompute::Selective,
               .selective = SelectiveRecompute::Experts},
    RecipeLine{.family = "mbridge", .model = "nemotron3nano", .unfused_router = true},
    // comm_overlap None in the common recipes (_pretrain_common) of Super and Ultra.
    RecipeLine{.family = "mbridge",
               .model = "nemotron3super",
               .wider = kPredictionInBf16,
               .unfused_router = true,
               .plain_tensor = true},
    RecipeLine{
        .family = "mbridge", .model = "nemotron3super", .precision = Precision::Fp4, .wider = kNemotronFp4},
    RecipeLine{.family = "mbridge",
               .model = "nemotron3super",
               .profile = "b300",
               .precision = Precision::Fp4,
               .recompute = Recompute::Selective,
               .selective = SelectiveRecompute::NormsAndActivations},
    // perf_recipes/nemotronh: optim_grads_params within 64 GPUs, cutedsl_fused_grouped_mlp, moe_act,
    // offload_modules fused_group_mlp, moe_router_fusion.
    RecipeLine{.family = "mbridge",
               .model = "nemotron3ultra",
               .recompute = Recompute::Selective,
               .selective = SelectiveRecompute::Activations,
               .wider = kPredictionInBf16,
               .plain_tensor = true,
               .sharded_over = 64,
               .fused_experts = true},
    // mtp_num_layers 2, mtp_use_repeated_layer, mtp_hybrid_override_pattern (src/megatron/bridge/recipes).
    RecipeLine{.family = "mbridge",
               .model = "nemotron3super",
               .prediction = {.depth = 2, .shares_weights = true, .layer_pattern = "*E"}},
    RecipeLine{.family = "mbridge",
               .model = "nemotron3ultra",
               .prediction = {.depth = 2, .shares_weights = true, .layer_pattern = "*E"}},
    RecipeLine{.family = "mbridge",
               .model = "gptoss",
               .profile = "gb200",
               .precision = Precision::Fp8,
               .first_release = 26.06,
               .stack = "megatron-bridge-26.06"},
    RecipeLine{.family = "mbridge",
               .model = "gptoss",
               .profile = "gb300",
               .precision = Precision::Fp8,
               .first_release = 26.06,
               .stack = "megatron-bridge-26.06"},
    RecipeLine{.family = "mbridge",
               .model = "qwen3",
               .profile = "gb200",
               .precision = Precision::Fp8,
               .first_release = 26.06,
               .stack = "megatron-bridge-26.06"},
    RecipeLine{.family = "mbridge",
               .model = "qwen3",
               .profile = "gb300",
               .precision = Precision::Fp8,
               .first_release = 26.06,
               .stack = "megatron-bridge-26.06"},
    // An all-to-all where moe_flex_dispatcher_backend is not set, and with dropped tokens.
    RecipeLine{
        .family = "mbridge", .model = "qwen3235b", .profile = "h100", .dispatch = TokenDispatch::AllToAll},
    RecipeLine{
        .family = "mbridge", .model = "qwen3235b", .profile = "b200", .dispatch = TokenDispatch::AllToAll},
    RecipeLine{
        .family = "mbridge", .model = "qwen3235b", .profile = "b300", .dispatch = TokenDispatch::AllToAll},
    RecipeLine{
        .family = "mbridge", .model = "qwen330b", .end_release = 26.02, .dispatch = TokenDispatch::AllToAll},
    RecipeLine{.family = "mbridge",
               .model = "qwen330b",
               .profile = "h100",
               .end_release = 26.04,
               .dispatch = TokenDispatch::AllToAll},
    RecipeLine{.family = "mbridge",
               .model = "qwen330b",
               .profile = "b200",
               .end_release = 26.04,
               .dispatch = TokenDispatch::AllToAll},
    RecipeLine{.family = "mbridge", .variant = "tokendrop", .dispatch = TokenDispatch::AllToAll},
};

bool matches(const RecipeLine& line, const RecipeKey& key, const MeasuredCase& measured) {
  const auto is_or_empty = [](std::string_view wanted, std::string_view found) {
    return wanted.empty() || wanted == found;
  };
  return is_or_empty(line.family, key.family) && key.model.starts_with(line.model) &&
         is_or_empty(line.profile, measured.profile) &&
         (!line.precision || *line.precision == measured.plan.precision) &&
         (!line.fully_sharded || measured.plan.sharding == Sharding::Full) &&
         (!line.interleaved || measured.plan.virtual_stages > 1) && contains(key.model, line.variant) &&
         key.release >= line.first_release && (line.end_release == 0 || key.release < line.end_release);
}

/// Completes runs on H100 by facts in LLM Foundry's scripts (scripts/train/benchmarking). Runs in fp8 install
/// the second generation of flash attention (submit_benchmarks.py). Runs on 128 GPUs and more (sweep.py) take
/// it except 13B and 30B, which use Triton's. 1B and 3B keep their weights after the forward pass, as in the
/// published table (README.md).
void complete_from_llm_foundry(MeasuredCase& measured, std::string_view model) {
  constexpr std::int64_t kLargeRun = 128;
  if (measured.profile != "h100") return;
  const bool is_large = measured.plan.num_gpus().value >= kLargeRun;
  if (is_large && (model.starts_with("mpt1b") || model.starts_with("mpt3b"))) {
    measured.plan.sharding = Sharding::Gradients;
    measured.assumed.emplace_back("sharding: gradients");
  }
  const bool stays = is_large ? model.starts_with("mpt13b") || model.starts_with("mpt30b")
                              : measured.plan.precision != Precision::Fp8;
  if (stays) return;
  measured.stack.attention = AttentionKernel::Flash2;
  measured.assumed.emplace_back("attention: flash attention 2");
}

}  // namespace

void complete_from_recipe(MeasuredCase& measured, const RecipeKey& key, bool says_recompute) {
  if (key.family == "mpt") complete_from_llm_foundry(measured, key.model);
  std::optional<Recompute> recompute;
  for (const RecipeLine& line : kLines) {
    if (!matches(line, key, measured)) continue;
    if (line.recompute && !says_recompute) recompute = line.recompute;
    if (line.offloaded_layers > 0) {
      measured.plan.offloaded_layers = line.offloaded_layers;
      measured.assumed.push_back(fmt::format("activations of {} layers wait in the CPU's memory: the recipe",
                                             line.offloaded_layers));
    }
    if (line.expert > 0 && measured.plan.expert == 1) {
      measured.plan.expert = line.expert;
      measured.assumed.push_back(fmt::format("experts over {} GPUs: the recipe", line.expert));
    }
    if (line.virtual_stages > 0 && measured.plan.pipeline > 1 && measured.plan.virtual_stages == 1) {
      measured.plan.virtual_stages = line.virtual_stages;
      measured.assumed.push_back(fmt::format("{} virtual stages: the recipe", line.virtual_stages));
    }
    if (!line.stack.empty()) measured.stack = find_stack(line.stack).value();
    if (line.selective && !says_recompute) measured.stack.memory.selective = *line.selective;
    if (line.attention) measured.stack.attention = *line.attention;
    if (line.dispatch) measured.stack.dispatch = *line.dispatch;
    if (line.wider) measured.stack.wider = *line.wider;
    if (line.unfused_router) measured.stack.fuses_router = false;
    if (line.graphs) measured.stack.graphs = *line.graphs;
    if (line.plain_tensor) measured.stack.overlap.tensor = false;
    if (line.sharded_over > 0) {
      measured.plan.sharding = Sharding::Full;
      const std::int64_t stage_gpus = measured.plan.num_replicas() * measured.plan.tensor;
      if (stage_gpus % line.sharded_over == 0) measured.plan.replicate = stage_gpus / line.sharded_over;
      measured.assumed.push_back(
          fmt::format("weights fully sharded over {} GPUs: the recipe", line.sharded_over));
    }
    if (line.fused_experts) {
      measured.stack.fuses_experts = true;
      measured.stack.memory.offloads_expert_inputs = true;
      measured.assumed.emplace_back(
          "inputs of the experts' non-linearity wait in the CPU's memory: the recipe");
    }
    if (line.loss_bytes_per_logit > 0) measured.stack.loss_bytes_per_logit = line.loss_bytes_per_logit;
    if (line.eager_loss) {
      const Stack eager = find_stack("megatron-core").value();
      measured.stack.loss_bytes_per_logit = eager.loss_bytes_per_logit;
      measured.stack.loss_conversion_bytes = eager.loss_conversion_bytes;
    }
    if (line.eager_activation) measured.stack.eager.activation = true;
    if (line.registered_buffers) {
      measured.stack.data_parallel = kRegisteredBuffers;
      measured.assumed.emplace_back("collectives of sharded weights work on registered buffers: the recipe");
    }
    if (line.dropout) measured.model.dropout = Dropout{.attention = true, .hidden = true};
    if (line.prediction.depth > 0) {
      measured.model.prediction = line.prediction;
      measured.assumed.push_back(
          fmt::format("multi-token prediction of depth {}: the recipe", line.prediction.depth));
    }
  }
  if (says_recompute) return;
  measured.plan.recompute = recompute.value_or(Recompute::None);
  measured.assumed.push_back(fmt::format("recomputation: {}{}", name_of(measured.plan.recompute),
                                         recompute ? ", the recipe's" : ""));
}

}  // namespace vtrain
