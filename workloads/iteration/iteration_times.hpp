/// The time of one training iteration and its parts, from the work of its stages.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/units.hpp"

namespace vtrain {

struct ExecutionGraph;
struct IterationWork;

/// Parts of the slowest stage's time. They add up to the iteration time.
struct Breakdown {
  /// Layers, their recomputation, the launch gaps inside them, and waits for activations on their way to or
  /// from the memory of the CPU.
  Nanoseconds compute{0};
  Nanoseconds tensor_comm{0};  ///< collectives of tensor, context and expert parallelism inside layers
  /// Sends between stages as far as they hold the stage, and the increase of the iteration time by message
  /// latency and busy links.
  Nanoseconds pipeline_comm{0};
  /// Gradient reduction, also of a word embedding on two stages, and the visible part of gathers of sharded
  /// weights.
  Nanoseconds data_comm{0};
  Nanoseconds optimizer{0};  ///< weight update
  Nanoseconds bubble{0};     ///< waiting for other stages

  // Parts of `compute`. All kernels of a kernel trace count as memory-bound.
  Nanoseconds products{0};   ///< matrix products
  Nanoseconds attention{0};  ///< attention, and scans of state spaces
  /// Waits of the GPU for the CPU: for the launch of kernels, and for activations in the CPU's memory.
  Nanoseconds cpu_wait{0};

  /// All other kernels, which memory bandwidth bounds. The four parts add up to `compute`.
  Nanoseconds memory_bound() const { return compute - products - attention - cpu_wait; }
};

/// Times of one stage.
struct StageTimes {
  Nanoseconds end{0};      ///< end of its last task and the gap after it
  Nanoseconds compute{0};  ///< sum of its kernels, weight update included
};

/// Times of one iteration. The graph simulation and the fast path fill it alike.
struct IterationTimes {
  Nanoseconds iteration{0};          ///< time of the whole iteration
  std::vector<StageTimes> stages;    ///< times by pipeline stage
  Nanoseconds communication_end{0};  ///< end of the last collective and the send after it
  Nanoseconds communication_sum{0};  ///< time of all collectives of all stages
  std::int64_t slowest_stage = 0;    ///< stage with the most work, the first of equals
  Breakdown breakdown;               ///< parts of the slowest stage's time
};

/// The exact collapse of the graph simulation: one update per block instead of per task, and a jump over the
/// steady state. Needs `duration + gap >= 0` for every kernel, which readers guarantee. O(chunks of the model
/// x min(micro-batches, transient)).
IterationTimes fast_iteration_times(const IterationWork& work);

/// Times from the graph of this work, by the paper's Algorithm 1.
IterationTimes simulated_iteration_times(const IterationWork& work, const ExecutionGraph& graph);

/// The iteration time if messages between stages were instant: without the effects of `Send::latency` and
/// `Send::link_wait`.
Nanoseconds iteration_without_latency(const IterationWork& work);

}  // namespace vtrain
