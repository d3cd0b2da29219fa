/// What a training framework decides: named descriptions of software stacks. The GPU profile says how fast a
/// kernel is; the stack says which kernels run, what they overlap with and what runs again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "core/kernels/precision.hpp"
#include "workloads/model/parallel_plan.hpp"
#include "workloads/stack/kernel_cost.hpp"
#include "workloads/stack/memory_rules.hpp"

namespace vtrain {

/// Which memory-bound kernels a layer is made of.
enum class ElementwiseKernels : std::uint8_t {
  /// Megatron-LM in 2021: bias + GELU and bias + dropout + residual are one kernel each; gradients of biases
  /// and of the norms' weights are passes of their own.
  Megatron2021,
  /// Transformer Engine and compiled code: norms, activations and rotary positions are one kernel each.
  Fused,
  /// Every operator of the formulas is a kernel of its own, as in PyTorch without compilation: scores are
  /// scaled, masked, normalised and dropped one after the other, a GELU by tanh takes eight kernels.
  Eager,
};

/// Pieces of a reduction that is pipelined with a product by kernels (num_splits of Transformer Engine's
/// user buffers).
inline constexpr std::int64_t kReductionPieces = 4;

/// What of the communication runs beside computation.
struct OverlapRule {
  bool data_parallel = false;  ///< gradients are reduced during the last micro-batch's backward pass
  bool tensor = false;  ///< tensor-parallel collectives are pipelined with the matrix products beside them
  /// The gradient of the input of a layer that is split by columns is reduced beside the product for the
  /// weight's gradient, and with sequence parallelism the input is gathered once more beside its own.
  bool input_gradients = false;
  /// Of a reduction that is pipelined so, each GPU sums up the pieces that arrive with a kernel of its own.
  bool sums_pieces = false;
  /// Multiprocessors that such a reduction of the forward pass keeps in 16 bits from the product before it,
  /// in kernels for each of `kReductionPieces` pieces; 0 where it goes around a ring of the group's members,
  /// which copy engines serve.
  std::int64_t reduction_multiprocessors = 0;
  bool experts = false;  ///< dispatch and combine of experts run under another micro-batch's layers
  /// What an overlapped collective of tensor or expert parallelism costs the computation under it, as a share
  /// of its own time.
  double contention = 0.15;
};

/// What reductions of gradients and gathers of weights cost the computation beside them.
struct DataParallelCost {
  /// As a share of their own time: the multiprocessors that they keep.
  double contention = 0.15;
  /// Bytes of the GPU's memory that move for each byte that arrives, whose share of the bandwidth is lost,
  /// too: NCCL writes it into a buffer and reads it; what is gathered goes to its place, to what is reduced
  /// another byte is added.
  double memory_traffic = 3;
  /// Where weights are fully sharded, kernels copy them out of what was gathered and gradients, in the type
  /// that is reduced, into what is reduced; gradients that add up over micro-batches do so in that type.
  bool copies = false;

