/// GPU memory that a plan needs.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/base/units.hpp"
#include "workloads/stack/memory_rules.hpp"

namespace vtrain {

struct GpuProfile;
struct ParallelPlan;
struct TransformerModel;

/// Uses of the memory of one GPU of a stage at the moment of its peak.
struct StageMemory {
  /// Weights, gradients and the state of mixed-precision Adam, in bytes a parameter: 2, `gradient_bytes` and
  /// 12 (Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", SC'20,
  /// section 3.1). `Sharding::Optimizer` divides the 12 over the replicas. `Sharding::Full` divides 16 over
  /// the replicas of a set (12 of them over all replicas with `shards_optimizer_over_sets`). It adds the
  /// weights and gradients of the layers in use; with `Sharding::Gradients` these weights are those of all
  /// layers. Includes gradient placeholders and buckets.
  Bytes model_state{};
  /// Activations kept for the backward passes of all micro-batches in flight (Korthikanti et al., "Reducing
  /// Activation Recomputation in Large Transformer Models", 2022, equations 1 to 5). With GPT-3's
  /// architecture and tensor parallelism over t GPUs, a layer keeps s b h (10 + 24 / t + 5 a s / (h t))
  /// bytes. Sequence parallelism divides the 10 by t too. With full recomputation a layer keeps its input of
  /// 2 s b h. The first stage adds the dropout mask of the embedding, s b h.
  Bytes activations{};
  /// Largest temporary memory of one micro-batch: a recomputed layer, the keys and values of other parts of
  /// the sequence in attention or, on the last stage, the head. The head holds the inputs of the final norm
  /// and of the logits, 4 s b h, and `loss_bytes` a logit. Of 8 bytes a logit, single precision takes 4
  /// (ibid., section 4.3), half precision and its gradient 2 each (assumption: all are present at the loss).
  Bytes working_set{};
  /// Memory that the allocator holds in addition, by `reserved_over_used`.
  Bytes fragmentation{};
  /// Memory of the libraries: the profile's `memory_reserve`.
  Bytes reserve{};

  /// Memory of tensors: the peak that PyTorch reports as allocated.
  Bytes used() const { return model_state + activations + working_set; }
  /// Memory that the GPU must have.
  Bytes total() const { return used() + fragmentation + reserve; }
};

/// Parameters on one GPU of a stage. All replicas have `shared`; only replicas with the same experts have
/// `routed`.
struct StageParameters {
  double shared = 0;  ///< parameters that all replicas have
  double routed = 0;  ///< parameters of experts
  /// All parameters of the GPU.
  double total() const { return shared + routed; }
};

/// Parameters on each GPU of a stage. Tensor parallelism divides its layers, `expert` and `expert_tensor`
/// divide the routed experts. The first stage has the embeddings V h / t + s h, the last one the output layer
/// V h / t. A single stage with tied embeddings holds these weights once. For multi-token prediction the last
/// stage has a copy of the embedding.
StageParameters stage_parameters(const TransformerModel& model, const ParallelPlan& plan, std::int64_t stage);

/// True if the last stage also holds the word embedding of the first one: as a tied output layer, or for
/// multi-token prediction (Megatron-Core, gpt_model.py).
bool shares_embedding(const TransformerModel& model, const ParallelPlan& plan);

/// Activations of one micro-batch that a stage keeps in the memory of the CPU, from `offloaded_layers` of its
/// layers.
Bytes offloaded_activations(const TransformerModel& model, const ParallelPlan& plan, std::int64_t stage,
                            const MemoryRules& rules);

/// Memory of one stage. The model and the plan must have passed `check_plan`. Takes about 100 ns.
StageMemory stage_memory(const TransformerModel& model, const ParallelPlan& plan, std::int64_t stage,
                         const GpuProfile& profile, const MemoryRules& rules = {});

/// Whether a plan fits into the memory of a GPU.
enum class Fit : std::uint8_t {
  Yes,    ///< predicted to need clearly less
  Tight,  ///< predicted within `kTightMargin` of the capacity: only a run can tell
  No,     ///< predicted to need clearly more
};

/// `yes`, `tight`, `no`.
std::string_view name_of(Fit fit);

/// Part of the capacity, on both sides of it, within which a prediction does not decide whether a plan fits.
/// Nine of ten validated runs of stacks that are modelled in detail have an error below it.
inline constexpr double kTightMargin = 0.08;

/// Memory of the fullest stage, in bytes per GPU.
struct MemoryEstimate {
  Bytes peak{0};           ///< memory of the fullest stage
  Bytes capacity{0};       ///< memory of the GPU
  std::int64_t stage = 0;  ///< the fullest stage
  /// True if a GPU has enough memory, and a part `headroom` of it (0 to 1) stays free.
  bool fits(double headroom = 0) const { return peak <= capacity * (1 - headroom); }
  /// The answer with the margin of the prediction.
  Fit fit() const;
};

/// Memory of the fullest stage, the first of equals. Computes only stages that can be the fullest.
MemoryEstimate estimate_memory(const TransformerModel& model, const ParallelPlan& plan,
                               const GpuProfile& profile, const MemoryRules& rules = {});

}  // namespace vtrain
