/// In which order pipeline stages work on micro-batches. A schedule is data: a new one is one more function
/// here.
#pragma once

#include <cstdint>
#include <vector>

namespace vtrain {

/// The two passes of a micro-batch through a stage. A backward pass includes the recomputation before it.
enum class Pass : std::uint8_t { Forward, Backward };

/// One micro-batch's pass on one stage.
struct ScheduledBlock {
  std::int32_t micro_batch = 0;  ///< counted as the part of the schedule says that holds the block
  std::uint16_t stage = 0;
  Pass pass = Pass::Forward;
};

/// Every block of an iteration, each after the blocks that it depends on. Blocks of one stage run in this
/// order, and so do blocks of one micro-batch. The middle is a step that repeats, moving on by one
/// micro-batch each time, so that the description stays small whatever the number of micro-batches.
struct PipelineSchedule {
  std::vector<ScheduledBlock> warm_up;  ///< micro-batches counted from 0
  std::vector<ScheduledBlock> step;     ///< the i-th time counted from i, i < num_steps
  std::int64_t num_steps = 0;
  std::vector<ScheduledBlock> cool_down;  ///< counted from num_steps
  /// Above every `micro_batch` of the three parts. Only the last of them may be new in a step.
  std::int64_t window = 0;
};

/// 1F1B without interleaving (Narayanan et al., SC'21): stage s runs stages - 1 - s forward passes ahead,
/// then alternates one forward and one backward pass. O(stages^2) blocks. Both arguments are at least 1, and
/// there are at most 65,535 stages.
PipelineSchedule one_forward_one_backward(std::int64_t num_stages, std::int64_t num_micro_batches);

}  // namespace vtrain
