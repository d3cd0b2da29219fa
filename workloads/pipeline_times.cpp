#include "workloads/pipeline_times.hpp"

#include <algorithm>
#include <stdexcept>

namespace vtrain {
namespace {

/// Whether all stages do rounds of one forward and one backward pass.
bool has_rounds(Schedule schedule, const PipelineShape& shape) {
  if (shape.num_chunks > 1) return false;
  return schedule == Schedule::OneForwardOneBackward ||
         (schedule == Schedule::ZeroBubble && shape.num_micro_batches >= shape.num_stages);
}

}  // namespace

std::span<const Nanoseconds> PipelineTimer::stage_ends(Schedule schedule, const PipelineShape& shape,
                                                       std::span<const BlockTimes> blocks) {
  if (shape.num_stages < 1 || std::ssize(blocks) != shape.num_stages * shape.num_chunks) {
    throw std::logic_error("pipeline times: expected block times of every chunk of every stage");
  }
  const TimeGrid grid(time_bound(shape, blocks));
  rounded_.resize(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    // Most stages are like the one before.
    rounded_[i] = i > 0 && blocks[i] == blocks[i - 1] ? rounded_[i - 1] : grid.round(blocks[i]);
  }
  ends_.resize(static_cast<std::size_t>(shape.num_stages));
  if (has_rounds(schedule, shape)) {
    rounds_.run(rounded_, shape.num_micro_batches, splits_backward(schedule), ends_);
    return ends_;
  }
  block_recurrence_.run(find_schedule(schedule, shape), shape, rounded_);
  for (std::size_t stage = 0; stage < ends_.size(); ++stage)
    ends_[stage] = block_recurrence_.stage_end(stage);
  return ends_;
}

const PipelineSchedule& PipelineTimer::find_schedule(Schedule schedule, const PipelineShape& shape) {
  const Key key{schedule, shape.num_stages, shape.num_chunks, shape.num_micro_batches};
  if (const auto found = schedules_.find(key); found != schedules_.end()) return found->second;
  constexpr std::size_t kMostCachedBlocks = 4'000'000;  // 48 MB
  if (num_cached_blocks_ > kMostCachedBlocks) {
    schedules_.clear();
    num_cached_blocks_ = 0;
  }
  const PipelineSchedule& made = schedules_.emplace(key, make_schedule(schedule, shape)).first->second;
  for (const ScheduleSection& section : made.sections)
    num_cached_blocks_ += section.blocks.size();
  return made;
}

}  // namespace vtrain
