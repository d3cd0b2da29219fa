/// Check of calls of CUDA and its libraries.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cupti.h>

#include <stdexcept>
#include <string>

namespace vtrain::profiler {

inline const char* message_of(cudaError_t status) {
  return cudaGetErrorString(status);
}

inline const char* message_of(cublasStatus_t status) {
  return cublasLtGetStatusString(status);
}

inline const char* message_of(CUptiResult status) {
  const char* text = nullptr;
  return cuptiGetResultString(status, &text) == CUPTI_SUCCESS ? text : "unknown error of CUPTI";
}

/// Throws `std::runtime_error` with the call's text, its place and the library's own message unless `status`
/// is success, which is 0 in all of these libraries.
template <typename Status>
void check_call(Status status, const char* call, const char* file, int line) {
  if (static_cast<int>(status) == 0) return;
  throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + call + ": " +
                           message_of(status));
}

}  // namespace vtrain::profiler

#define VTRAIN_CUDA_CALL(call) ::vtrain::profiler::check_call((call), #call, __FILE__, __LINE__)