  /// Both costs, as a share of the `time` (> 0) that collectives take by which so many bytes arrive; at most
  /// 1.
  double share(Nanoseconds time, Bytes arriving, BytesPerSecond memory_bandwidth) const {
    return std::min(1.0, contention + memory_traffic * (arriving / memory_bandwidth) / time);
  }
};

/// What a stack on a GPU takes over what the profile says: factors on times, 1 without calibration.
struct KernelFactors {
  double product = 1;        ///< matrix products and attention
  double memory = 1;         ///< memory-bound kernels of layers, embedding and loss
  double communication = 1;  ///< communication inside layers
  friend bool operator==(const KernelFactors&, const KernelFactors&) = default;
};

/// How tokens travel to their experts.
enum class TokenDispatch : std::uint8_t {
  AllToAll,   ///< one copy of a token for each of its experts
  OnePerGpu,  ///< one copy for each GPU that holds any of its experts (DeepEP)
  HybridEp,   ///< the same, by HybridEP where an NVLink domain is larger than a node
};

/// Products that a stack computes in a wider format although the plan's has 8 or 4 bits. Nothing is made
/// narrower: in a plan of 16 bits none of it counts.
struct WiderProducts {
  /// So many layers at the end of the model, in bf16. Layers of a kind are taken for equal: each costs the
  /// mean over all of them, which is right in sum on one stage.
  std::int64_t last_layers = 0;
  bool attention = false;       ///< projections into and out of attention, in bf16
  bool latent_experts = false;  ///< projections into the latent space of experts and back, in bf16
  bool prediction = false;      ///< multi-token prediction, in bf16
  bool space_output = false;    ///< the projection after a state space, in 8 bits where the others have 4
  friend bool operator==(const WiderProducts&, const WiderProducts&) = default;
};

/// Least time in which the CPU of an x86 host issues the kernels of a layer's passes; on others it is
/// `GpuProfile::host_issue_factor` times as long.
struct IssueFloor {
  Nanoseconds forward{0};
  Nanoseconds backward{0};
};

/// How the parts of a sequence that context parallelism spreads over GPUs see each other's keys and values.
enum class ContextExchange : std::uint8_t {
  /// They pass from GPU to GPU while attention works on those that are there (Transformer Engine).
  Ring,
  /// They are gathered before attention begins, the partial outputs of each part are merged, and their
  /// gradients travel from GPU to GPU in single precision, after each part's (PyTorch's `context_parallel`).
  Gather,
};

/// What a framework leaves to PyTorch's own kernels where a model asks for it.
struct EagerParts {
  bool scaled_rotation = false;    ///< rotary positions whose sines and cosines are multiplied by a factor
  bool activation = false;         ///< the non-linearity of MLPs, operator by operator
  bool activation_clamp = false;   ///< clamping the inputs of the experts' non-linearity
  bool expert_bias = false;        ///< the output's biases of experts, scaled by the router's scores
  bool expert_input_bias = false;  ///< the biases of experts before the non-linearity
  bool output_bias = false;        ///< the bias after attention, in models with experts
  bool complex_rotation = false;   ///< rotary positions as products of complex numbers in single precision
  bool repeated_heads = false;     ///< keys and values of grouped queries, written once for each query's head
};

/// What of a layer the GPU runs as CUDA graphs, which take the CPU no time.
enum class CudaGraphs : std::uint8_t {
  None,
  Router,     ///< the half with experts as far as their router and what prepares the dispatch
  Layer,      ///< that and attention: all but the experts
  Iteration,  ///< everything
};

/// What the plans of a search may choose, beside their degrees of parallelism. The defaults are those of
/// Megatron-Core.
struct PlanChoices {
  bool tensor = true;  ///< the framework has tensor parallelism
  bool context = true;
  bool pipeline = true;
  bool virtual_stages = true;
  bool expert = true;
  bool sequence_parallel = true;     ///< with tensor parallelism, always
  bool ends_count_as_layers = true;  ///< fewer layers on the stages with the embedding and the output layer
  /// Activations may wait in the memory of the CPU: as Megatron-Core has it (transformer_config.py,
  /// cpu_offloading), with one stage and without recomputation.
  bool offload = false;
  /// With full recomputation some layers of each stage may keep their activations (Megatron-Core:
  /// recompute_method block).
  bool partial_recompute = false;
  /// Selective recomputation is for latent attention alone (`SelectiveRecompute::AttentionScores` without
  /// scores that are kept); of other models it would save nothing.
  bool latent_recompute = false;
  std::vector<Recompute> recompute = {Recompute::Full, Recompute::None};
  std::vector<Sharding> sharding = {Sharding::None, Sharding::Optimizer};
  std::vector<Schedule> schedules = {Schedule::OneForwardOneBackward};
  /// A fork of the framework has ZB-H1 too (sail-sg/zero-bubble, of Megatron-Core).
  bool zero_bubble = false;
  Precision precision = Precision::Bf16;
};

/// A software stack. Where its numbers come from is said at each definition.
struct Stack {
  std::string name{};
  std::string summary{};
  AttentionKernel attention = AttentionKernel::Flash3;
  Libraries libraries = Libraries::Current;
  ElementwiseKernels elementwise = ElementwiseKernels::Fused;
  /// Memory traffic of the memory-bound kernels of a layer over that of fused ones: 1, or more for eager
  /// execution, which writes every intermediate.
  double traffic_factor = 1;
  double loss_bytes_per_logit = 10;  ///< memory traffic of the loss, both passes
  /// Of that, what turns logits of half into single precision and their gradients back.
  double loss_conversion_bytes = 0;
  IssueFloor issue_floor{};
  /// More of it for the experts of a layer, and for each expert that a GPU holds.
  IssueFloor experts_issue{};
  IssueFloor expert_issue{};
  CudaGraphs graphs = CudaGraphs::None;
  /// The products of experts quantise their inputs and apply the activation themselves.
  bool fuses_experts = false;
  EagerParts eager{};
  /// Scores, top-k, and the balancing loss of a router are one kernel each, instead of many of PyTorch's.
  bool fuses_router = true;
  WiderProducts wider{};
  /// Products in 8 bits have a scaling factor for each row of their operands instead of one for each operand
  /// (torchao's recipe `rowwise`): operands are converted for each product, along its inner dimension.
  bool scales_rows = false;
  /// Inputs of tensor-parallel products in 8 or 4 bits are converted before they are gathered; so are the
  /// sharded weights of layers. Embedding and output layer stay as they are.
  bool gathers_converted_inputs = false;
  bool gathers_converted_weights = false;
  /// Each GPU of a tensor-parallel group compresses its own part of the sequence for latent attention, and
  /// what is gathered and reduced is the compressed form (Megatron-Core, multi_latent_attention.py). Else the
  /// layer's inputs are, as for other attention, and each GPU compresses them all (torchtitan).
  bool exchanges_compressed = true;
  ContextExchange context = ContextExchange::Ring;
  double gradient_bytes = 4;  ///< of a gradient when it is reduced; 4 in single precision
  /// Memory traffic per weight and micro-batch of adding its gradient to those of earlier micro-batches, on
  /// top of the matrix product's.
  double accumulation_bytes = 6;
  OverlapRule overlap{};
  DataParallelCost data_parallel{};
  MemoryRules memory{};
  TokenDispatch dispatch = TokenDispatch::AllToAll;
  KernelFactors factors{};
  bool sends_hold_stage = false;  ///< sends between stages are synchronous, instead of pure latency
  /// Without sequence parallelism each GPU of a tensor-parallel group sends its part of what all of them hold
  /// to the next stage, which gathers it (scatter_gather_tensors_in_pipeline of Megatron-LM;
  /// PartitionedTensor of DeepSpeed's pipeline engine). Else each sends the whole (Megatron-Core,
  /// p2p_communication.py).
  bool splits_messages = false;
  bool updates_weights = true;  ///< an iteration ends with the optimizer's step
  PlanChoices choices{};        ///< what a search for plans may propose

