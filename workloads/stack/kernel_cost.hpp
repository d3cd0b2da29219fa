/// What single GPU kernels and messages cost on a profiled GPU: the terms of which the physical predictor is
/// made. All functions are pure; shapes, sizes and counts are at least 1.
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
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  std::int64_t batch = 1;
};

/// Time of one GEMM kernel: the roofline of its arithmetic and traffic, times what the profile's table says
/// the kernels of a GPU need over it at this shape, but no less than at the rate that the GPU sustains under
/// its power limit (`sustained_rate_of`): the table's kernels are timed in bursts. A shape that was itself
/// measured takes what it took. Several products at once, and those of a precision without a table, take
/// `modelled_gemm_time`. A precision that the GPU has no tensor cores for runs as bf16. Of a kernel that has
/// only a `share` of the multiprocessors (above 0, at most 1) the table's time is that much longer; fewer of
/// them reach the power limit later.
KernelTime gemm_time(const GpuProfile& profile, Precision precision, const GemmShape& shape,
                     double share = 1);

/// The same without the table, which was measured with recent libraries: for software that is older.
///
/// In half and single precision the tile model counts if the profile has one: the output is cut into tiles,
/// of which each multiprocessor computes one at a time: the number of waves is rounded up, and every tile
/// pays `TileModel::depth_overhead` on top of k. The best of eight tile shapes counts, but no less than
/// reading the operands and writing the result. Otherwise it is a fixed part of the roofline
/// (`gemm_efficiency`, `batched_gemm_efficiency`), or what the power limit leaves. `kernel_overhead` comes on
/// top of both.
KernelTime modelled_gemm_time(const GpuProfile& profile, Precision precision, const GemmShape& shape);

/// The gradient of the input of a linear layer whose forward pass is `forward`: the product {m, k, n}, in 8
/// bits `split_accumulation_factor` times as long as one of the forward pass.
KernelTime input_gradient_time(const GpuProfile& profile, Precision precision, const GemmShape& forward);

/// The weight gradient: the product {n, k, m}, added to gradients in memory, which takes 1.07 times a plain
/// product (SimuMax's layouts NT with accumulation over TN: 1.05 on A100, 1.08 on B200), in single precision
/// as long as one; in 8 bits times `split_accumulation_factor`.
KernelTime weight_gradient_time(const GpuProfile& profile, Precision precision, const GemmShape& forward);

/// Linear layers of the experts of one GPU as one kernel: `rows` rows in all, spread evenly over
/// `num_experts` weights of n outputs and k inputs.
struct GroupedGemmShape {
  std::int64_t rows = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  std::int64_t num_experts = 1;
};

/// Time of a grouped GEMM in forward layout: one GEMM of all rows and 160 more for each expert. The 160 fits
/// SimuMax's B200 kernels.
KernelTime grouped_gemm_time(const GpuProfile& profile, Precision precision, const GroupedGemmShape& shape);

/// The gradients of the inputs of a grouped layer.
KernelTime grouped_input_gradient_time(const GpuProfile& profile, Precision precision,
                                       const GroupedGemmShape& forward);

/// The weight gradients of a grouped layer, added to fp32 gradients in memory (8 bytes per weight).
KernelTime grouped_weight_gradient_time(const GpuProfile& profile, Precision precision,
                                        const GroupedGemmShape& forward);

/// Attention of one GPU, causal unless stated otherwise.
struct AttentionShape {
  std::int64_t sequence = 1;     ///< tokens that are attended to
  std::int64_t queries = 1;      ///< tokens that attend: `sequence` / context-parallel degree
  std::int64_t heads = 1;        ///< micro-batch x attention heads on this GPU
  std::int64_t head_size = 128;  ///< of queries and keys
  std::int64_t value_head_size = 128;
  std::int64_t window = 0;        ///< tokens that a token attends to; 0: all before it
  bool is_bidirectional = false;  ///< a token attends to those after it as well
};

