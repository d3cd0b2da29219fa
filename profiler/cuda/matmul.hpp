/// One matrix product through cuBLASLt, with the layouts of a linear layer.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <memory>

#include "profiler/cuda/device_memory.hpp"
#include "profiler/operator.hpp"

namespace vtrain::profiler {

/// A handle that closes itself.
class CublasHandle {
 public:
  CublasHandle();
  ~CublasHandle();
  CublasHandle(const CublasHandle&) = delete;
  CublasHandle& operator=(const CublasHandle&) = delete;
  cublasLtHandle_t get() const { return handle_; }

 private:
  cublasLtHandle_t handle_ = nullptr;
};

/// `batch` products of an m x k and a k x n matrix, one after another in memory. The layouts are those of the
/// pass: forward has both operands with k fastest, the data gradient the left one, the weight gradient
/// neither.
struct MatmulShape {
  Pass pass = Pass::Forward;
  Format format = Format::Bf16;
  bool adds_to_fp32 = false;  ///< result += product in fp32, otherwise result = product in 16 bits
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  std::int64_t batch = 1;
};

/// A product with the first algorithm of cuBLASLt's heuristic, which frameworks run, too.
class Matmul {
 public:
  /// Chooses the algorithm; `NotMeasurable` if cuBLASLt has none for the shape on this GPU.
  Matmul(const CublasHandle& handle, const MatmulShape& shape);
  ~Matmul();
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  void run(const void* left, const void* right, void* result, cudaStream_t stream) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vtrain::profiler
