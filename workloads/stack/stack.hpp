/// Named descriptions of software stacks: the decisions of a training framework. The GPU profile gives the
/// speed of a kernel. The stack says which kernels run, what they overlap with and what is recomputed.
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

/// Memory-bound kernels of a layer.
enum class ElementwiseKernels : std::uint8_t {
  /// Megatron-LM in 2021: bias + GELU and bias + dropout + residual are one kernel each. Gradients of biases
  /// and of the norms' weights are separate passes.
  Megatron2021,
  /// Transformer Engine and compiled code: norms, activations and rotary positions are one kernel each.
  Fused,
  /// Every operator of the formulas is a separate kernel, as in PyTorch without compilation. Scores are
  /// scaled, masked, normalised and dropped one after the other; a GELU by tanh takes eight kernels.
  Eager,
};

/// Pieces of a reduction that kernels pipeline with a product (num_splits of Transformer Engine's user
/// buffers).
inline constexpr std::int64_t kReductionPieces = 4;

/// Communication that runs in parallel with computation.
struct OverlapRule {
  bool data_parallel = false;  ///< gradients are reduced during the last micro-batch's backward pass
  bool tensor = false;  ///< tensor-parallel collectives are pipelined with the adjacent matrix products
  /// Gradients of inputs of layers that are split by columns are reduced during the product for the weight's
  /// gradient. With sequence parallelism the input is gathered again during the product for its own gradient.
  bool input_gradients = false;
  /// Each GPU sums up the arriving pieces of a pipelined reduction with a separate kernel.
  bool sums_pieces = false;
  /// Multiprocessors that such a reduction takes from the product before it, in the forward pass in 16 bits.
  /// It runs a kernel for each of `kReductionPieces` pieces. 0: copy engines move the pieces around a ring of
  /// the group's members.
  std::int64_t reduction_multiprocessors = 0;
  bool experts = false;  ///< dispatch and combine of experts run during another micro-batch's layers
  /// Slowdown of the computation that an overlapped collective of tensor or expert parallelism hides behind,
  /// as a share of the collective's time.
  double contention = 0.15;
};

/// Slowdown of the computation during reductions of gradients and gathers of weights.
struct DataParallelCost {
  /// Share of the collectives' time, for the multiprocessors that they occupy.
  double contention = 0.15;
  /// Memory traffic for each byte that arrives; the computation loses this share of the bandwidth. NCCL
  /// writes the byte into a buffer and reads it. A gathered byte then goes to its place; a reduced byte is
  /// added to another one.
  double memory_traffic = 3;
  /// With fully sharded weights, kernels copy weights out of the gathered buffer and gradients into the
  /// reduced one. Gradients have the type that is reduced, and add up over micro-batches in it.
  bool copies = false;

  /// Both costs as a share of `time` (> 0), at most 1. `time` is that of collectives by which `arriving`
  /// bytes arrive.
  double share(Nanoseconds time, Bytes arriving, BytesPerSecond memory_bandwidth) const {
    return std::min(1.0, contention + memory_traffic * (arriving / memory_bandwidth) / time);
  }
};

/// Factors on the times that the profile gives, for one stack on one GPU; 1 without calibration.
struct KernelFactors {
  double product = 1;        ///< matrix products and attention
  double memory = 1;         ///< memory-bound kernels of layers, embedding and loss
  double communication = 1;  ///< communication inside layers
  friend bool operator==(const KernelFactors&, const KernelFactors&) = default;
};

/// Dispatch of tokens to their experts.
enum class TokenDispatch : std::uint8_t {
  AllToAll,   ///< one copy of a token for each of its experts
  OnePerGpu,  ///< one copy for each GPU that holds any of its experts (DeepEP)
  HybridEp,   ///< one copy for each GPU; by HybridEP where an NVLink domain is larger than a node
};

/// Products that a stack computes in a wider format although the plan's has 8 or 4 bits. A plan of 16 bits
/// ignores it: no product is made narrower.
struct WiderProducts {
  /// Layers at the end of the model that run in bf16. Layers of a kind are taken to be equal: each costs the
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
  Nanoseconds forward{0};   ///< floor of the forward pass
  Nanoseconds backward{0};  ///< floor of the backward pass
};

