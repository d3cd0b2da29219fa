/// Layers of a plan's stages and their work besides the layers' passes: sends, gradient reduction and weight
/// update. Full predictions and plan searches share this part of the physical predictor.
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
  LayerCounts recomputed{};  ///< layers that the plan recomputes: the first ones, or all
  bool is_first = false;     ///< first chunk of the model, with the embedding
  bool is_last = false;      ///< last chunk of the model, with the head
};

/// Times of one plan's stages. The constructor's arguments must outlive it; the plan must have passed
/// `check_plan`.
class StageCosts {
 public:
  /// `costs` are the layer costs of `layer_key(plan)`.
  StageCosts(const TransformerModel& model, const ParallelPlan& plan, const GpuProfile& profile,
             const Stack& stack, const LayerCosts& costs);

  /// The layers of a chunk of a stage.
  ChunkLayers layers(std::int64_t stage, std::int64_t chunk) const;
  /// True if two stages do the same work, apart from the numbers of their layers.
  bool alike(std::int64_t a, std::int64_t b) const;
  /// Messages of a chunk to its neighbours.
  struct Sends {
    Send forward{};   ///< activations; nothing after the last chunk of the model
    Send backward{};  ///< gradients; nothing before the first
  };
  /// Messages of a chunk whose passes take `forward` and `backward` for a micro-batch, weight gradients
  /// included in `backward`. With sequence parallelism each GPU of a tensor-parallel group sends its part.
  /// Without it each GPU sends the whole, or its part, which is then gathered (`Stack::splits_messages`). If
  /// the stack does not hold the stage for a send, a busy link does: the slowest link of the pipeline may
  /// still carry a message when the next one is ready. Each direction has its own link.
  Sends sends(const ChunkLayers& layers, Nanoseconds forward, Nanoseconds backward) const;
  /// Times of a chunk for one micro-batch.
  struct ChunkTimes {
    ChunkLayers layers{};
    BlockTimes passes{};  ///< passes with the waits, without sends
    /// Waits for activations on their way to or from the memory of the CPU.
    Nanoseconds forward_wait{0};
    Nanoseconds backward_wait{0};
    Sends sends{};

    /// The chunk's blocks, with their sends.
    BlockTimes block(Messages messages) const {
      return with_sends(passes, sends.forward, sends.backward, messages);
    }
  };
  /// Adds waits and sends to the passes of a chunk's layers.
  ChunkTimes chunk_times(std::int64_t stage, const ChunkLayers& layers, const BlockTimes& passes) const;
  /// Times of a stage's work once per iteration.
  struct OnceTimes {
    Nanoseconds reduction{0};
    Nanoseconds embedding_reduction{0};
    Nanoseconds optimizer{0};

    /// Both reductions, one after the other.
    Nanoseconds communication() const { return reduction + embedding_reduction; }
  };
  /// Times of the work that a stage with these chunks does once per iteration.
  OnceTimes once_times(std::int64_t stage, std::span<const ChunkTimes> chunks) const;
  /// True if any gradients are reduced.
  bool has_reduction() const;
  /// Time of the gradients' reduction that no computation hides, in whole nanoseconds. If the stack overlaps
  /// it, it runs in buckets of a layer during the stage's last backward pass, which takes `backward`. Weights
  /// are gathered during the first micro-batch's forward pass, which takes `forward`. The last bucket is
  /// never hidden. Stages with several chunks reduce and gather them one after the other, during the passes
  /// of the other chunks. With fully sharded weights: the part of their gathers that the passes do not
  /// include.
  Nanoseconds reduction(std::int64_t stage, Nanoseconds forward, Nanoseconds backward) const;
  /// Time to sum the word embedding's gradients between the first and the last stage, which both hold it
  /// (`shares_embedding`). Whole nanoseconds; 0 for every other stage. It comes after the stage's own
  /// reduction and is not overlapped (Megatron-Core, finalize_model_grads.py).
  Nanoseconds embedding_reduction(std::int64_t stage) const;
  /// Reductions of gradients outside the measured sizes, for the stage with most of them.
  /// Reductions of fully sharded weights after each layer belong to the layers (`LayerCosts::extrapolated`).
  std::vector<Extrapolation> extrapolated_reductions() const;
  /// Time that the GPU waits in a pass of a chunk for activations on their way to the memory of the CPU or
  /// back. Whole nanoseconds. `pass` is the time of the pass without the wait; the copies run during the
  /// whole pass.
  Nanoseconds offload_wait(std::int64_t stage, Nanoseconds pass) const;
  /// The weight update, in whole nanoseconds.
  Nanoseconds optimizer(std::int64_t stage) const;

 private:
  std::int64_t replicas() const { return plan_.num_replicas(); }
  std::int64_t expert_replicas() const;
  Nanoseconds reduction_time(GpuGroup group, double parameters) const;
  KernelTime embedding_all_reduce() const;
  Bytes arriving_bytes(const StageParameters& held) const;
  /// Computation that overlaps a reduction, in passes of a micro-batch through the stage, and the number of
  /// parts in which gradients are reduced. The last part is not overlapped.
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
  // Time of a message between stages: the mean over the pipeline's links, and that of the slowest link.
  Nanoseconds message_{0};
  Nanoseconds slowest_message_{0};
};

}  // namespace vtrain
