/// Pipeline schedules as data: the order in which one stage works on its blocks.
///
/// A new schedule is a value of `Schedule`, a `ScheduleRule` in `schedule.cpp` and its row of the table
/// there. The dependencies between stages follow from the orders (`merged_schedule.hpp`).
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
/// The value of such a name; the error lists the known ones.
Result<Schedule> parse_schedule(std::string_view name);

/// What a block does for its micro-batch.
enum class Pass : std::uint8_t {
  Forward,
  Backward,  ///< with the recomputation before it; without weight gradients if the schedule splits them off
  Weight,    ///< weight gradients, of a schedule that splits the backward pass
};

/// Size of a pipeline; every number is at least 1.
struct PipelineShape {
  std::int64_t num_stages = 1;
  std::int64_t num_chunks = 1;  ///< model chunks (virtual stages) on each stage
  std::int64_t num_micro_batches = 1;
};

/// One pass of one micro-batch through one chunk of the stage.
struct StageBlock {
  Pass pass = Pass::Forward;
  std::uint16_t chunk = 0;
  std::int32_t micro_batch = 0;
};

/// Blocks that are run `repeats` times (0: not at all), each time on micro-batches `stride` further on.
struct BlockLoop {
  std::vector<StageBlock> blocks;
  std::int64_t repeats = 1;
  std::int64_t stride = 1;
};

/// All blocks of a stage in order. Each pass of each chunk takes the micro-batches from 0 on, one after the
/// other. Loops that are at the same place on every stage hold the same passes: they become the steady state.
using StageOrder = std::vector<BlockLoop>;

/// What orders, checks and the memory model need to know of a schedule.
struct ScheduleRule {
  std::string_view name{};  ///< in plans
  /// The order of one stage, counted from 0, of a shape that `check_schedule` accepts.
  StageOrder (*order)(const PipelineShape& shape, std::int64_t stage) = nullptr;
  /// The most chunks of one micro-batch whose activations a stage holds at once: those that have passed
  /// forward and whose last pass of the order is still to come.
  std::int64_t (*chunks_in_flight)(const PipelineShape& shape, std::int64_t stage) = nullptr;
  bool splits_backward = false;  ///< weight gradients are a pass of their own
  bool has_chunks = false;       ///< can run several chunks on each stage
};

/// The rule of a schedule.
const ScheduleRule& rule_of(Schedule schedule);
/// All of them, in the order of `Schedule`.
std::span<const ScheduleRule* const> schedule_rules();

/// The order of one stage, counted from 0. Throws `std::logic_error` where `check_schedule` has an error.
StageOrder stage_order(Schedule schedule, const PipelineShape& shape, std::int64_t stage);

/// Whether the schedule can run a pipeline of this shape. The error names the field of the plan.
Result<void> check_schedule(Schedule schedule, const PipelineShape& shape);

/// Whether weight gradients are a pass of their own.
inline bool splits_backward(Schedule schedule) {
  return rule_of(schedule).splits_backward;
}

}  // namespace vtrain
