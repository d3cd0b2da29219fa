/// The vertices of an execution graph: what one piece of a training iteration does, and for how long.
#pragma once

#include <cstdint>

namespace vtrain {

/// What a task does; also its colour in a timeline. Communication is booked on a stream of its own.
enum class TaskKind : std::uint8_t {
  Forward,
  Backward,        ///< without the weight gradients, if these are a pass of their own
  WeightGradient,  ///< of a schedule that splits the backward pass
  Recompute,
  Optimizer,
  TensorComm,
  DataComm,
  PipelineComm,  ///< a message between stages, on its way while its sender goes on
};

/// Whether tasks of this kind are collectives: communication other than messages between stages.
constexpr bool is_collective(TaskKind kind) {
  return kind == TaskKind::TensorComm || kind == TaskKind::DataComm;
}

/// An operator or one of its kernels. Successors start no earlier than start + duration + gap.
struct Task {
  /// `op` of a task that stands for an empty block or for a message.
  static constexpr std::uint32_t kNoOperator = UINT32_MAX;

  double duration_ns = 0;         ///< busy time
  double gap_ns = 0;              ///< idle time after it, and the send that follows it
  std::uint32_t op = 0;           ///< which operator of its chunk or, without a micro-batch, of its stage
  std::int32_t micro_batch = -1;  ///< -1 for tasks outside the micro-batches
  std::uint16_t stage = 0;        ///< a message's is that of its sender
  std::uint16_t chunk = 0;        ///< of its stage; 0 for tasks outside the micro-batches
  TaskKind kind = TaskKind::Forward;
  bool sends = false;  ///< last task of a forward or backward block: its gap ends with the block's send
};

}  // namespace vtrain
