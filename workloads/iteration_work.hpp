/// The work of one training iteration on one pipeline, stage by stage. Each semantics of the predictor fills
/// in this one description; the graph builder and the fast path both start from it, which is why they agree.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/kernel_trace.hpp"
#include "core/task.hpp"
#include "core/units.hpp"

namespace vtrain {

/// One operator of a block: a layer's forward pass, a collective, a weight update. Times as in `Task`.
struct Operator {
  std::string name{};                       ///< for instance `Fwd_transformer`
  TaskKind kind = TaskKind::Forward;        ///< decides the stream it is booked on
  Nanoseconds duration{0};                  ///< busy time: the sum of its kernels
  Nanoseconds gap{0};                       ///< idle time between its kernels (not after the last)
  const KernelSequence* kernels = nullptr;  ///< its kernels if it is to be taken apart; not owned
  std::int32_t layer = -1;                  ///< the layer it belongs to, -1 for none
};

/// What one pipeline stage does. A block is a chain: each operator starts when the one before it is done.
/// Every operator takes at least no time: duration + gap >= 0. A forward or backward block without operators
/// still passes micro-batches on in order; the other blocks may be empty and are then not there.
struct StageWork {
  std::vector<Operator> forward;    ///< one micro-batch's forward pass
  std::vector<Operator> recompute;  ///< run before the backward pass; may overlap the wait for the gradient
  std::vector<Operator> backward;   ///< one micro-batch's backward pass
  /// Time for which the stage is held by sending activations to the next stage, after `forward`. 0 on the
  /// last stage.
  Nanoseconds send_forward{0};
  /// The same for gradients to the stage before, after `backward`. 0 on the first stage.
  Nanoseconds send_backward{0};
  std::vector<Operator>
      data_parallel;  ///< gradient reduction after the last micro-batch; empty without data parallelism
  std::vector<Operator> optimizer;  ///< weight update, once every stage has come so far
};

/// One iteration of the 1F1B schedule.
struct IterationWork {
  std::vector<StageWork> stages;
  std::int64_t num_micro_batches = 0;
  /// Whether gradient reduction of every stage waits for the last backward pass of stage 0 (so the public
  /// vTrain release).
  bool reduction_waits_for_first_stage = false;
};

}  // namespace vtrain
