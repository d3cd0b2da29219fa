/// GPU memory that a plan takes.
#pragma once

#include <cstdint>

#include "core/base/units.hpp"
#include "workloads/stack/memory_rules.hpp"

namespace vtrain {

struct GpuProfile;
struct ParallelPlan;
struct TransformerModel;

/// Where the memory of one GPU of a stage goes, at its fullest moment.
struct StageMemory {
  /// Weights, gradients and the state of mixed-precision Adam, in bytes a parameter: 2, `gradient_bytes` and
  /// 12 (Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", SC'20,
  /// section 3.1), the 12 divided over the replicas with `Sharding::Optimizer`. With `Sharding::Full` 16
  /// divided over the replicas of a set (with `shards_optimizer_over_sets` 12 of them over all), and the
  /// weights and gradients of the layers at hand; with `Sharding::Gradients` those weights are all. Gradient
  /// placeholders and buckets.
  Bytes model_state{};
  /// Activations kept for the backward passes of all micro-batches in flight. Korthikanti et al., "Reducing
  /// Activation Recomputation in Large Transformer Models", 2022, equations 1 to 5: for GPT-3's architecture,
  /// with tensor parallelism over t GPUs, a layer keeps s b h (10 + 24 / t + 5 a s / (h t)) bytes, the 10
  /// divided by t with sequence parallelism too, or its input of 2 s b h with full recomputation. The first
  /// stage adds the dropout mask of the embedding, s b h.
  Bytes activations{};
  /// What one micro-batch needs while it passes: with recomputation the layer at hand; what attention over
  /// parts of a sequence holds of the others, if that is more; on the last stage the head, likewise. The
  /// head: inputs of the final norm and the logits 4 s b h, and `loss_bytes` a logit. Of the 8 the logits in
  /// single precision take 4 (ibid., section 4.3), those in half precision and their gradient 2 each
  /// (assumption: all are there when the loss is).
  Bytes working_set{};
  /// What the allocator holds beyond these, by `reserved_over_used`.
  Bytes fragmentation{};
  /// `memory_reserve` of the profile: the libraries'.
  Bytes reserve{};

  /// What tensors take: the high-water mark that PyTorch reports as allocated.
  Bytes used() const { return model_state + activations + working_set; }
  /// What the GPU must have.
  Bytes total() const { return used() + fragmentation + reserve; }
};

/// Parameters on one GPU of a stage. Replicas share `shared` between all of them, `routed` between those that
/// hold the same experts.
struct StageParameters {
  double shared = 0;
  double routed = 0;
  double total() const { return shared + routed; }
};

/// Parameters on each GPU of a stage: its layers, with all that tensor parallelism divides divided by it and
/// the routed experts by `expert` and `expert_tensor`; the embeddings V h / t + s h on the first and the
/// output layer V h / t on the last stage, which shares the embedding's weights if there is but one stage and
/// they are tied, and has a copy of the embedding for multi-token prediction.
StageParameters stage_parameters(const TransformerModel& model, const ParallelPlan& plan, std::int64_t stage);

/// Whether the last stage holds the word embedding of the first one, too: as its output layer if they are
/// tied, or for multi-token prediction (Megatron-Core, gpt_model.py).
bool shares_embedding(const TransformerModel& model, const ParallelPlan& plan);

/// Activations of one micro-batch that a stage keeps in the memory of the CPU: those of `offloaded_layers` of
/// its layers, of whatever kind.
Bytes offloaded_activations(const TransformerModel& model, const ParallelPlan& plan, std::int64_t stage,
                            const MemoryRules& rules);

/// Memory of one stage. The model and the plan must have passed `check_plan`. Costs some 100 ns.
StageMemory stage_memory(const TransformerModel& model, const ParallelPlan& plan, std::int64_t stage,
                         const GpuProfile& profile, const MemoryRules& rules = {});

/// Memory of the fullest stage, in bytes per GPU.
struct MemoryEstimate {
  Bytes peak{0};           ///< of that stage
  Bytes capacity{0};       ///< of the GPU
  std::int64_t stage = 0;  ///< which that is
  /// Whether a GPU has as much.
  bool fits() const { return peak <= capacity; }
};

/// Memory of the fullest stage, the first of equals. Looks only at stages that can be the fullest.
MemoryEstimate estimate_memory(const TransformerModel& model, const ParallelPlan& plan,
                               const GpuProfile& profile, const MemoryRules& rules = {});

}  // namespace vtrain
