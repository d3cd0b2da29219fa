/// Elements in 16 bits, eight at a time: one 16-byte load or store.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>

#include "profiler/cuda/cuda_call.hpp"
#include "profiler/operator.hpp"

namespace vtrain::profiler {

constexpr int kPackSize = 8;

template <typename T>
struct alignas(16) Pack {
  T values[kPackSize];
};

__device__ inline float to_float(__nv_bfloat16 value) {
  return __bfloat162float(value);
}
__device__ inline float to_float(__half value) {
  return __half2float(value);
}
template <typename T>
__device__ T from_float(float value);
template <>
__device__ inline __nv_bfloat16 from_float(float value) {
  return __float2bfloat16(value);
}
template <>
__device__ inline __half from_float(float value) {
  return __float2half(value);
}

/// Number of blocks for these items, from 1 to `kMostBlocks`.
inline unsigned num_blocks(std::int64_t items, int threads) {
  constexpr std::int64_t kMostBlocks = 1 << 20;
  const std::int64_t blocks = (items + threads - 1) / threads;
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks < kMostBlocks ? blocks : kMostBlocks);
}

/// Reports a wrong launch immediately, as a launch itself returns nothing.
inline void check_launch() {
  VTRAIN_CUDA_CALL(cudaGetLastError());
}

/// Calls `visit` with a value of the format's type.
template <typename Visit>
void with_element_type(Format format, Visit visit) {
  if (format == Format::Bf16) return visit(__nv_bfloat16{});
  if (format == Format::Fp16) return visit(__half{});
  throw std::logic_error("kernels of ours work on 16-bit numbers");
}

/// The sum or maximum over a block, in every thread. `scratch` holds 32 floats; blocks of whole warps.
template <typename Combine>
__device__ float block_reduce(float value, float neutral, float* scratch, Combine combine) {
  for (int offset = 16; offset > 0; offset /= 2)
    value = combine(value, __shfl_xor_sync(0xffffffffU, value, offset));
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  __syncthreads();  // before the scratch of an earlier reduction is overwritten
  if (lane == 0) scratch[warp] = value;
  __syncthreads();
  value = lane < static_cast<int>(blockDim.x) / 32 ? scratch[lane] : neutral;
  for (int offset = 16; offset > 0; offset /= 2)
    value = combine(value, __shfl_xor_sync(0xffffffffU, value, offset));
  return value;
}

__device__ inline float block_sum(float value, float* scratch) {
  return block_reduce(value, 0.0F, scratch, [](float a, float b) { return a + b; });
}

__device__ inline float block_max(float value, float* scratch) {
  return block_reduce(value, -INFINITY, scratch, [](float a, float b) { return fmaxf(a, b); });
}

}  // namespace vtrain::profiler
