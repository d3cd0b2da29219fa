/// The accurate predictor, `--semantics physical`: kernel times from a model of the GPU, a 1F1B pipeline of
/// Megatron-LM with full or no recomputation, and collectives from measured tables and link rates.
///
/// Kernels, constants and their sources are those of the GPU profile. Choices of this model:
///  * a stage is held while it sends (Megatron-LM 2021 sends synchronously), as in the vTrain semantics;
///  * recomputation with its all-reduces is part of the backward block: Megatron-LM recomputes a layer just
///  before its
///    backward pass, which needs the incoming gradient to have arrived;
///  * gradients are reduced when a stage's last backward pass is done, without overlap; the weight update
///  waits for all
///    stages, because clipping needs the norm of all gradients;
///  * two stages count as in one node when tensor x data is below the GPUs of a node, also at node
///  boundaries;
///  * not modelled: the all-reduce of the shared word embedding between first and last stage, the three small
///  all-reduces of
///    the tensor-parallel loss, data loading, stragglers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/gpu_profile.hpp"
#include "core/result.hpp"
#include "workloads/iteration_work.hpp"
#include "workloads/layer_cost.hpp"
#include "workloads/model.hpp"
#include "workloads/parallel_plan.hpp"
#include "workloads/predictor.hpp"

namespace vtrain {

/// How finely a stage's blocks are divided. Both give the same times, to the bit.
enum class WorkDetail : std::uint8_t {
  Operators,  ///< every kernel group of every layer by name, for graphs and timelines
  Blocks,     ///< one unnamed operator for a block's compute and one for its collectives, for searches
};

/// Where the numbers of a prediction come from.
struct PhysicalProvenance {
  std::string profile;  ///< name of the GPU profile
  std::string profile_description;
  std::string all_reduce_source;  ///< of the all-reduce times within a node
  /// What lies outside the range of the profile's measurements and was extrapolated, one sentence each.
  std::vector<std::string> fallbacks;
};

/// The work of an iteration, the memory it takes and where both come from.
struct PhysicalPrediction {
  IterationWork work;
  MemoryEstimate memory;
  PhysicalProvenance provenance;
};

/// Puts iterations of one model together. The costs of a layer are computed once per tensor-parallel degree
/// and micro-batch size, by the caller, and shared by all plans that have these.
IterationWork make_physical_work(const TransformerModel& model, const ParallelPlan& plan,
                                 const GpuProfile& profile, const LayerCosts& costs, WorkDetail detail);

/// Predicts one iteration: `fast_iteration_times` or a graph of `work` gives the time. A plan that does not
/// fit into memory is predicted all the same; see `memory`. Errors: those of `check_plan`.
Result<PhysicalPrediction> predict_physical(const TransformerModel& model, const ParallelPlan& plan,
                                            const GpuProfile& profile);

}  // namespace vtrain