/// Time of a flash-attention kernel: forward heads x sequence x queries x (head size + value head size)
/// FLOPs, which is the lower half of the scores (twice as many if it is bidirectional), backward 2.5 times as
/// many. With a window the time is that over the whole sequence, times the share of the scores that a kernel
/// with a window works on: those in it and 512 for each token more, which is what kernels of H100 to GB300
/// with windows of 128 tokens take over sequences of 2,048 to 16,384 (medians of a GPU 450 to 700, in public
/// tables of attention kernels). The rate is that of the profile's table for this generation of kernels at
/// `queries` tokens; a generation that the profile does not know runs like the nearest older one, or else
/// newer. `kernel` must not be `Unfused` (`std::logic_error`).
KernelTime attention_forward_time(const GpuProfile& profile, AttentionKernel kernel,
                                  const AttentionShape& shape);
/// The backward pass of the same.
KernelTime attention_backward_time(const GpuProfile& profile, AttentionKernel kernel,
                                   const AttentionShape& shape);

/// Kinds of kernels that memory bandwidth bounds; each reaches its own fraction of it.
enum class MemoryKernel : std::uint8_t { Elementwise, Gelu, LayerNorm, Softmax, Dropout, Optimizer };

/// Time of `num_kernels` kernels that move `traffic` together.
Nanoseconds memory_kernel_time(const GpuProfile& profile, MemoryKernel kind, Bytes traffic, int num_kernels);

/// What PyTorch's own kernels do with each element of a tensor where nothing fuses them.
struct EagerWork {
  double strided_passes = 0;   ///< of kernels that handle one element at a time
  double strided_traffic = 0;  ///< bytes an element and such a pass
  double traffic = 0;          ///< bytes an element of the other kernels together
  int num_kernels = 0;
};

/// Time of such work on `elements`. Where an operand is broadcast or a view with gaps, or the operands'
/// types differ, PyTorch neither reads nor writes in vectors (aten/src/ATen/native/cuda/CUDALoops.cuh): the
/// arithmetic of addresses and conversions then bounds how many elements a multiprocessor handles.
Nanoseconds eager_kernel_time(const GpuProfile& profile, double elements, const EagerWork& work);

/// Time of `num_kernels` kernels of a state space's scan (Triton's, a chunk of a head at a time) that move
/// `traffic` together. The multiprocessors bound them more than memory does.
Nanoseconds scan_kernel_time(const GpuProfile& profile, Bytes traffic, int num_kernels);

/// The members of a communicator, placed as Megatron places them: `per_node` of them share an NVLink domain
/// (a node, but for racks with NVLink throughout); the group lies within one if `size` <= `per_node`.
struct GpuGroup {
  std::int64_t size = 1;
  std::int64_t per_node = 1;
};

/// Which generation of libraries (cuBLAS, NCCL) runs the kernels.
enum class Libraries : std::uint8_t {
  Current,  ///< those that the profile's tables were measured with
  Old,      ///< of 2021: products by the tile model, collectives within a node by tables of their own where
            ///< there are any, rings between nodes by the way they take to the adapters
};

/// Time of a collective on `total` bytes: the whole tensor, of which each GPU holds all (all-reduce) or
/// 1 / size before or after (the others). 0 for a group of one. Within a node the measured tables count,
/// those of old libraries before the current ones for the sizes that they have. Across nodes, or without a
/// table, it is a ring: `collective_volume` of the bytes at the members' share of the node's network (of old
/// libraries less, where members are apart), but no faster than NVLink nor than a group as large as the part
/// within a domain, and a latency for each of `collective_steps`. An all-reduce between exactly two nodes
/// crosses the network once each way (trees).
KernelTime collective_time(const GpuProfile& profile, Collective collective, GpuGroup group, Bytes total,
                           Libraries libraries);

/// A message from one GPU to another, within a node or over the GPU's share of the node's network.
KernelTime send_time(const GpuProfile& profile, bool within_node, Bytes size);

}  // namespace vtrain
