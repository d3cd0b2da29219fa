/// The operators of a GPT layer, of its embedding and of its head, with their times, for one tensor-parallel
/// degree and one micro-batch size.
#pragma once

#include <cstdint>
#include <vector>

#include "core/gpu_profile.hpp"
#include "workloads/iteration_work.hpp"
#include "workloads/model.hpp"
#include "workloads/parallel_plan.hpp"

namespace vtrain {

/// The passes of one part of the model for one micro-batch.
struct PassCosts {
  std::vector<Operator> forward;
  std::vector<Operator> backward;  ///< without recomputation
};

/// What a stage is put together from. Durations are whole nanoseconds, so that sums do not depend on their
/// order.
struct LayerCosts {
  PassCosts layer;                       ///< one transformer layer; `Operator::layer` is still -1
  PassCosts embedding;                   ///< before the first layer
  PassCosts head;                        ///< after the last layer: final norm, logits, loss
  bool all_reduce_extrapolated = false;  ///< the activations lie outside the measured all-reduce sizes
};

/// Computes them. The model and the plan must have passed `check_plan`.
LayerCosts layer_costs(const TransformerModel& model, std::int64_t tensor, std::int64_t micro_batch,
                       const GpuProfile& profile);

}  // namespace vtrain
