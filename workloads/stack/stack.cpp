#include "workloads/stack/stack.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/profile/gpu_profile.hpp"

namespace vtrain {
namespace {

// Traffic of the loss, bytes a logit over both passes, counted from the kernels' inputs and outputs:
// Megatron's vocab-parallel cross entropy in eager PyTorch 54, torch's own 40, flash-attention's 14 (a
// regression over the MosaicML runs gives 13.9), Transformer Engine's 10: logits are read, read and written
// as their gradients, and read and written once more for the factor of the loss
// (pytorch/triton/cross_entropy.py, as released in 2025). Where logits are turned into single precision, 6 of
// these for them and 6 for their gradients. Compiled, the logits are read twice, and read and written once
// more as their gradients.
constexpr double kEagerMegatronLoss = 54;
constexpr double kTorchLoss = 40;
constexpr double kTransformerEngineLoss = 10;
constexpr double kFlashAttentionLoss = 14;
constexpr double kCompiledLoss = 8;
constexpr double kLossConversion = 12;

// Least time in which eager PyTorch issues a layer; estimates.
constexpr IssueFloor kEagerIssue{Nanoseconds(900'000), Nanoseconds(1'400'000)};

// Eager code leaves all of it to PyTorch, and so does Megatron-Core with Transformer Engine: rope_utils.py
// ("not supported by TE's fused RoPE"), the clamps before the compiled part of
// weighted_bias_quick_geglu_impl, TEGroupedMLP._apply_bias, and bias_dropout_fusion, which TEGroupedMLP rules
// out with biases.
constexpr EagerParts kAllEager{
    .scaled_rotation = true, .activation_clamp = true, .expert_bias = true, .output_bias = true};

// PyTorch's FSDP2 (torch/distributed/fsdp/_fully_shard: split_with_sizes_copy, chunk_cat).
constexpr DataParallelCost kFsdp2{.copies = true};

std::vector<Recompute> every_recompute() {
  return {Recompute::Full, Recompute::Selective, Recompute::None};
}

/// Choices of a framework with data parallelism alone.
PlanChoices data_parallel_only(std::vector<Sharding> sharding) {
  return {
      .tensor = false, .context = false, .pipeline = false, .expert = false, .sharding = std::move(sharding)};
}

Stack megatron_2021() {
  return {.name = "megatron-2021",
          .summary = "Megatron-LM of 2020 and 2021: unfused attention, dropout, fp16 gradients, no overlap",
          .attention = AttentionKernel::Unfused,
          .libraries = Libraries::Old,
          .elementwise = ElementwiseKernels::Megatron2021,
          .loss_bytes_per_logit = kEagerMegatronLoss,
          .loss_conversion_bytes = kLossConversion,
          .issue_floor = kEagerIssue,
          .gradient_bytes = 2,
          .sends_hold_stage = true,
          .splits_messages = true,
          .choices = {.context = false,
                      .expert = false,
                      .sequence_parallel = false,
                      .ends_count_as_layers = false,
                      .sharding = {Sharding::None},
                      .precision = Precision::Fp16}};
}

/// Megatron-LM of 2022 (Korthikanti et al., 2022): sequence parallelism and selective recomputation. Backward
/// collectives of layers that are split by columns overlap products (async_tensor_model_parallel_allreduce of
/// megatron/arguments.py). In bf16 that file requires gradients that are added up and reduced in single
/// precision (accumulate_allreduce_grads_in_fp32).
Stack megatron_2022() {
  Stack stack = megatron_2021();
  stack.name = "megatron-2022";
  stack.summary =
      "Megatron-LM of 2022 in bf16: sequence parallelism, fp32 gradients, backward collectives beside "
      "products";
  stack.overlap.input_gradients = true;
  stack.gradient_bytes = 4;
  stack.memory.gradient_bytes = 4;
  stack.choices.precision = Precision::Bf16;
  stack.choices.sequence_parallel = true;
  stack.choices.partial_recompute = true;
  stack.choices.recompute = every_recompute();
  return stack;
}

/// Multiprocessors that Transformer Engine's user buffers take when a product's result is reduced by method
/// `pipeline` (module/base.py: num_sm 16, set_sm_margin, except `ring_exchange`). NeMo and Megatron-Bridge
/// configure 8 to 32 in 16 bits (userbuffers.py, comm_overlap.py); in 8 bits they mostly configure rings.
constexpr std::int64_t kReductionMultiprocessors = 16;

/// Megatron-Core's defaults: gradients reduced in fp32, no overlap unless requested, fused kernels of
/// Transformer Engine, cross entropy in eager PyTorch, layers issued from Python. SimuMax's runs show nothing
/// of what experts take the CPU more in Megatron-Bridge (with it they would have 4.7 instead of 2.8 %).
Stack megatron_core() {
  return {
      .name = "megatron-core",
      .summary = "Megatron-Core with Transformer Engine and its defaults: fp32 gradients, no overlap",
      .loss_bytes_per_logit = kEagerMegatronLoss,
      .loss_conversion_bytes = kLossConversion,
      .issue_floor = kEagerIssue,
      .eager = kAllEager,
      .gathers_converted_inputs = true,
      .overlap = {.reduction_multiprocessors = kReductionMultiprocessors},
      .memory = kMegatronCoreMemory,
      .choices = {.offload = true, .partial_recompute = true, .latent_recompute = true, .zero_bubble = true}};
}

MemoryRules bf16_gradients(MemoryRules rules) {
  rules.gradient_bytes = 2;
  return rules;
}

/// Megatron-Bridge (NeMo) performance recipes: gradients reduced in bf16 (grad_reduce_in_fp32 = False),
/// overlap of data and tensor parallelism, fused cross entropy. Layers are issued from Python, experts one by
/// one (GroupedLinear of Transformer Engine: lists of weights, of quantisers and of products). The times for
/// experts were fitted on three runs that the CPU bounds: Qwen3 30B on B200 with 16 experts a GPU (release
/// 26.02), Nemotron 3 Super on B300 with 64 (26.04 and 26.06, 8 bits).
Stack megatron_bridge() {
  return {.name = "megatron-bridge",
          .summary = "Megatron-Bridge performance recipes: bf16 gradients, everything overlapped, fused loss",
          .loss_bytes_per_logit = kTransformerEngineLoss,
          .issue_floor = kEagerIssue,
          .experts_issue = {Nanoseconds(1'000'000), Nanoseconds(2'500'000)},
          .expert_issue = {Nanoseconds(110'000), Nanoseconds(140'000)},
          .eager = kAllEager,
          .gathers_converted_inputs = true,
          .gradient_bytes = 2,
          .accumulation_bytes = 2,
          .overlap = {.data_parallel = true,
                      .tensor = true,
                      .reduction_multiprocessors = kReductionMultiprocessors},
          .memory = bf16_gradients(kMegatronCoreMemory),
          .dispatch = TokenDispatch::HybridEp,
          // Fully sharded: Megatron-FSDP.
          .choices = {.offload = true,
                      .partial_recompute = true,
                      .latent_recompute = true,
                      .sharding = {Sharding::None, Sharding::Optimizer, Sharding::Full}}};
}

/// Megatron-Bridge with moe_a2a_overlap: a forward pass and the backward pass of another micro-batch are
/// issued piece by piece in turn (combined_1f1b.py of Megatron-Core). Each piece has its own autograd graph,
/// streams and events, so that dispatch and combine of one overlap the other. The CPU's time was fitted on
/// one run, Qwen3 235B on B300 in release 26.02.
Stack megatron_bridge_overlap() {
  Stack stack = megatron_bridge();
  stack.name = "megatron-bridge-overlap";
  stack.summary = "Megatron-Bridge with dispatch and combine of experts under another micro-batch's layers";
  constexpr Nanoseconds kPieces(2'900'000);
  stack.experts_issue.forward += kPieces;
  stack.experts_issue.backward += kPieces;
  stack.overlap.experts = true;
  return stack;
}

/// From release 26.06 on the recipes of some mixtures of experts in 8 bits (scripts/performance/configs of
/// NVIDIA-NeMo/Megatron-Bridge: DeepSeek-V3 and Qwen3, GB200 and GB300) run whole iterations as CUDA graphs,
/// dispatch and combine under other work (moe_a2a_overlap), and fused grouped MLPs
/// (cutedsl_fused_grouped_mlp).
Stack megatron_bridge_2606() {
  Stack stack = megatron_bridge();
  stack.name = "megatron-bridge-26.06";
  stack.summary =
      "Megatron-Bridge from 26.06, experts in 8 bits: CUDA graphs, dispatch hidden, fused grouped MLP";
  stack.graphs = CudaGraphs::Iteration;
  stack.fuses_experts = true;
  stack.eager.activation_clamp = false;
  stack.eager.expert_bias = false;
  stack.overlap.experts = true;
  return stack;
}

/// DeepSpeed on top of Megatron-LM 2021 (Smith et al., 2022).
Stack deepspeed_megatron() {
  Stack stack = megatron_2021();
  stack.name = "deepspeed-megatron";
  stack.summary = "Megatron-LM of 2021 under DeepSpeed's pipeline engine";
  stack.choices.sharding = {Sharding::None, Sharding::Optimizer};
  stack.choices.virtual_stages = false;
  return stack;
}

/// PyTorch FSDP without compilation, as MosaicML's LLM Foundry ran it in 2023: Triton flash attention of the
/// first generation, flash-attention's cross entropy. The traffic factor was fitted on 14 of its published
/// runs, where a regression gives 2.01, and so was the contention (1.25, at most 1: the collective costs its
/// full time).
Stack fsdp_eager() {
  return {.name = "fsdp-eager",
          .summary = "PyTorch FSDP, eager, as in MosaicML's LLM Foundry: Triton flash attention",
          .attention = AttentionKernel::Flash1,
          .traffic_factor = 2,
          .loss_bytes_per_logit = kFlashAttentionLoss,
          .issue_floor = kEagerIssue,
          .eager = kAllEager,
          .accumulation_bytes = 0,
          .overlap = {.data_parallel = true},
          .data_parallel = {.contention = 1},
          .memory = kFsdpEagerMemory,
          .choices = data_parallel_only({Sharding::Full, Sharding::Gradients})};
}

/// NeMo AutoModel with the Transformer Engine backend of its benchmarks (examples/benchmark/configs of
/// NVIDIA-NeMo/Automodel: attn, linear and rms_norm te, rope fused, dispatcher deepep, masked cross entropy
/// without conversion to single precision): PyTorch FSDP2 around cuDNN's attention. Activations are compiled,
/// biases of experts are not (components/moe/experts.py).
Stack nemo_automodel() {
  return {.name = "nemo-automodel",
          .summary = "NeMo AutoModel: FSDP2 with kernels of Transformer Engine, tokens dispatched by DeepEP",
          .loss_bytes_per_logit = kTorchLoss,
          .loss_conversion_bytes = kLossConversion,
          .eager = {.expert_bias = true, .expert_input_bias = true},
          .exchanges_compressed = false,
          .accumulation_bytes = 0,
          .overlap = {.data_parallel = true},
          .data_parallel = kFsdp2,
          .memory = kFsdp2Memory,
          .dispatch = TokenDispatch::OnePerGpu,
          .choices = {.recompute = every_recompute(), .sharding = {Sharding::Full}}};
}

/// torchtitan: FSDP2, torch.compile on each layer, PyTorch's flash attention (second generation), selective
/// recomputation by operator. Rotation by complex numbers is not compiled ("Torchinductor does not support
/// code generation for complex operators", pytorch/torchtitan, issue 15). Keys and values are repeated for
/// each query's head (`apply_rotary_emb` and `repeat_kv` of torchtitan/models/llama/model.py). Context
/// parallelism is PyTorch's, and so is optional asynchronous tensor parallelism (`reduce_fn` of
/// `_fused_matmul_reduce_scatter`, torch/distributed/_symmetric_memory). In 8 bits weights and inputs are
/// gathered in 8 bits (docs/float8.md of torchtitan: for tensor parallelism by default, for FSDP as its
/// example has it).
///
/// Until March 2025, when the loss was not compiled yet.
Stack torchtitan_2024() {
  return {.name = "torchtitan-2024",
          .summary = "torchtitan before April 2025: the loss is not compiled",
          .attention = AttentionKernel::Flash2,
          .loss_bytes_per_logit = kTorchLoss,
          .loss_conversion_bytes = kLossConversion,
          .eager = {.complex_rotation = true, .repeated_heads = true},
          .gathers_converted_inputs = true,
          .gathers_converted_weights = true,
          .exchanges_compressed = false,
          .context = ContextExchange::Gather,
          .accumulation_bytes = 0,
          .overlap = {.data_parallel = true, .sums_pieces = true},
          .data_parallel = kFsdp2,
          .memory = kTorchTitanMemory,
          .choices = {.recompute = every_recompute(), .sharding = {Sharding::Full, Sharding::Gradients}}};
}

/// torchtitan since April 2025: the loss is compiled if layers are (pytorch/torchtitan, pull request 1033).
Stack torchtitan() {
  Stack stack = with_compiled_loss(torchtitan_2024());
  stack.name = "torchtitan";
  stack.summary = "torchtitan: FSDP2, compiled layers and loss, flash attention 2, recomputation by operator";
  return stack;
}

/// torchtitan with torchao's recipe `rowwise` for 8 bits; operands are gathered in 16.
Stack torchtitan_rowwise() {
  Stack stack = torchtitan();
  stack.name = "torchtitan-rowwise";
  stack.summary = "torchtitan whose products in 8 bits have a scaling factor for each row";
  stack.scales_rows = true;
  stack.gathers_converted_inputs = false;
  stack.gathers_converted_weights = false;
  return stack;
}

/// torchtitan without compilation, which is its default: the kernels of eager PyTorch.
Stack torchtitan_eager() {
  Stack stack = torchtitan_2024();
  stack.name = "torchtitan-eager";
  stack.summary = "torchtitan without compilation: FSDP2, flash attention 2, recomputation by operator";
  stack.elementwise = ElementwiseKernels::Eager;
  stack.issue_floor = kEagerIssue;
  return stack;
}

/// Plain PyTorch, a script without a framework: bf16 weights, their gradients added up in fp32 (2 bytes read,
/// 4 read and 4 written), data parallelism alone. Compiled layers as in torchtitan; eager ones have the
/// memory traffic of FSDP's, with the attention of today's `scaled_dot_product_attention` (flash attention
/// 2).
Stack plain_pytorch(Stack stack, std::string_view name, std::string_view summary, AttentionKernel attention) {
  constexpr double kBytesOfAddingGradients = 10;
  stack.name = name;
  stack.summary = summary;
  stack.attention = attention;
  stack.memory.keeps_scores = attention == AttentionKernel::Unfused;
  stack.loss_bytes_per_logit = kTorchLoss;
  stack.loss_conversion_bytes = kLossConversion;
  stack.accumulation_bytes = kBytesOfAddingGradients;
  stack.data_parallel = {};
  const std::vector<Recompute> recompute = stack.choices.recompute;
  stack.choices = data_parallel_only({Sharding::None});
  stack.choices.recompute = stack.memory.keeps_scores ? every_recompute() : recompute;
  return stack;
}

/// Hugging Face Transformers in PyTorch without compilation, attention as its models spell it out
/// (attn_implementation "eager"; modeling_gpt2.py, modeling_opt.py and modeling_bert.py of release 4.3x):
/// every operator is a kernel. Gradients are reduced as DistributedDataParallel does, during the backward
/// pass.
Stack transformers_eager() {
  return {
      .name = "transformers-eager",
      .summary = "Hugging Face Transformers, eager: unfused attention, every operator a kernel of its own",
      .attention = AttentionKernel::Unfused,
      .elementwise = ElementwiseKernels::Eager,
      .loss_bytes_per_logit = kTorchLoss,
      .loss_conversion_bytes = kLossConversion,
      .issue_floor = kEagerIssue,
      .overlap = {.data_parallel = true},
      .memory = {.gradient_bytes = 4, .copies_gradients = true, .reserved_over_used = kReservedOverUsed},
      .choices = data_parallel_only({Sharding::None})};
}

Stack pytorch_compiled() {
  Stack stack = torchtitan_2024();
  stack.eager = {};
  stack.memory = kFsdp2Memory;
  return plain_pytorch(stack, "pytorch-compiled", "plain PyTorch with compiled layers, flash attention 2",
                       AttentionKernel::Flash2);
}

Stack pytorch_eager() {
  return plain_pytorch(fsdp_eager(), "pytorch-eager", "plain PyTorch, eager, flash attention 2",
                       AttentionKernel::Flash2);
}

Stack pytorch_unfused() {
  return plain_pytorch(fsdp_eager(), "pytorch-unfused",
                       "plain PyTorch, eager, attention as it is written in formulas",
                       AttentionKernel::Unfused);
}

}  // namespace

Stack with_compiled_loss(Stack stack) {
  stack.loss_bytes_per_logit = kCompiledLoss;
  stack.loss_conversion_bytes = 0;
  stack.memory.loss_bytes = 4;
  return stack;
}

std::span<const Stack> all_stacks() {
  static const std::vector<Stack> stacks = {
      deepspeed_megatron(), fsdp_eager(),           megatron_2021(),           megatron_2022(),
      megatron_bridge(),    megatron_bridge_2606(), megatron_bridge_overlap(), megatron_core(),
      nemo_automodel(),     pytorch_compiled(),     pytorch_eager(),           pytorch_unfused(),
      torchtitan(),         torchtitan_2024(),      torchtitan_eager(),        torchtitan_rowwise(),
      transformers_eager()};
  return stacks;
}

Result<void> check_stack(const Stack& stack, const ParallelPlan& plan) {
  if (stack.attention != AttentionKernel::Unfused || plan.context == 1) return {};
  return fail(
      {.field = "context",
       .message = expected_found(
           fmt::format(
               "1: stack {} computes attention unfused, on whole sequences; megatron-core splits them",
               stack.name),
           std::to_string(plan.context))});
}

bool has_fused_attention(const GpuProfile& profile) {
  return std::ranges::any_of(profile.attention,
                             [](const AttentionRates& rates) { return rates.log_rate != nullptr; });
}

bool has_kernels_of(const GpuProfile& profile, const Stack& stack) {
  return stack.attention == AttentionKernel::Unfused || has_fused_attention(profile);
}

const Stack& default_stack(const GpuProfile& profile) {
  static const Stack old_gpus = megatron_2021();
  static const Stack new_gpus = megatron_core();
  return has_kernels_of(profile, new_gpus) ? new_gpus : old_gpus;
}

Result<Stack> find_stack(std::string_view name) {
  const std::span<const Stack> stacks = all_stacks();
  const auto found =
      std::find_if(stacks.begin(), stacks.end(), [name](const Stack& s) { return s.name == name; });
  if (found != stacks.end()) return *found;
  std::vector<std::string_view> names;
  for (const Stack& stack : stacks)
    names.push_back(stack.name);
  return fail({.kind = ErrorKind::NotFound,
               .field = "stack",
               .message = fmt::format("unknown stack '{}'; {}", name, suggest_name(name, names))});
}

}  // namespace vtrain
