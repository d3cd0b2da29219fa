/// All parallel plans that a search may propose.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/units.hpp"

namespace vtrain {

struct GpuProfile;
struct ParallelPlan;
struct PlanChoices;
struct TransformerModel;

/// Degrees that a plan must have, if they are given.
struct PlanLimits {
  std::optional<std::int64_t> tensor{};    ///< tensor-parallel degree; none: any
  std::optional<std::int64_t> context{};   ///< context-parallel degree; none: any
  std::optional<std::int64_t> pipeline{};  ///< number of pipeline stages; none: any
  std::optional<std::int64_t> data{};      ///< data-parallel degree; none: any

  /// True if the plan has these degrees.
  bool allow(const ParallelPlan& plan) const;
};

/// Every plan that uses exactly `num_gpus` and passes `check_plan`:
///  * tensor: a power of two that divides the heads, those of keys and values too, the groups of a state
///    space and the columns of MLPs and shared experts, up to two nodes or the NVLink domain;
///  * context: a power of two with at least 1,024 tokens on each GPU;
///  * expert: a power of two that divides the experts and the GPUs that share a layer's data;
///  * expert tensor: 1 or, where it divides the columns of an expert, as `tensor`;
///  * pipeline: a divisor of the layers; if the stack has `ends_count_as_layers`, also any number of stages
///    with the ends counted, with equal chunks of two layers or more except the last, which has the rest;
///  * virtual stages: numbers that divide the layers in the same way;
///  * data: the rest of the GPUs, a divisor of the global batch;
///  * micro-batch: a divisor of a replica's sequences, of one sequence or of at most 262,144 tokens;
///  * recomputation, sharding and schedule: the choices; sharding only with replicas, zero bubble only
///    without virtual stages; with latent attention also selective recomputation (`latent_recompute`);
///  * replicate: 1, and with fully sharded weights also sets of as many replicas as fit an NVLink domain and
///    divide all.
///
/// Ordered by tensor, context, expert, pipeline, expert tensor, whether the ends count, virtual stages,
/// micro-batch, recomputation, sharding, replicate and schedule, in the order of the choices. The order
/// decides ties.
std::vector<ParallelPlan> enumerate_plans(const TransformerModel& model, GpuCount num_gpus,
                                          std::int64_t global_batch, const GpuProfile& profile,
                                          const PlanChoices& choices, const PlanLimits& limits = {});

}  // namespace vtrain
