/// What of a layer's forward pass runs again.
#pragma once

#include <vector>

#include "workloads/iteration/iteration_work.hpp"
#include "workloads/model/parallel_plan.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {

/// What of a layer's `forward` pass runs again before its backward pass: with `Recompute::Full` all of it,
/// with `Recompute::Selective` what the stack's rule drops (`SelectiveRecompute`). Operators are known by
/// their names.
std::vector<Operator> recomputed_pass(const std::vector<Operator>& forward, Recompute recompute,
                                      const Stack& stack);

}  // namespace vtrain
