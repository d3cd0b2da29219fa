/// Operators without a library, as our own kernels that move few bytes: 16 bytes per load, fp32 arithmetic.
/// Columns are multiples of 8.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "profiler/cuda/device_memory.hpp"
#include "profiler/operator.hpp"

namespace vtrain::profiler {

using Buffers = std::vector<DeviceBuffer>;

/// Launches an operator other than GEMM and attention on its buffers.
void launch_rows(const Operator& op, const Buffers& buffers, cudaStream_t stream);

/// Layer norm, RMS norm, softmax and cross-entropy: a block for each row.
void launch_row_reduction(const Operator& op, const Buffers& buffers, cudaStream_t stream);

/// Scaled causal softmax of `rows` rows; in place if `out` is `in`.
void launch_causal_softmax(Format format, const void* in, void* out, std::int64_t rows, std::int64_t columns,
                           cudaStream_t stream);
/// The gradient of the scores from the probabilities and their gradient; in place if `out` is `gradient`.
void launch_causal_softmax_backward(Format format, const void* probabilities, const void* gradient, void* out,
                                    std::int64_t rows, std::int64_t columns, cudaStream_t stream);

/// Keeps the stream busy for about this many nanoseconds.
void launch_hold(double nanoseconds, cudaStream_t stream);

}  // namespace vtrain::profiler
