/// What single GPU kernels and messages cost on a profiled GPU: the terms of which the physical predictor is
/// made.
#pragma once

#include <cstdint>

#include "core/gpu_profile.hpp"
#include "core/units.hpp"
#include "workloads/model.hpp"

namespace vtrain {

/// `batch` independent half-precision products of an m x k and a k x n matrix. All at least 1.
struct GemmShape {
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  std::int64_t batch = 1;
};

/// Time of one GEMM kernel. The output is cut into tiles, of which each multiprocessor computes one at a
/// time: the number of waves is rounded up, and every tile pays `gemm_depth_overhead` on top of k. The best
/// of eight tile shapes counts, but no less than reading the operands and writing the result;
/// `kernel_overhead` comes on top.
Nanoseconds gemm_time(const GpuProfile& profile, const GemmShape& shape);

/// Kinds of kernels that memory bandwidth bounds; each reaches its own fraction of it.
enum class MemoryKernel : std::uint8_t { Elementwise, Gelu, LayerNorm, Softmax, Dropout, Optimizer };

/// Time of `num_kernels` kernels that move `traffic` together.
Nanoseconds memory_kernel_time(const GpuProfile& profile, MemoryKernel kind, Bytes traffic, int num_kernels);

/// The time of a message, and whether it lies outside what was measured.
struct MessageTime {
  Nanoseconds time{0};
  bool extrapolated = false;  ///< beyond the sizes of the all-reduce table
};

/// All-reduce of `size` in a tensor-parallel group; 0 for a group of one. Within a node the measured table
/// holds; a larger group is a ring through the network of its nodes, 2 (t - 1) / t of the message
/// (nccl-tests, PERFORMANCE.md).
MessageTime tensor_all_reduce_time(const GpuProfile& profile, std::int64_t tensor, Bytes size);

/// All-reduce of the gradients, `size` on each GPU, in a data-parallel group; 0 for a group of one. Within a
/// node (tensor x data at most its GPUs) the measured table holds. Otherwise a ring: the groups of a node's
/// tensor-parallel ranks share its network.
MessageTime gradient_all_reduce_time(const GpuProfile& profile, std::int64_t tensor, std::int64_t data,
                                     Bytes size);

/// Sending `activations` to the next stage. Each GPU of a tensor-parallel group sends its part over its share
/// of the node's network (over NVLink when two stages fit into a node: tensor x data below the GPUs of a
/// node), then the group gathers the parts.
Nanoseconds send_time(const GpuProfile& profile, std::int64_t tensor, std::int64_t data, Bytes activations);

}  // namespace vtrain