/// Exchange of keys and values between the parts of a sequence that context parallelism spreads over GPUs.
enum class ContextExchange : std::uint8_t {
  /// Keys and values pass from GPU to GPU while attention works on those that have arrived (Transformer
  /// Engine).
  Ring,
  /// Keys and values are gathered before attention begins, and the partial outputs of each part are merged.
  /// Their gradients travel from GPU to GPU in single precision, after each part's (PyTorch's
  /// `context_parallel`).
  Gather,
};

/// Model features that a framework leaves to PyTorch's own kernels.
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

/// Part of a layer that the GPU runs as CUDA graphs, which take the CPU no time.
enum class CudaGraphs : std::uint8_t {
  None,       ///< no part
  Router,     ///< the half with experts, up to the router and the preparation of the dispatch
  Layer,      ///< `Router` and attention: all but the experts
  Iteration,  ///< the whole iteration
};

/// Choices of the plans of a search, in addition to degrees of parallelism. The defaults are those of
/// Megatron-Core.
struct PlanChoices {
  bool tensor = true;                ///< the framework has tensor parallelism
  bool context = true;               ///< the framework has context parallelism
  bool pipeline = true;              ///< the framework has pipeline parallelism
  bool virtual_stages = true;        ///< the framework has virtual stages
  bool expert = true;                ///< the framework has expert parallelism
  bool sequence_parallel = true;     ///< always with tensor parallelism
  bool ends_count_as_layers = true;  ///< fewer layers on the stages with the embedding and the output layer
  /// Activations may wait in the memory of the CPU, with one stage and without recomputation (Megatron-Core:
  /// transformer_config.py, cpu_offloading).
  bool offload = false;
  /// With full recomputation some layers of each stage may keep their activations (Megatron-Core:
  /// recompute_method block).
  bool partial_recompute = false;
  /// Selective recomputation is for latent attention alone (`SelectiveRecompute::AttentionScores`, scores not
  /// kept). In other models it would save nothing.
  bool latent_recompute = false;
  std::vector<Recompute> recompute = {Recompute::Full, Recompute::None};   ///< recomputation to try
  std::vector<Sharding> sharding = {Sharding::None, Sharding::Optimizer};  ///< sharding to try
  std::vector<Schedule> schedules = {Schedule::OneForwardOneBackward};     ///< pipeline schedules to try
  /// A fork of the framework has ZB-H1 (sail-sg/zero-bubble, of Megatron-Core).
  bool zero_bubble = false;
  Precision precision = Precision::Bf16;  ///< precision of plans without one
};

