#include "profiler/cuda/fill.hpp"

#include <cuda_fp8.h>

#include "profiler/cuda/element.cuh"

namespace vtrain::profiler {
namespace {

constexpr int kThreads = 256;

/// A number from 0 to 2^32 - 1 for each index: the finalizer of MurmurHash3.
__device__ std::uint32_t scramble(std::int64_t index) {
  auto bits = static_cast<std::uint32_t>(index) ^ static_cast<std::uint32_t>(index >> 32);
  bits = (bits ^ (bits >> 16)) * 0x85ebca6bU;
  bits = (bits ^ (bits >> 13)) * 0xc2b2ae35U;
  return bits ^ (bits >> 16);
}

__device__ float uniform(std::int64_t index) {
  return static_cast<float>(scramble(index)) * 2.3283064e-10F;  // 2^-32
}

template <typename T>
__global__ void fill_kernel(T* data, std::int64_t count, float least, float range) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step)
    data[i] = T(least + range * uniform(i));
}

__global__ void fill_tokens_kernel(std::int64_t* data, std::int64_t count, std::int64_t vocabulary) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step)
    data[i] = static_cast<std::int64_t>(scramble(i)) % vocabulary;
}

template <typename T>
void fill(void* data, std::int64_t count, float least, float range) {
  if (count > 0)
    fill_kernel<<<num_blocks(count, kThreads), kThreads>>>(static_cast<T*>(data), count, least, range);
  check_launch();
  VTRAIN_CUDA_CALL(cudaStreamSynchronize(nullptr));
}

}  // namespace

void fill_random(Format format, void* data, std::size_t bytes) {
  const auto count = static_cast<std::int64_t>(format == Format::Fp8 ? bytes : bytes / 2);
  if (format == Format::Fp8) return fill<__nv_fp8_e4m3>(data, count, -1, 2);
  if (format == Format::Fp16) return fill<__half>(data, count, -1, 2);
  fill<__nv_bfloat16>(data, count, -1, 2);
}

void fill_floats(float* data, std::int64_t count) {
  fill<float>(data, count, 0, 1);
}

void fill_tokens(void* data, std::int64_t count, std::int64_t vocabulary) {
  fill_tokens_kernel<<<num_blocks(count, kThreads), kThreads>>>(static_cast<std::int64_t*>(data), count,
                                                                vocabulary);
  check_launch();
  VTRAIN_CUDA_CALL(cudaStreamSynchronize(nullptr));
}

}  // namespace vtrain::profiler
