/// Finds the fastest parallel plan of a model on a number of GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/gpu_profile.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "workloads/model.hpp"
#include "workloads/parallel_plan.hpp"
#include "workloads/predictor.hpp"

namespace vtrain {

/// A plan, its iteration time by the physical predictor, where that time goes, and its memory.
struct RankedPlan {
  ParallelPlan plan{};
  Nanoseconds iteration{0};
  MemoryEstimate memory{};
  Breakdown breakdown{};  ///< of the slowest stage
};

/// Degrees that a plan must have, where they are given.
struct PlanLimits {
  std::optional<std::int64_t> tensor{};
  std::optional<std::int64_t> context{};
  std::optional<std::int64_t> pipeline{};
  std::optional<std::int64_t> data{};

  bool allow(const ParallelPlan& plan) const;
};

/// What to look for.
struct PlanSearchOptions {
  std::size_t top = 1;  ///< plans to return; 0: all that fit
  PlanLimits limits{};
};

/// What a search found.
struct PlanSearchResult {
  std::vector<RankedPlan> best;  ///< plans that fit into memory, fastest first
  std::int64_t num_plans = 0;    ///< plans that divide
  std::int64_t num_fitting = 0;  ///< of these, plans that fit into memory
};

/// Every plan that uses exactly `num_gpus`: tensor a power of two up to the GPUs of a node that divides the
/// heads, pipeline a divisor of the layers, data a divisor of the global batch, micro-batches of 1, 2, 4, 8
/// or 16 sequences, with full and without recomputation. Ordered by tensor, pipeline, micro-batch, and full
/// before no recomputation.
std::vector<ParallelPlan> enumerate_plans(const TransformerModel& model, GpuCount num_gpus,
                                          std::int64_t global_batch, const GpuProfile& profile);

/// The fastest plans that fit into memory. Of equally fast ones the
/// first in the order of `enumerate_plans` wins: the one with fewer tensor-parallel GPUs, then fewer stages.
/// Costs a few microseconds per plan.
///
/// Errors: `InvalidInput` if the model is not valid (`check_model`) or no plan divides; `Failed` if plans
/// divide but none fits into memory, with the least that any of them needs.
Result<PlanSearchResult> search_plans(const TransformerModel& model, GpuCount num_gpus,
                                      std::int64_t global_batch, const GpuProfile& profile,
                                      const PlanSearchOptions& options = {});

}  // namespace vtrain
