/// Iteration times of many plans of one model, from sums over whole blocks.
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

/// Times plans. Layer costs are computed once for all plans that share them, and schedules merged once: a
/// further plan costs a microsecond, and the pipeline's recurrence (`PipelineTimer`) where it is needed. One
/// timer per thread; the profile must outlive it.
class PlanTimer {
 public:
  /// The model must have passed `check_model`.
  PlanTimer(TransformerModel model, const GpuProfile& profile, Stack stack);

  /// What the plans are of.
  const TransformerModel& model() const { return model_; }
  const GpuProfile& profile() const { return profile_; }
  const Stack& stack() const { return stack_; }

  /// Takes up a plan that has passed `check_plan`: what is asked next is about it. Throws `std::logic_error`
  /// where it names kernels of attention: those are the stack's.
  void select(const ParallelPlan& plan);

  /// A time that the iteration does not go below: every stage has all its blocks to do, after the first
  /// micro-batch has come to it and before the last one has gone back from it; and micro-batches that wait
  /// for the messages of the one before them, all through the pipeline and back, as often as there is room
  /// for in 1F1B.
  [[nodiscard]] Nanoseconds lower_bound() const;
  /// The iteration time: `fast_iteration_times` of the plan's work, to the bit.
  [[nodiscard]] Nanoseconds iteration();
  /// Where that time goes, on the slowest stage.
  [[nodiscard]] Breakdown breakdown();
  /// Whether any of it is not covered by measurements (`find_fallbacks`).
  [[nodiscard]] bool has_fallbacks() const;

 private:
  /// Spans of one part of the model, of one micro-batch, and where their time goes.
  struct PassSpans {
    Nanoseconds forward{0};
    Nanoseconds recompute{0};
    Nanoseconds backward{0};
    Nanoseconds weight{0};
    Breakdown parts{};  ///< of all but `recompute`
    Breakdown recomputed_parts{};
  };
  struct LayerSpans {
    PerLayerKind<PassSpans> layers{};
    PassSpans embedding{};
    PassSpans head{};
    LayerCosts costs{};
  };
  /// What a stage does once an iteration.
  struct OnceTimes {
    Nanoseconds reduction{0};
    Nanoseconds optimizer{0};
  };

  static PassSpans spans_of(const PassCosts& costs);
  const LayerSpans& spans(const ParallelPlan& plan);
  /// The passes of layers, without sends and without waiting for activations in the CPU's memory.
  BlockTimes passes_of(const ChunkLayers& layers, const LayerSpans& spans) const;
  Nanoseconds iteration_of(std::span<const BlockTimes> blocks);
  void add_chunk(Breakdown& breakdown, const ChunkLayers& layers, const LayerSpans& spans) const;
  std::span<const StageCosts::ChunkTimes> chunks_of(std::size_t stage) const;
  /// Of all that a stage does, without its idle time.
  Breakdown stage_breakdown(std::size_t stage) const;

  TransformerModel model_;
  const GpuProfile& profile_;
  Stack stack_;
  std::map<LayerKey, LayerSpans> spans_;
  PipelineTimer pipelines_;

  // The plan taken up last.
  ParallelPlan plan_{};
  const LayerSpans* layers_ = nullptr;  ///< in `spans_`
  PipelineShape shape_{};
  std::vector<StageCosts::ChunkTimes> chunks_;  ///< [stages that differ from the one before][chunks]
  std::vector<std::size_t> first_chunk_;        ///< [stages]: the first of its chunks in `chunks_`
  std::vector<BlockTimes> blocks_;              ///< [stages][chunks]
  std::vector<OnceTimes> once_;                 ///< [stages]
  std::optional<Nanoseconds> iteration_{};
};

}  // namespace vtrain
