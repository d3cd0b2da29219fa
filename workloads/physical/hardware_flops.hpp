/// Arithmetic that the GPUs carry out in an iteration, recomputation included.
#pragma once

#include "core/base/units.hpp"

namespace vtrain {

struct ParallelPlan;
struct Stack;
struct TransformerModel;

/// FLOPs of an iteration as the kernels compute them, on all GPUs. Fused attention skips the masked half of
/// the scores and computes the products of queries and keys again in the backward pass. Unfused attention
/// computes all scores. Recomputation adds the matrix products and the attention that it repeats. Padding,
/// norms and other memory-bound kernels are not counted. The model and the plan must have passed
/// `check_plan`.
Flops hardware_flops(const TransformerModel& model, const ParallelPlan& plan, const Stack& stack);

}  // namespace vtrain
