/// Rules by which the software stacks keep activations, gradients and buffers in the memory of a GPU.
#pragma once

#include <cstdint>

#include "workloads/model/model.hpp"

namespace vtrain {

/// Activations that `Recompute::Selective` drops.
enum class SelectiveRecompute : std::uint8_t {
  /// Activations of unfused attention (Korthikanti et al., 2022, section 5). Fused attention has none to
  /// drop, but runs again as well (core_attn of Megatron-Core's recompute_modules, its default). Latent
  /// attention drops queries, keys and values and recomputes them from their compressed form (mla_up_proj).
  AttentionScores,
  /// All but the layer's input and the outputs of every second matrix product, of attention, of
  /// reduce-scatters and, with `scores_rows_in_single`, of the exchange of tokens between experts
  /// (`_op_sac_save_list` of torchtitan's activation checkpointing by operator). Gathers are dropped.
  EverySecondProduct,
  /// The outputs of norms and of the non-linearity of experts (layernorm and moe_act of Megatron-Core's
  /// recompute_modules).
  NormsAndActivations,
  /// Activations of experts, their router and their norm (moe and layernorm of recompute_modules).
  Experts,
  /// The output of the non-linearity of experts (moe_act of recompute_modules).
  Activations,
};

/// Decisions of a software stack about memory. The defaults are those of Megatron-LM as of 2021.
struct MemoryRules {
  /// Bytes of a parameter's gradient between micro-batches: 2, or 4 if accumulated in single precision.
  double gradient_bytes = 2;
  /// Attention is not fused: the softmax of the scores is kept, and with dropout its mask and its result.
  bool keeps_scores = true;
  /// Dropout of models that specify none. A mask of 1 byte an element is kept.
  Dropout dropout{.attention = true, .hidden = true};
  /// With sequence parallelism, the gathered inputs of matrix products are kept instead of gathered again.
  bool keeps_gathered_inputs = false;
  /// Activations that selective recomputation drops.
  SelectiveRecompute selective = SelectiveRecompute::AttentionScores;
  /// Bytes at the loss for each logit on a GPU: the logits and the values computed from them.
  double loss_bytes = 8;
  /// Tokens whose logits and loss are computed at a time, and again in the backward pass; 0: all tokens of a
  /// micro-batch. The output layer's weights and their gradient are in single precision meanwhile
  /// (`chunked_nll` of TRL, 256 tokens).
  std::int64_t loss_tokens = 0;
  /// Experts of torchtitan: scores multiply rows in single precision, and the converted rows are kept for the
  /// scores' gradients (moe.py). `EverySecondProduct` drops the products of the router and of these experts.
  bool scores_rows_in_single = false;
  /// Gradients inside the current layer, and the tensors that sequence parallelism gathers for it, are
  /// counted.
  bool counts_backward_buffers = false;
  /// The matrix product itself adds weight gradients to the accumulated ones, and autograd gets an
  /// uninitialised buffer of the weight's shape. One buffer for each shape of a layer's weights is kept
  /// permanently; the output layer has one during its pass.
  bool keeps_gradient_placeholders = false;
  /// The inputs of the non-linearity of experts wait for the backward pass in the memory of the CPU
  /// (fine-grained offloading of Megatron-Core). The copies are taken to be hidden.
  bool offloads_expert_inputs = false;
  /// With several sets of replicas that hold all weights (`ParallelPlan::replicate`), the optimizer's state
  /// is sharded over all sets. Gradients are reduced and weights gathered between the sets once an iteration
  /// (Megatron-FSDP). If false, the state is sharded within a set, and gradients are all-reduced between sets
  /// after each layer (PyTorch).
  bool shards_optimizer_over_sets = false;
  /// Keys and values of other parts of the sequence stay until attention ends, and the partial outputs of all
  /// parts until they are merged (AttnFuncWithCPAndKVP2P of Transformer Engine). If false, only the keys and
  /// values stay.
  bool keeps_partial_outputs = false;
  /// Replicas sum their gradients in buckets, copies of all gradients (DistributedDataParallel of PyTorch
  /// with gradient_as_bucket_view off, which is its default).
  bool copies_gradients = false;
  /// Ratio of reserved memory to memory in use, by fragmentation of the allocator.
  double reserved_over_used = 1;
};

/// Ratio of memory that PyTorch's allocator reserves to memory in use: the mean of 43 runs of Megatron-Core
/// (at most 1.093).
inline constexpr double kReservedOverUsed = 1.048;

/// Megatron-Core with Transformer Engine: fused attention without dropout, gradients in single precision. The
/// loss holds the softmax in single precision (4) and the logits, later their gradient, in half precision
/// (2): it works in place (tensor_parallel/cross_entropy.py). Placeholders: get_dummy_wgrad of Transformer
/// Engine keeps one of 2 bytes an element for every shape; tensor_parallel/layers.py of Megatron-Core makes
/// one for the output layer.
inline constexpr MemoryRules kMegatronCoreMemory{.gradient_bytes = 4,
                                                 .keeps_scores = false,
                                                 .dropout = {},
                                                 .loss_bytes = 6,
                                                 .counts_backward_buffers = true,
                                                 .keeps_gradient_placeholders = true,
                                                 .shards_optimizer_over_sets = true,
                                                 .keeps_partial_outputs = true,
                                                 .reserved_over_used = kReservedOverUsed};

/// PyTorch's FSDP2: fused attention, gradients reduced in single precision. PyTorch's cross entropy holds the
/// logits in half (2) and single precision (4), their logarithmic softmax (4) and its gradient (4).
inline constexpr MemoryRules kFsdp2Memory{.gradient_bytes = 4,
                                          .keeps_scores = false,
                                          .dropout = {},
                                          .keeps_gathered_inputs = true,
                                          .selective = SelectiveRecompute::EverySecondProduct,
                                          .loss_bytes = 14,
                                          .counts_backward_buffers = true,
                                          .reserved_over_used = kReservedOverUsed};

/// torchtitan: FSDP2 with its own experts.
inline constexpr MemoryRules kTorchTitanMemory = [] {
  MemoryRules rules = kFsdp2Memory;
  rules.scores_rows_in_single = true;
  return rules;
}();

/// PyTorch FSDP with the cross entropy of flash-attention, which turns the logits into their gradient in
/// place (2 + 2), as in MosaicML's LLM Foundry.
inline constexpr MemoryRules kFsdpEagerMemory{.gradient_bytes = 4,
                                              .keeps_scores = false,
                                              .dropout = {},
                                              .loss_bytes = 4,
                                              .counts_backward_buffers = true,
                                              .reserved_over_used = kReservedOverUsed};

}  // namespace vtrain
