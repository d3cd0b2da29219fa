/// Pipeline schedules as data: the order in which one stage works on its blocks.
///
/// A new schedule is a value of `Schedule`, a `ScheduleRule` in `schedule.cpp` and its row of the table
/// there. The orders determine the dependencies between stages (`merged_schedule.hpp`).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace vtrain {

/// The order in which pipeline stages work on micro-batches.
enum class Schedule : std::uint8_t {
  OneForwardOneBackward,  ///< 1F1B; interleaved when there are virtual stages (Narayanan et al., SC'21)
  ZeroBubble,  ///< ZB-H1: weight gradients fill the bubble (Qi et al., "Zero Bubble Pipeline Parallelism",
               ///< ICLR'24)
  GPipe,       ///< all forward passes, then all backward passes (Huang et al., NeurIPS'19)
};

/// `1f1b`, `zero-bubble`, `gpipe`.
std::string_view name_of(Schedule schedule);
/// All names, in the order of `Schedule`.
std::span<const std::string_view> schedule_names();
/// Looks up a schedule by name; the error lists the known ones.
Result<Schedule> parse_schedule(std::string_view name);

/// Work of a block for its micro-batch.
enum class Pass : std::uint8_t {
  Forward,   ///< forward pass
  Backward,  ///< backward pass and the recomputation before it; no weight gradients if the schedule splits
             ///< them off
  Weight,    ///< weight gradients, if the schedule splits the backward pass
};

/// Size of a pipeline; every number is at least 1.
struct PipelineShape {
  std::int64_t num_stages = 1;         ///< stages of the pipeline
  std::int64_t num_chunks = 1;         ///< model chunks (virtual stages) on each stage
  std::int64_t num_micro_batches = 1;  ///< micro-batches of an iteration
};

/// One pass of one micro-batch through one chunk of the stage.
struct StageBlock {
  Pass pass = Pass::Forward;     ///< kind of the pass
  std::uint16_t chunk = 0;       ///< chunk of the stage, from 0
  std::int32_t micro_batch = 0;  ///< micro-batch, from 0
};

/// Blocks that are run `repeats` times (0: not at all), each time on micro-batches `stride` further on.
struct BlockLoop {
  std::vector<StageBlock> blocks;  ///< blocks of the first round
  std::int64_t repeats = 1;        ///< rounds; 0: none
  std::int64_t stride = 1;         ///< micro-batches between two rounds
};

/// All blocks of a stage in order. Each pass of each chunk takes the micro-batches from 0 on, one after the
/// other. Loops at one position hold equal passes on every stage: they become the steady state.
using StageOrder = std::vector<BlockLoop>;

/// Properties of a schedule for orders, checks and the memory model.
struct ScheduleRule {
  std::string_view name{};  ///< name in plans
  /// The order of one stage, counted from 0, of a shape that `check_schedule` accepts.
  StageOrder (*order)(const PipelineShape& shape, std::int64_t stage) = nullptr;
  /// Largest number of chunks of one micro-batch whose activations a stage holds at once. They have passed
  /// forward, and their last pass in the order is still to come.
  std::int64_t (*chunks_in_flight)(const PipelineShape& shape, std::int64_t stage) = nullptr;
  bool splits_backward = false;  ///< weight gradients are a separate pass
  bool has_chunks = false;       ///< can run several chunks on each stage
};

/// The rule of a schedule.
const ScheduleRule& rule_of(Schedule schedule);
/// All rules, in the order of `Schedule`.
std::span<const ScheduleRule* const> schedule_rules();

/// The order of one stage, counted from 0. Throws `std::logic_error` where `check_schedule` has an error.
StageOrder stage_order(Schedule schedule, const PipelineShape& shape, std::int64_t stage);

/// Checks that the schedule can run a pipeline of this shape. The error names the field of the plan.
Result<void> check_schedule(Schedule schedule, const PipelineShape& shape);

/// True if weight gradients are a separate pass.
inline bool splits_backward(Schedule schedule) {
  return rule_of(schedule).splits_backward;
}

}  // namespace vtrain
