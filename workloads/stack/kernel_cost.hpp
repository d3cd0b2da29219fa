/// Times of single kernels and messages on a profiled GPU, which the physical predictor adds up. All
/// functions are pure; shapes, sizes and counts are at least 1.
#pragma once

#include <cstdint>

#include "core/base/units.hpp"
#include "core/kernels/collective_table.hpp"
#include "core/kernels/evidence.hpp"
#include "core/kernels/precision.hpp"
#include "core/profile/gpu_profile.hpp"
#include "workloads/model/model.hpp"

namespace vtrain {

/// `batch` independent products of an m x k and a k x n matrix. For a linear layer's forward pass m counts
/// tokens, n outputs and k inputs; the gradient of its input is the product {m, k, n}.
struct GemmShape {
  std::int64_t m = 1;      ///< rows of the result
  std::int64_t n = 1;      ///< columns of the result
  std::int64_t k = 1;      ///< inner dimension
  std::int64_t batch = 1;  ///< number of products
};

/// Time of one GEMM kernel: the roofline of its arithmetic and traffic, times the ratio of kernels to
/// roofline in the profile's table at this shape. It is no less than at the rate that the GPU sustains under
/// its power limit (`sustained_rate_of`), because the table's kernels are timed in bursts. A measured shape
/// takes its measured time. Several products at once, and a precision without a table, take
/// `modelled_gemm_time`. A precision that the GPU has no tensor cores for runs as bf16. A kernel may have
/// only a `share` of the multiprocessors (above 0, at most 1). The table's time is then longer in proportion;
/// fewer multiprocessors reach the power limit later.
KernelTime gemm_time(const GpuProfile& profile, Precision precision, const GemmShape& shape,
                     double share = 1);

/// Time of a GEMM without the table, which was measured with recent libraries: for older software.
///
/// The tile model applies in half and single precision if the profile has one. The output is cut into tiles,
/// and each multiprocessor computes one at a time. The number of waves is rounded up, and every tile pays
/// `TileModel::depth_overhead` on top of k. The best of eight tile shapes counts, but no less than the time
/// to read the operands and write the result. Otherwise the rate is a fixed part of the roofline
/// (`gemm_efficiency`, `batched_gemm_efficiency`), limited by the power limit. `kernel_overhead` is added to
/// both.
KernelTime modelled_gemm_time(const GpuProfile& profile, Precision precision, const GemmShape& shape);

/// Time of the input's gradient of a linear layer whose forward pass is `forward`: the product {m, k, n}. In
/// 8 bits it takes `split_accumulation_factor` times as long as one of the forward pass.
KernelTime input_gradient_time(const GpuProfile& profile, Precision precision, const GemmShape& forward);

/// Time of the weight gradient: the product {n, k, m}, added to gradients in memory. It takes 1.07 times a
/// plain product (SimuMax's layouts NT with accumulation over TN: 1.05 on A100, 1.08 on B200); in single
/// precision as long as one. In 8 bits `split_accumulation_factor` multiplies it.
KernelTime weight_gradient_time(const GpuProfile& profile, Precision precision, const GemmShape& forward);

/// Linear layers of the experts of one GPU as one kernel: `rows` rows in all, spread evenly over
/// `num_experts` weights of n outputs and k inputs.
struct GroupedGemmShape {
  std::int64_t rows = 1;         ///< rows of all experts together
  std::int64_t n = 1;            ///< outputs of each weight
  std::int64_t k = 1;            ///< inputs of each weight
  std::int64_t num_experts = 1;  ///< weights, one for each expert
};

/// Time of a grouped GEMM in forward layout: one GEMM of all rows and 160 more for each expert. The 160 is
/// fitted to SimuMax's B200 kernels.
KernelTime grouped_gemm_time(const GpuProfile& profile, Precision precision, const GroupedGemmShape& shape);

/// Time of the gradients of a grouped layer's inputs.
KernelTime grouped_input_gradient_time(const GpuProfile& profile, Precision precision,
                                       const GroupedGemmShape& forward);

/// Time of a grouped layer's weight gradients, added to fp32 gradients in memory (8 bytes per weight).
KernelTime grouped_weight_gradient_time(const GpuProfile& profile, Precision precision,
                                        const GroupedGemmShape& forward);

/// Attention on one GPU, causal unless `is_bidirectional`.
struct AttentionShape {
  std::int64_t sequence = 1;           ///< tokens that are attended to
  std::int64_t queries = 1;            ///< tokens that attend: `sequence` / context-parallel degree
  std::int64_t heads = 1;              ///< micro-batch x attention heads on this GPU
  std::int64_t head_size = 128;        ///< columns of a query or key head
  std::int64_t value_head_size = 128;  ///< columns of a value head
  std::int64_t window = 0;             ///< tokens that a token attends to; 0: all before it
  bool is_bidirectional = false;       ///< a token attends to those after it as well
};

/// Time of a flash-attention kernel. Forward it takes heads x sequence x queries x (head size + value head
/// size) FLOPs, the lower half of the scores (twice as many if bidirectional); backward 2.5 times as many. A
/// window multiplies the time over the whole sequence by the share of the scores that a kernel with a window
/// computes. These are the scores in the window and 512 more for each token. The 512 comes from public tables
/// of attention kernels: H100 to GB300, windows of 128 tokens, sequences of 2,048 to 16,384 (medians of a GPU
/// 450 to 700). The rate is that of the profile's table for this generation of kernels at `queries` tokens. A
/// generation that the profile lacks runs like the nearest older one, or else the nearest newer one. `kernel`
/// must not be `Unfused` (`std::logic_error`).
KernelTime attention_forward_time(const GpuProfile& profile, AttentionKernel kernel,
                                  const AttentionShape& shape);
/// Time of the backward pass of a flash-attention kernel.
KernelTime attention_backward_time(const GpuProfile& profile, AttentionKernel kernel,
                                   const AttentionShape& shape);

/// Kinds of kernels that memory bandwidth bounds; each reaches its own fraction of it.
enum class MemoryKernel : std::uint8_t {
  Elementwise,  ///< element-by-element operations
  Gelu,         ///< GELU and other non-linearities
  LayerNorm,    ///< norms
  Softmax,      ///< softmax of unfused attention
  Dropout,      ///< dropout
  Optimizer     ///< optimizer's update
};

/// Time of `num_kernels` kernels that move `traffic` together.
Nanoseconds memory_kernel_time(const GpuProfile& profile, MemoryKernel kind, Bytes traffic, int num_kernels);

/// Work of PyTorch's own, unfused kernels on each element of a tensor.
struct EagerWork {
  double strided_passes = 0;   ///< passes of kernels that handle one element at a time
  double strided_traffic = 0;  ///< bytes per element and strided pass
  double traffic = 0;          ///< bytes per element, all other kernels together
  int num_kernels = 0;         ///< kernels that are launched
};

/// Time of such work on `elements`. PyTorch does not use vector loads and stores if an operand is broadcast
/// or a view with gaps, or if the operands' types differ (aten/src/ATen/native/cuda/CUDALoops.cuh). The
/// arithmetic of addresses and conversions then bounds the elements that a multiprocessor handles.
Nanoseconds eager_kernel_time(const GpuProfile& profile, double elements, const EagerWork& work);

/// Time of `num_kernels` kernels of a state space's scan (Triton's, a chunk of a head at a time) that move
/// `traffic` together. The multiprocessors limit them more than memory does.
Nanoseconds scan_kernel_time(const GpuProfile& profile, Bytes traffic, int num_kernels);

/// Members of a communicator, placed as Megatron places them. `per_node` of them share an NVLink domain: a
/// node, or a rack with NVLink throughout. The group lies within one domain if `size` <= `per_node`.
struct GpuGroup {
  std::int64_t size = 1;      ///< members of the group
  std::int64_t per_node = 1;  ///< members in one NVLink domain
};

/// Generation of the libraries (cuBLAS, NCCL) that run the kernels.
enum class Libraries : std::uint8_t {
  Current,  ///< the libraries that the profile's tables were measured with
  Old,  ///< libraries of 2021: products by the tile model, collectives within a node by separate tables if
        ///< any, rings between nodes by their path to the adapters
};

/// Time of a collective on `total` bytes, the size of the whole tensor; 0 for a group of one. Each GPU holds
/// all of the tensor (all-reduce), or 1 / size of it before or after (the others). Within a node the measured
/// tables count; old libraries use their own tables first, for the sizes in them. Across nodes, or without a
/// table, the collective is a ring. It moves `collective_volume` of the bytes at the members' share of the
/// node's network (less for old libraries if members are apart). It is no faster than NVLink, nor than a
/// group of the size of the part within a domain. Each of `collective_steps` adds a latency. An all-reduce
/// between exactly two nodes crosses the network once each way (trees).
KernelTime collective_time(const GpuProfile& profile, Collective collective, GpuGroup group, Bytes total,
                           Libraries libraries);

/// Time of a message from one GPU to another, within a node or over the GPU's share of the node's network.
KernelTime send_time(const GpuProfile& profile, bool within_node, Bytes size);

}  // namespace vtrain
