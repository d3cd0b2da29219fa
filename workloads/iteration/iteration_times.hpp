/// The time of one training iteration and its parts, from the work of its stages.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/units.hpp"

namespace vtrain {

struct ExecutionGraph;
struct IterationWork;

/// Where the time of the slowest stage goes. The parts add up to the iteration time.
struct Breakdown {
  /// Layers, their recomputation, the launch gaps inside them and waiting for activations that come from the
  /// memory of the CPU or go there.
  Nanoseconds compute{0};
  Nanoseconds tensor_comm{0};  ///< collectives inside layers: of tensor, context and expert parallelism
  /// Sends between stages as far as they hold the stage, and what the iteration is longer for messages on
  /// their way and for links that are busy.
  Nanoseconds pipeline_comm{0};
  /// Gradient reduction, of a word embedding that two stages hold too, and what shows of gathering sharded
  /// weights.
  Nanoseconds data_comm{0};
  Nanoseconds optimizer{0};  ///< weight update
  Nanoseconds bubble{0};     ///< waiting for other stages
};

/// What one stage did.
struct StageTimes {
  Nanoseconds end{0};      ///< when its last task, or the gap after it, ended
  Nanoseconds compute{0};  ///< sum of its kernels, weight update included
};

/// Times of one iteration. Filled the same way by the graph simulation and by the fast path.
struct IterationTimes {
  Nanoseconds iteration{0};
  std::vector<StageTimes> stages;
  Nanoseconds communication_end{0};  ///< when the last collective, or the send after it, ended
  Nanoseconds communication_sum{0};  ///< all collectives of all stages
  std::int64_t slowest_stage = 0;    ///< the stage with the most to do, the first of equals
  Breakdown breakdown;               ///< of the slowest stage
};

/// The exact collapse of the graph simulation: one update per block instead of per task, and a jump over the
/// steady state. Needs `duration + gap >= 0` for every kernel, which readers guarantee. O(chunks of the model
/// x min(micro-batches, transient)).
IterationTimes fast_iteration_times(const IterationWork& work);

/// The same from the graph of this work, by the paper's Algorithm 1.
IterationTimes simulated_iteration_times(const IterationWork& work, const ExecutionGraph& graph);

/// The iteration time if messages between stages were there at once: without what `Send::latency` and
/// `Send::link_wait` add.
Nanoseconds iteration_without_latency(const IterationWork& work);

}  // namespace vtrain
