#include "workloads/pipeline/pipeline_times.hpp"

#include <stdexcept>

namespace vtrain {

std::span<const Nanoseconds> PipelineTimer::stage_ends(Schedule schedule, const PipelineShape& shape,
                                                       std::span<const BlockTimes> blocks, PassEnds wanted) {
  if (shape.num_stages < 1 || std::ssize(blocks) != shape.num_stages * shape.num_chunks) {
    throw std::logic_error("pipeline times: expected block times of every chunk of every stage");
  }
  const TimeGrid grid(time_bound(shape, blocks));
  rounded_.resize(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    // Most stages are like the one before.
    rounded_[i] = i > 0 && blocks[i] == blocks[i - 1] ? rounded_[i - 1] : grid.round(blocks[i]);
  }
  by_rounds_ = wanted == PassEnds::Last && RoundRecurrence::can_run(schedule, shape);
  if (by_rounds_) {
    rounds_.run(schedule, rounded_, shape.num_micro_batches);
    return rounds_.ends();
  }
  block_recurrence_.run(find_schedule(schedule, shape), shape, rounded_);
  ends_.clear();
  for (std::size_t stage = 0; stage < rounded_.size() / static_cast<std::size_t>(shape.num_chunks); ++stage)
    ends_.push_back(block_recurrence_.stage_end(stage));
  return ends_;
}

Nanoseconds PipelineTimer::last_end(std::size_t stage, std::size_t chunk, Pass pass) const {
  if (!by_rounds_) return block_recurrence_.last_end(stage, chunk, pass);
  return pass == Pass::Weight ? rounds_.ends()[stage] : rounds_.backward_ends()[stage];
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