  /// Memory traffic of the loss for each logit, both passes.
  double loss_bytes(Precision precision) const {
    return loss_bytes_per_logit - (precision == Precision::Fp32 ? loss_conversion_bytes : 0);
  }
  /// Of an element of a product's input while it is gathered.
  double gathered_input_bytes(Precision precision) const {
    return gathers_converted_inputs ? product_input_bytes(precision) : element_bytes(precision);
  }
  /// The same of a sharded weight.
  double gathered_weight_bytes(Precision precision) const {
    return gathers_converted_weights ? product_input_bytes(precision) : element_bytes(precision);
  }
  /// Of the gradients of so many weights when they are reduced.
  Bytes gradients(Precision precision, double weights) const {
    return Bytes((precision == Precision::Fp32 ? 4 : gradient_bytes) * weights);
  }
};

/// All stacks, in the order of their names.
std::span<const Stack> all_stacks();

/// An error that names a field of the plan if the stack cannot run it: unfused attention needs the whole
/// sequence on one GPU.
Result<void> check_stack(const Stack& stack, const ParallelPlan& plan);

/// What models are trained with on a GPU unless said otherwise: `megatron-core` where there are tensor cores
/// for fp8, and `megatron-2021` on older GPUs.
const Stack& default_stack(const GpuProfile& profile);

/// The stack of a name; the error names the nearest known one.
Result<Stack> find_stack(std::string_view name);

}  // namespace vtrain
