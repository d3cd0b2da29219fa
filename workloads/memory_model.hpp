/// How much GPU memory a plan takes.
#pragma once

#include "core/gpu_profile.hpp"
#include "core/units.hpp"
#include "workloads/model.hpp"
#include "workloads/parallel_plan.hpp"
#include "workloads/predictor.hpp"

namespace vtrain {

/// Where the memory of one GPU of a stage goes, at its fullest moment.
struct StageMemory {
  /// Weights (2 bytes a parameter), gradients (2) and the state of mixed-precision Adam (12): Rajbhandari et
  /// al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", SC'20, section 3.1.
  /// Gradients are reduced in half precision, so they are kept in it.
  Bytes model_state{};
  /// Activations kept for the backward pass of all micro-batches in flight, min(pipeline - stage,
  /// micro-batches) under 1F1B. Korthikanti et al., "Reducing Activation Recomputation in Large Transformer
  /// Models", 2022: a layer keeps s b h (10 + 24 / t + 5 a s / (h t)) bytes (equation 2: tensor but no
  /// sequence parallelism), or its input of 2 s b h with full recomputation. The first stage adds the dropout
  /// mask of the embedding, s b h.
  Bytes activations{};
  /// What one micro-batch needs while it passes: with recomputation the layer at hand; on the last stage the
  /// head, if that is more. The head: inputs of the final norm and the logits 4 s b h, logits in single
  /// precision 4 s b V / t (ibid., section 4.3), and in half precision with their gradient 4 s b V / t
  /// (assumption: both are there when the loss is).
  Bytes working_set{};
  /// `memory_reserve` of the profile.
  Bytes reserve{};

  Bytes total() const { return model_state + activations + working_set + reserve; }
};

/// Parameters on each GPU of a stage: (12 h^2 + 13 h) / t a layer, and the embeddings V h / t + s h on the
/// first and, where the logits share the word embedding, V h / t on the last stage.
double stage_parameters(const TransformerModel& model, const ParallelPlan& plan, std::int64_t stage);

/// Memory of one stage. The model and the plan must have passed `check_plan`.
StageMemory stage_memory(const TransformerModel& model, const ParallelPlan& plan, std::int64_t stage,
                         const GpuProfile& profile);

/// Memory of the fullest stage, the first of equals.
MemoryEstimate estimate_memory(const TransformerModel& model, const ParallelPlan& plan,
                               const GpuProfile& profile);

}  // namespace vtrain
