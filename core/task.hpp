/// The vertices of an execution graph: what one piece of a training iteration does, and for how long.
#pragma once

#include <cstdint>

namespace vtrain {

/// What a task does; also its colour in a timeline. Communication is booked on a stream of its own.
enum class TaskKind : std::uint8_t {
  Forward,
  Backward,
  Recompute,
  Optimizer,
  TensorComm,
  DataComm,
};

/// Whether tasks of this kind are communication.
constexpr bool is_communication(TaskKind kind) {
  return kind == TaskKind::TensorComm || kind == TaskKind::DataComm;
}

/// An operator or one of its kernels. Successors start no earlier than start + duration + gap.
struct Task {
  /// `op` of a task that stands for an empty block.
  static constexpr std::uint32_t kNoOperator = UINT32_MAX;

  double duration_ns = 0;         ///< busy time
  double gap_ns = 0;              ///< idle time after it, and the send that follows it
  std::uint32_t op = 0;           ///< which operator of its stage, for names
  std::int32_t micro_batch = -1;  ///< -1 for tasks outside the micro-batches
  std::uint16_t stage = 0;
  TaskKind kind = TaskKind::Forward;
  bool sends = false;  ///< last task of a forward or backward block: its gap ends with the block's send
};

}  // namespace vtrain
