/// The one way in which the profiler checks CUDA calls.
#pragma once

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <stdexcept>

namespace vtrain {

/// Throws `std::runtime_error` with the call's text, place and CUDA's own message unless `status` is success.
inline void check_cuda(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(fmt::format("{}:{}: {}: {}", file, line, call, cudaGetErrorString(status)));
}

}  // namespace vtrain

#define VTRAIN_CUDA_CALL(call) ::vtrain::check_cuda((call), #call, __FILE__, __LINE__)
