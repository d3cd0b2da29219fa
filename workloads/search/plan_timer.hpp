/// Iteration times of many plans of one model, computed from sums over whole blocks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/base/units.hpp"
#include "core/profile/gpu_profile.hpp"
#include "workloads/iteration/iteration_times.hpp"
#include "workloads/iteration/iteration_work.hpp"
#include "workloads/layers/layer_cost.hpp"
#include "workloads/model/model.hpp"
#include "workloads/model/parallel_plan.hpp"
#include "workloads/physical/stage_costs.hpp"
#include "workloads/pipeline/block_times.hpp"
#include "workloads/pipeline/pipeline_times.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {

/// Times plans. Layer costs are computed once for all plans that share them, and schedules are merged once.
/// Another plan costs a microsecond and, if needed, the pipeline's recurrence (`PipelineTimer`). One timer
/// per thread; the profile must outlive it.
class PlanTimer {
 public:
  /// The model must have passed `check_model`.
  PlanTimer(TransformerModel model, const GpuProfile& profile, Stack stack);

  /// Model of the plans.
  const TransformerModel& model() const { return model_; }
  const GpuProfile& profile() const { return profile_; }
  const Stack& stack() const { return stack_; }

  /// Selects the plan for the calls that follow; it must have passed `check_plan`. Throws `std::logic_error`
  /// if it names kernels of attention: the stack chooses them.
  void select(const ParallelPlan& plan);

  /// Lower bound of the iteration time: every stage runs all its blocks, after the first micro-batch has
  /// reached it and before the last one has left it backward. In 1F1B it includes the waits of micro-batches
  /// for the messages of those before them, through the pipeline and back.
  [[nodiscard]] Nanoseconds lower_bound() const;
  /// The iteration time, bit for bit that of `fast_iteration_times` for the plan's work.
  [[nodiscard]] Nanoseconds iteration();
  /// Parts of the iteration time on the slowest stage.
  [[nodiscard]] Breakdown breakdown();
  /// True if measurements do not cover all of the prediction (`find_fallbacks`).
  [[nodiscard]] bool has_fallbacks() const;

 private:
  /// Spans of one part of the model for one micro-batch, and the parts of their time.
  struct PassSpans {
    Nanoseconds forward{0};
    Nanoseconds recompute{0};
    Nanoseconds backward{0};
    Nanoseconds weight{0};
    Breakdown parts{};  ///< parts of all spans but `recompute`
    Breakdown recomputed_parts{};
  };
  struct LayerSpans {
    PerLayerKind<PassSpans> layers{};
    PassSpans embedding{};
    PassSpans head{};
    LayerCosts costs{};
  };
  /// Times of a stage's work once per iteration.
  struct OnceTimes {
    Nanoseconds reduction{0};
    Nanoseconds optimizer{0};
  };

  static PassSpans spans_of(const PassCosts& costs);
  const LayerSpans& spans(const ParallelPlan& plan);
  /// The passes of layers, without sends and without waits for activations in the CPU's memory.
  BlockTimes passes_of(const ChunkLayers& layers, const LayerSpans& spans) const;
  Nanoseconds iteration_of(std::span<const BlockTimes> blocks);
  void add_chunk(Breakdown& breakdown, const ChunkLayers& layers, const LayerSpans& spans) const;
  std::span<const StageCosts::ChunkTimes> chunks_of(std::size_t stage) const;
  /// Breakdown of a stage's work, without its idle time.
  Breakdown stage_breakdown(std::size_t stage) const;

  TransformerModel model_;
  const GpuProfile& profile_;
  Stack stack_;
  std::map<LayerKey, LayerSpans> spans_;
  PipelineTimer pipelines_;

  // The selected plan.
  ParallelPlan plan_{};
  const LayerSpans* layers_ = nullptr;  ///< the plan's entry in `spans_`
  PipelineShape shape_{};
  std::vector<StageCosts::ChunkTimes> chunks_;  ///< [stages that differ from the one before][chunks]
  std::vector<std::size_t> first_chunk_;  ///< [stages]: position of the stage's first chunk in `chunks_`
  std::vector<BlockTimes> blocks_;        ///< [stages][chunks]
  std::vector<OnceTimes> once_;           ///< [stages]
  std::optional<Nanoseconds> iteration_{};
};

}  // namespace vtrain
