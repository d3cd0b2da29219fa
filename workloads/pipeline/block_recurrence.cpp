#include "workloads/pipeline/block_recurrence.hpp"

#include <algorithm>
#include <iterator>

namespace vtrain {
namespace {

/// Drops the clocks of the first micro-batches, which are done. New ones start at 0.
void move_window(std::vector<double>& clocks, std::int64_t count) {
  if (count == 0) return;
  const auto dropped = static_cast<std::ptrdiff_t>(std::min<std::int64_t>(count, std::ssize(clocks)));
  std::fill(std::copy(clocks.begin() + dropped, clocks.end(), clocks.begin()), clocks.end(), 0);
}

}  // namespace

void BlockRecurrence::run(const PipelineSchedule& schedule, const PipelineShape& shape,
                          std::span<const BlockTimes> blocks) {
  num_chunks_ = static_cast<std::size_t>(shape.num_chunks);
  blocks_.clear();
  for (const BlockTimes& times : blocks) {
    blocks_.push_back({.time = times.forward.count(), .latency = times.forward_latency.count()});
    blocks_.push_back({.recompute = times.recompute.count(),
                       .time = times.backward.count(),
                       .latency = times.backward_latency.count()});
    blocks_.push_back({.time = times.weight.count()});
  }
  stages_.assign(static_cast<std::size_t>(shape.num_stages), 0);
  forward_.assign(static_cast<std::size_t>(schedule.window.forward), 0);
  backward_.assign(static_cast<std::size_t>(schedule.window.backward), 0);
  PassNumbers first;
  for (const ScheduleSection& section : schedule.sections) {
    move_windows(section.first.forward - first.forward, section.first.backward - first.backward);
    run_section(section);
    first = section.first;
    first.forward += section.repeats * section.stride.forward;
    first.backward += section.repeats * section.stride.backward;
  }
}

void BlockRecurrence::run_once(const ScheduleSection& section) {
  for (const ScheduledBlock& scheduled : section.blocks) {
    Block& block = blocks_[block_index(scheduled.stage, scheduled.chunk, scheduled.pass)];
    double& stage = stages_[scheduled.stage];
    block.ready = stage + block.recompute;
    if (scheduled.pass == Pass::Weight) {
      stage = block.end = block.ready + block.time;
      continue;
    }
    Clocks& clocks = scheduled.pass == Pass::Forward ? forward_ : backward_;
    double& micro_batch = clocks[static_cast<std::size_t>(scheduled.micro_batch)];
    stage = block.end = std::max(block.ready, micro_batch) + block.time;
    micro_batch = block.end + block.latency;
  }
}

/// Finds the steady state as Brent's algorithm finds a cycle: the clocks are compared with those after 1, 2,
/// 4, ... repetitions, until they come back.
void BlockRecurrence::run_section(const ScheduleSection& section) {
  std::int64_t before_done = 0;
  bool has_jumped = section.repeats < 4;
  for (std::int64_t done = 1; done <= section.repeats; ++done) {
    run_once(section);
    if (section.repeats == 1) return;
    move_windows(section.stride.forward, section.stride.backward);
    if (has_jumped) continue;
    if (before_done > 0 && is_shifted(section)) {
      // The last repetition is never jumped over, so that `ready` and `end` are those of the last blocks.
      const std::int64_t left = std::max<std::int64_t>(section.repeats - done - 1, 0);
      const std::int64_t rounds = left / (done - before_done);
      shift(section, static_cast<double>(rounds) * (stages_.front() - before_.front()));
      done += rounds * (done - before_done);
      has_jumped = true;
    } else if (done >= 2 * before_done) {
      copy_state(section);
      before_done = done;
    }
  }
}

void BlockRecurrence::move_windows(std::int64_t forward, std::int64_t backward) {
  move_window(forward_, forward);
  move_window(backward_, backward);
}

/// Keeps the clocks that a further repetition starts from.
void BlockRecurrence::copy_state(const ScheduleSection& section) {
  before_.assign(stages_.begin(), stages_.end());
  before_.insert(before_.end(), forward_.begin(), forward_.begin() + section.under_way.forward);
  before_.insert(before_.end(), backward_.begin(), backward_.begin() + section.under_way.backward);
}

/// True if the clocks equal the stored ones plus one constant.
bool BlockRecurrence::is_shifted(const ScheduleSection& section) const {
  const double moved = stages_.front() - before_.front();
  const auto same = [moved](double before, double now) { return now - before == moved; };
  const auto forward = before_.begin() + std::ssize(stages_);
  const auto backward = forward + section.under_way.forward;
  return std::equal(before_.begin(), forward, stages_.begin(), same) &&
         std::equal(forward, backward, forward_.begin(), same) &&
         std::equal(backward, before_.end(), backward_.begin(), same);
}

void BlockRecurrence::shift(const ScheduleSection& section, double moved) {
  const auto add = [moved](double clock) { return clock + moved; };
  std::transform(stages_.begin(), stages_.end(), stages_.begin(), add);
  std::transform(forward_.begin(), forward_.begin() + section.under_way.forward, forward_.begin(), add);
  std::transform(backward_.begin(), backward_.begin() + section.under_way.backward, backward_.begin(), add);
}

}  // namespace vtrain