/// A software stack. Each definition names the sources of its numbers.
struct Stack {
  std::string name{};                                          ///< name on the command line
  std::string summary{};                                       ///< a sentence for people
  AttentionKernel attention = AttentionKernel::Flash3;         ///< kernel of attention in 16 bits
  Libraries libraries = Libraries::Current;                    ///< generation of cuBLAS and NCCL
  ElementwiseKernels elementwise = ElementwiseKernels::Fused;  ///< memory-bound kernels of layers
  /// Ratio of the memory traffic of a layer's memory-bound kernels to that of fused ones: at least 1. Eager
  /// execution writes every intermediate and has more.
  double traffic_factor = 1;
  double loss_bytes_per_logit = 10;  ///< memory traffic of the loss, both passes
  /// Part of `loss_bytes_per_logit` that converts logits from half to single precision and their gradients
  /// back.
  double loss_conversion_bytes = 0;
  IssueFloor issue_floor{};  ///< floor of a layer without its experts
  /// Additional time for the experts of a layer.
  IssueFloor experts_issue{};
  IssueFloor expert_issue{};             ///< additional time for each expert that a GPU holds
  CudaGraphs graphs = CudaGraphs::None;  ///< part of a layer that is a CUDA graph
  /// The products of experts quantise their inputs and apply the activation themselves.
  bool fuses_experts = false;
  EagerParts eager{};  ///< features left to PyTorch's own kernels
  /// Scores, top-k and the balancing loss of a router are one kernel each, instead of many kernels of
  /// PyTorch.
  bool fuses_router = true;
  WiderProducts wider{};  ///< products in a wider format than the plan's
  /// Products in 8 bits have a scaling factor for each row of an operand, not one for each operand (torchao's
  /// recipe `rowwise`). Operands are converted for each product, along its inner dimension.
  bool scales_rows = false;
  /// Inputs of tensor-parallel products in 8 or 4 bits are converted before they are gathered. Embedding and
  /// output layer are not converted. sharded weights of layers. Embedding and output layer are not converted.
  bool gathers_converted_inputs = false;
  /// Sharded weights in 8 or 4 bits are converted before they are gathered.
  bool gathers_converted_weights = false;
  /// Each GPU of a tensor-parallel group compresses its own part of the sequence for latent attention. The
  /// compressed form is gathered and reduced (Megatron-Core, multi_latent_attention.py). If false, the
  /// layer's inputs are gathered, as for other attention, and each GPU compresses them all (torchtitan).
  bool exchanges_compressed = true;
  /// Exchange of keys and values under context parallelism.
  ContextExchange context = ContextExchange::Ring;
  double gradient_bytes = 4;  ///< bytes of a gradient when it is reduced; 4 in single precision
  /// Memory traffic per weight and micro-batch for adding its gradient to those of earlier micro-batches, on
  /// top of the matrix product's.
  double accumulation_bytes = 6;
  OverlapRule overlap{};                             ///< communication that runs in parallel with computation
  DataParallelCost data_parallel{};                  ///< slowdown of computation by reductions and gathers
  MemoryRules memory{};                              ///< rules for the memory of a GPU
  TokenDispatch dispatch = TokenDispatch::AllToAll;  ///< dispatch of tokens to experts
  KernelFactors factors{};                           ///< factors of the calibration
  bool sends_hold_stage = false;  ///< sends between stages are synchronous, instead of pure latency
  /// Without sequence parallelism each GPU of a tensor-parallel group sends its part of the common result to
  /// the next stage, which gathers it. Sources: scatter_gather_tensors_in_pipeline of Megatron-LM;
  /// PartitionedTensor of DeepSpeed's pipeline engine. If false, each GPU sends the whole (Megatron-Core,
  /// p2p_communication.py).
  bool splits_messages = false;
  bool updates_weights = true;  ///< an iteration ends with the optimizer's step
  PlanChoices choices{};        ///< choices of a search for plans

  /// Memory traffic of the loss for each logit, both passes.
  double loss_bytes(Precision precision) const {
    return loss_bytes_per_logit - (precision == Precision::Fp32 ? loss_conversion_bytes : 0);
  }
  /// Bytes of an element of a product's input while it is gathered.
  double gathered_input_bytes(Precision precision) const {
    return gathers_converted_inputs ? product_input_bytes(precision) : element_bytes(precision);
  }
  /// Bytes of a sharded weight while it is gathered.
  double gathered_weight_bytes(Precision precision) const {
    return gathers_converted_weights ? product_input_bytes(precision) : element_bytes(precision);
  }
  /// Size of the gradients of `weights` weights when they are reduced.
  Bytes gradients(Precision precision, double weights) const {
    return Bytes((precision == Precision::Fp32 ? 4 : gradient_bytes) * weights);
  }
};

/// A stack whose loss is compiled: it keeps only the logits and their gradient in half precision (torchtitan,
/// `compile.components`).
Stack with_compiled_loss(Stack stack);

/// All stacks, in the order of their names.
std::span<const Stack> all_stacks();

/// Checks that the stack can run the plan; the error names a field of the plan. Unfused attention needs the
/// whole sequence on one GPU.
Result<void> check_stack(const Stack& stack, const ParallelPlan& plan);

/// True if the profile has rates of any fused attention.
bool has_fused_attention(const GpuProfile& profile);

/// True if the GPU runs the stack's attention: unfused attention runs on all, and fused attention on GPUs
/// with rates of it (not on V100).
bool has_kernels_of(const GpuProfile& profile, const Stack& stack);

/// Default stack of a GPU: `megatron-core` if it runs its kernels, else `megatron-2021`.
const Stack& default_stack(const GpuProfile& profile);

/// Looks up a stack by name; the error names the nearest known one.
Result<Stack> find_stack(std::string_view name);

}  // namespace vtrain
