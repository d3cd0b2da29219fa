/// The work of one training iteration on one pipeline, stage by stage. Both predictors fill in this
/// description. The graph builder and the fast path both start from it, so they agree.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/graph/task.hpp"
#include "core/kernels/kernel_trace.hpp"
#include "workloads/model/parallel_plan.hpp"

namespace vtrain {

/// One operator of a block: a layer's forward pass, a collective, a weight update. Times as in `Task`.
struct Operator {
  /// Name, for instance `Fwd_transformer`. Not owned: a literal or other text that outlives the operator.
  std::string_view name{};
  TaskKind kind = TaskKind::Forward;        ///< decides the stream that it runs on
  std::int32_t layer = -1;                  ///< its layer, -1 for none
  Nanoseconds duration{0};                  ///< busy time: the sum of its kernels
  Nanoseconds gap{0};                       ///< idle time between its kernels (not after the last)
  const KernelSequence* kernels = nullptr;  ///< its kernels if it can be split into them; not owned
  /// Part of `duration` in matrix products; 0 if it is not known, as for traced kernels.
  Nanoseconds products{0};
  Nanoseconds attention{0};  ///< part of `duration` in attention and in scans of state spaces
};

/// Time of a pass or block: operators one after the other, with the gaps in them.
inline Nanoseconds total_span(std::span<const Operator> operators) {
  Nanoseconds sum(0);
  for (const Operator& op : operators)
    sum += op.duration + op.gap;
  return sum;
}

/// Times of sending a block's result to the next stage.
struct Send {
  Nanoseconds hold{0};  ///< idle time of the stage after the block (synchronous send)
  /// Wait of the stage after `hold`, until the link is free for its next message.
  Nanoseconds link_wait{0};
  /// Further time of the message, while its stage continues (asynchronous send). The receiver may start
  /// `hold` + `link_wait` + `latency` after the end of the block. Unused if there is no next stage.
  Nanoseconds latency{0};

  /// Idle time of the stage after the block, for both reasons.
  Nanoseconds stall() const { return hold + link_wait; }
};

/// Work of one pipeline stage on one chunk of the model, for one micro-batch. A block is a chain: each
/// operator starts when the one before it ends. Every operator has duration + gap >= 0. A forward or backward
/// block without operators still passes micro-batches on in order. Other blocks may be empty and then do not
/// exist.
struct ChunkWork {
  std::vector<Operator> forward{};    ///< operators of the forward pass
  std::vector<Operator> recompute{};  ///< run before the backward pass; may overlap the wait for the gradient
  std::vector<Operator> backward{};   ///< backward pass, without the weight gradients if `weight` has them
  /// Weight gradients as a separate pass. Only for schedules that split the backward pass.
  std::vector<Operator> weight{};
  /// Send of activations, after `forward`, to the next chunk of the model: that of the next stage or, from
  /// the last stage, the next chunk of stage 0. Zero on the last chunk of the model.
  Send send_forward{};
  /// Send of gradients, after `backward`, to the chunk before. Zero on the first chunk of the model.
  Send send_backward{};
};

/// Work of one pipeline stage.
struct StageWork {
  /// One chunk for each virtual stage; every stage has the same number. Chunk c of stage s is part c x stages
  /// + s of the model.
  std::vector<ChunkWork> chunks{};
  /// Gradient reduction after the last micro-batch: over replicas, and that of a word embedding on two
  /// stages.
  std::vector<Operator> data_parallel{};
  std::vector<Operator> optimizer{};  ///< weight update, after all stages have reached it
};

/// Work of one iteration.
struct IterationWork {
  std::vector<StageWork> stages{};                      ///< work by pipeline stage
  std::int64_t num_micro_batches = 0;                   ///< micro-batches of each pipeline
  Schedule schedule = Schedule::OneForwardOneBackward;  ///< order of blocks in a stage
  /// Gradient reduction of every stage waits for the last backward pass of stage 0 (as in the public vTrain
  /// release).
  bool reduction_waits_for_first_stage = false;
};

}  // namespace vtrain
