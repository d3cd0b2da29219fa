/// Vertices of an execution graph: the pieces of a training iteration, with their durations.
#pragma once

#include <cstdint>

namespace vtrain {

/// Kind of a task's work; also its colour in a timeline. Communication has a stream of its own.
enum class TaskKind : std::uint8_t {
  Forward,         ///< forward pass of a block
  Backward,        ///< without the weight gradients, if these are a pass of their own
  WeightGradient,  ///< weight gradients under a schedule that splits the backward pass
  Recompute,       ///< forward pass repeated before the backward pass
  Optimizer,       ///< optimizer's update of the weights
  TensorComm,      ///< communication within a layer
  DataComm,        ///< communication of gradients and weights among replicas
  PipelineComm,    ///< a message between stages, while its sender continues
};

/// True if tasks of this kind are collectives: communication other than messages between stages.
constexpr bool is_collective(TaskKind kind) {
  return kind == TaskKind::TensorComm || kind == TaskKind::DataComm;
}

/// An operator or one of its kernels. Successors start no earlier than start + duration + gap.
struct Task {
  /// `op` of a task for an empty block or for a message.
  static constexpr std::uint32_t kNoOperator = UINT32_MAX;

  double duration_ns = 0;  ///< busy time
  double gap_ns = 0;       ///< idle time after it, and the send that follows it
  std::uint32_t op = 0;    ///< index of the operator in its chunk or, without a micro-batch, in its stage
  std::int32_t micro_batch = -1;      ///< -1 for tasks outside the micro-batches
  std::uint16_t stage = 0;            ///< pipeline stage; for a message the sender's
  std::uint16_t chunk = 0;            ///< chunk of the stage; 0 for tasks outside the micro-batches
  TaskKind kind = TaskKind::Forward;  ///< kind of its work
  bool sends = false;  ///< last task of a forward or backward block: its gap ends with the block's send
};

}  // namespace vtrain
