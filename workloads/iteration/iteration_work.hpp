/// The work of one training iteration on one pipeline, stage by stage. Each semantics of the predictor fills
/// in this one description; the graph builder and the fast path both start from it, which is why they agree.
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
  /// For instance `Fwd_transformer`. Not owned: a literal or other text that outlives the operator.
  std::string_view name{};
  TaskKind kind = TaskKind::Forward;        ///< decides the stream it is booked on
  std::int32_t layer = -1;                  ///< the layer it belongs to, -1 for none
  Nanoseconds duration{0};                  ///< busy time: the sum of its kernels
  Nanoseconds gap{0};                       ///< idle time between its kernels (not after the last)
  const KernelSequence* kernels = nullptr;  ///< its kernels if it is to be taken apart; not owned
};

/// Time of a pass or block: operators one after the other, with the gaps in them.
inline Nanoseconds total_span(std::span<const Operator> operators) {
  Nanoseconds sum(0);
  for (const Operator& op : operators)
    sum += op.duration + op.gap;
  return sum;
}

/// What passing a block's result on to the next stage takes.
struct Send {
  Nanoseconds hold{0};  ///< for this long after the block its stage does nothing else (synchronous send)
  /// For so long after `hold` the stage waits until the link is free for its next message.
  Nanoseconds link_wait{0};
  /// What the message takes beyond both, while its stage goes on (asynchronous send): the receiver may start
  /// `hold` + `link_wait` + `latency` after the end of the block. Unused where there is no next stage.
  Nanoseconds latency{0};

  /// For how long after the block its stage does nothing else, for either reason.
  Nanoseconds stall() const { return hold + link_wait; }
};

/// What one pipeline stage does with one chunk of the model, for one micro-batch. A block is a chain: each
/// operator starts when the one before it is done. Every operator takes at least no time: duration + gap
/// >= 0. A forward or backward block without operators still passes micro-batches on in order; the other
/// blocks may be empty and are then not there.
struct ChunkWork {
  std::vector<Operator> forward{};
  std::vector<Operator> recompute{};  ///< run before the backward pass; may overlap the wait for the gradient
  std::vector<Operator> backward{};   ///< without the weight gradients if `weight` has them
  /// Weight gradients, as a pass of their own. Only for schedules that split the backward pass.
  std::vector<Operator> weight{};
  /// Activations, after `forward`, to the next chunk of the model: that of the next stage or, from the last
  /// stage, the next chunk of stage 0. Nothing on the last chunk of the model.
  Send send_forward{};
  /// Gradients, after `backward`, the other way. Nothing on the first chunk of the model.
  Send send_backward{};
};

/// What one pipeline stage does.
struct StageWork {
  /// One for each virtual stage, as many on every stage. Chunk c of stage s is part c x stages + s of the
  /// model.
  std::vector<ChunkWork> chunks{};
  /// Gradient reduction after the last micro-batch, over replicas and of a word embedding that two stages
  /// hold.
  std::vector<Operator> data_parallel{};
  std::vector<Operator> optimizer{};  ///< weight update, once every stage has come so far
};

/// One iteration.
struct IterationWork {
  std::vector<StageWork> stages{};
  std::int64_t num_micro_batches = 0;
  Schedule schedule = Schedule::OneForwardOneBackward;
  /// Whether gradient reduction of every stage waits for the last backward pass of stage 0 (so the public
  /// vTrain release).
  bool reduction_waits_for_first_stage = false;
};

}  // namespace vtrain
