/// Pipeline schedules as data: in which order one stage works on its blocks, and what else is to be known of
/// them. A new schedule is a `ScheduleRule` in a file of its own under `schedules/`, its name in `Schedule`
/// and its row of the table in `stage_order.cpp`. What other stages do, and which block waits for which,
/// follows from it (see `pipeline_schedule.hpp`).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "workloads/model/parallel_plan.hpp"

namespace vtrain {

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

/// 1F1B (Narayanan et al., SC'21; PipeDream-Flush): stage s runs stages - 1 - s forward passes ahead, then
/// one forward and one backward pass in turn. With several chunks a stage
/// `interleaved_one_forward_one_backward`.
extern const ScheduleRule kOneForwardOneBackwardRule;

/// 1F1B over several chunks a stage (Narayanan et al., SC'21, section 2.2), in the order of Megatron-Core:
/// micro-batches in groups of as many as there are stages, each group through one chunk after the other.
StageOrder interleaved_one_forward_one_backward(const PipelineShape& shape, std::int64_t stage);
/// `ScheduleRule::chunks_in_flight` of this order.
std::int64_t interleaved_chunks_in_flight(const PipelineShape& shape, std::int64_t stage);

/// ZB-H1 (Qi et al., ICLR'24, section 2.1): 1F1B with the weight gradients of stage s delayed by s
/// micro-batches, so that no stage holds more activations than stage 0 of 1F1B and gradients go back sooner.
extern const ScheduleRule kZeroBubbleRule;

/// GPipe (Huang et al., NeurIPS'19): all forward passes, then all backward passes.
extern const ScheduleRule kGPipeRule;

}  // namespace vtrain
