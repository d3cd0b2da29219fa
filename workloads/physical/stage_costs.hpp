/// What the stages of a plan hold and do beside the passes of their layers: sends, gradient reduction and
/// weight update. The part of the physical predictor that full predictions and plan searches share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "workloads/iteration/iteration_work.hpp"
#include "workloads/iteration/stage_times.hpp"
#include "workloads/model/layer_kinds.hpp"
#include "workloads/model/parallel_plan.hpp"
#include "workloads/pipeline/block_times.hpp"
#include "workloads/stack/kernel_cost.hpp"

namespace vtrain {

struct LayerCosts;
struct ShardingGroups;
struct Stack;
struct StageParameters;

/// The layers of a chunk, by kind.
struct ChunkLayers {
  LayerRange range{};
  LayerCounts counts{};
  LayerCounts recomputed{};  ///< those that the plan lets run again: the first ones, or all
  bool is_first = false;     ///< of the model: with the embedding
  bool is_last = false;      ///< of the model: with the head
};

/// Times of one plan's stages. What it is made from must outlive it; the plan must have passed `check_plan`.
class StageCosts {
 public:
  /// `costs` are those of `layer_key(plan)`.
  StageCosts(const TransformerModel& model, const ParallelPlan& plan, const GpuProfile& profile,
             const Stack& stack, const LayerCosts& costs);

  /// The layers of a chunk of a stage.
  ChunkLayers layers(std::int64_t stage, std::int64_t chunk) const;
  /// Whether two stages do the same but for the numbers of their layers.
  bool alike(std::int64_t a, std::int64_t b) const;
  /// What a chunk sends to its neighbours.
  struct Sends {
    Send forward{};   ///< activations; nothing after the last chunk of the model
    Send backward{};  ///< gradients; nothing before the first
  };
  /// What a chunk sends whose passes take so long for a micro-batch, weight gradients included in `backward`:
  /// with sequence parallelism each GPU of a tensor-parallel group sends its part, without it the whole, or
  /// its part which is then gathered (`Stack::splits_messages`). Where the stack does not hold the stage for
  /// it, the slowest link of the pipeline does if it is still busy with a message when the next one is ready.
  /// Each direction has a link of its own.
  Sends sends(const ChunkLayers& layers, Nanoseconds forward, Nanoseconds backward) const;
  /// Times of what a chunk does for a micro-batch.
  struct ChunkTimes {
    ChunkLayers layers{};
    BlockTimes passes{};  ///< without sends, with the waits
    /// Waiting for activations that go to the memory of the CPU or come from there.
    Nanoseconds forward_wait{0};
    Nanoseconds backward_wait{0};
    Sends sends{};

    /// The blocks, with their sends.
    BlockTimes block(Messages messages) const {
      return with_sends(passes, sends.forward, sends.backward, messages);
    }
  };
  /// Adds waits and sends to the passes of a chunk's layers.
  ChunkTimes chunk_times(std::int64_t stage, const ChunkLayers& layers, const BlockTimes& passes) const;
  /// Times of what a stage does once an iteration.
  struct OnceTimes {
    Nanoseconds reduction{0};
    Nanoseconds embedding_reduction{0};
    Nanoseconds optimizer{0};

    /// Both reductions, one after the other.
    Nanoseconds communication() const { return reduction + embedding_reduction; }
  };
  /// Times of what a stage with these chunks does once.
  OnceTimes once_times(std::int64_t stage, std::span<const ChunkTimes> chunks) const;
  /// Whether there is any reduction.
  bool has_reduction() const;
  /// What of the gradients' reduction shows, in whole nanoseconds. Where the stack overlaps it, it runs in
  /// buckets of a layer beside the last micro-batch's backward pass of the stage, which takes `backward`, and
  /// the gathering of weights beside the first one's forward pass, which takes `forward`; the last bucket
  /// shows. Stages with several chunks reduce and gather one after the other beside the passes of the rest.
  /// With fully sharded weights what their gathers leave over in the passes.
  Nanoseconds reduction(std::int64_t stage, Nanoseconds forward, Nanoseconds backward) const;
  /// Summing the gradients of the word embedding between the first and the last stage, which both hold it
  /// (`shares_embedding`), in whole nanoseconds; 0 for every other stage. It comes after the stage's own
  /// reduction and nothing runs beside it (Megatron-Core, finalize_model_grads.py).
  Nanoseconds embedding_reduction(std::int64_t stage) const;
  /// The reductions of gradients that lie outside the measured sizes, in words: those of the stage with most
  /// of them. Those of fully sharded weights after each layer belong to the layers
  /// (`LayerCosts::extrapolated`).
  std::vector<std::string> extrapolated_reductions() const;
  /// How long the GPU waits in a pass of a chunk, which takes `pass` without, for activations on their way to
  /// the memory of the CPU or back; whole nanoseconds. The copies run beside the whole pass.
  Nanoseconds offload_wait(std::int64_t stage, Nanoseconds pass) const;
  /// The weight update, in whole nanoseconds.
  Nanoseconds optimizer(std::int64_t stage) const;

 private:
  std::int64_t replicas() const { return plan_.num_replicas(); }
  std::int64_t expert_replicas() const;
  Nanoseconds reduction_time(GpuGroup group, double parameters) const;
  KernelTime embedding_all_reduce() const;
  Bytes arriving_bytes(const StageParameters& held) const;
  /// What runs beside an overlapped reduction, in passes of a micro-batch through the stage, and in how many
  /// parts gradients are reduced, the last of which nothing runs beside.
  struct ReductionWindow {
    double passes = 1;
    double num_buckets = 1;
  };
  ReductionWindow reduction_window(std::int64_t num_layers) const;
  bool reduces_between_sets() const;
  StageParameters reduced_parameters(std::int64_t stage) const;
  ShardingGroups reduction_groups() const;

  const TransformerModel& model_;
  const ParallelPlan& plan_;
  const GpuProfile& profile_;
  const Stack& stack_;
  const LayerCosts& costs_;
  // What a message between stages takes in the mean over the links of the pipeline, and on the slowest one.
  Nanoseconds message_{0};
  Nanoseconds slowest_message_{0};
};

}  // namespace vtrain
