/// The two kinds of causal attention.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "profiler/cuda/matmul.hpp"
#include "profiler/device.hpp"
#include "profiler/operator.hpp"

namespace vtrain::profiler {

/// Unfused attention: scores, softmax and context as batched products and a kernel, through memory. Heads
/// that share keys and values are rows of one product.
std::unique_ptr<PreparedOperator> prepare_unfused_attention(const CublasHandle& handle, const Operator& op,
                                                            cudaStream_t stream);

/// cuDNN's flash attention. `NotMeasurable` if this build has no cuDNN or cuDNN no engine for it.
std::unique_ptr<PreparedOperator> prepare_fused_attention(const Operator& op, cudaStream_t stream);

}  // namespace vtrain::profiler
