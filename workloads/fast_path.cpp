// The exact collapse of the graph simulation. All operators of a block are in one chain, so a block is one
// update of two clocks, that of its stage and that of its micro-batch:
//
//     end = max(stage clock + recomputation, micro-batch clock) + block
//
// One step of the schedule is then a max-plus linear map of all clocks: it commutes with adding a constant to
// each of them. Once a step has moved every clock by the same time, every further step moves them by that
// time again, and the rest of the steps is one multiplication. Clocks are whole multiples of a power of two
// of a nanosecond, which makes "the same time" exact; a time in whole nanoseconds is represented exactly.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "workloads/pipeline_schedule.hpp"
#include "workloads/predictor.hpp"
#include "workloads/stage_times.hpp"

namespace vtrain {
namespace {

using Ticks = std::int64_t;

/// Converts between nanoseconds and ticks: the finest power of two with which no clock can overflow.
class TickScale {
 public:
  explicit TickScale(double longest_ns) {
    if (!std::isfinite(longest_ns)) throw std::logic_error("iteration work: a time is not a finite number");
    constexpr int kFinest = 30;
    const int magnitude = longest_ns >= 1 ? std::ilogb(longest_ns) + 1 : 1;
    ticks_per_ns_ = std::ldexp(1.0, std::min(kFinest, 62 - magnitude));
  }
  /// Rounds to the nearest tick; `nanoseconds` is not negative.
  Ticks ticks(double nanoseconds) const { return static_cast<Ticks>(nanoseconds * ticks_per_ns_ + 0.5); }
  double nanoseconds(Ticks ticks) const { return static_cast<double>(ticks) / ticks_per_ns_; }

 private:
  double ticks_per_ns_ = 1;
};

/// What the recurrence knows of one pass on one stage.
struct Block {
  Ticks recompute = 0;
  Ticks time = 0;
  Ticks ready = 0;  ///< when the stage last came to such a block, after recomputation
  Ticks end = 0;    ///< when it last finished one
};

std::size_t block_index(std::size_t stage, Pass pass) {
  return 2 * stage + static_cast<std::size_t>(pass);
}

class Recurrence {
 public:
  Recurrence(const std::vector<StageTotals>& stages, const TickScale& scale, const PipelineSchedule& schedule)
      : blocks_(2 * stages.size()),
        num_stages_(stages.size()),
        clocks_(stages.size() + static_cast<std::size_t>(schedule.window)) {
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
      Block& forward = blocks_[block_index(stage, Pass::Forward)];
      Block& backward = blocks_[block_index(stage, Pass::Backward)];
      forward.time = scale.ticks(stages[stage].forward.span);
      backward.time = scale.ticks(stages[stage].backward.span);
      backward.recompute = scale.ticks(stages[stage].recompute.span);
    }
    run(schedule.warm_up);
    run_steps(schedule);
    run(schedule.cool_down);
  }

  const Block& block(std::size_t stage, Pass pass) const { return blocks_[block_index(stage, pass)]; }
  Ticks stage_clock(std::size_t stage) const { return clocks_[stage]; }

 private:
  void run(const std::vector<ScheduledBlock>& part) {
    Block* const blocks = blocks_.data();
    Ticks* const stage_clocks = clocks_.data();
    Ticks* const micro_batch_clocks = stage_clocks + num_stages_;
    for (const ScheduledBlock& scheduled : part) {
      Block& block = blocks[block_index(scheduled.stage, scheduled.pass)];
      Ticks& stage = stage_clocks[scheduled.stage];
      Ticks& micro_batch = micro_batch_clocks[scheduled.micro_batch];
      block.ready = stage + block.recompute;
      block.end = std::max(block.ready, micro_batch) + block.time;
      stage = micro_batch = block.end;
    }
  }

  /// Moves the window of micro-batches on by one: the first is done, a new one comes in.
  void advance() {
    std::copy(clocks_.begin() + static_cast<std::ptrdiff_t>(num_stages_) + 1, clocks_.end(),
              clocks_.begin() + static_cast<std::ptrdiff_t>(num_stages_));
    clocks_.back() = 0;
  }

  void run_steps(const PipelineSchedule& schedule) {
    std::vector<Ticks> before = clocks_;
    for (std::int64_t done = 0; done < schedule.num_steps; ++done) {
      run(schedule.step);
      advance();
      // The last step is never jumped over, so that `ready` and `end` are those of the last blocks.
      const std::int64_t left = schedule.num_steps - done - 1;
      const Ticks moved = clocks_.front() - before.front();
      const bool is_steady =
          std::equal(clocks_.begin(), clocks_.end() - 1, before.begin(),
                     [moved](Ticks after, Ticks earlier) { return after - earlier == moved; });
      if (is_steady && left > 1) {
        for (auto clock = clocks_.begin(); clock != clocks_.end() - 1; ++clock)
          *clock += (left - 1) * moved;
        done += left - 1;
      }
      std::copy(clocks_.begin(), clocks_.end(), before.begin());
    }
  }

  std::vector<Block> blocks_;  ///< [stages][passes]
  std::size_t num_stages_;
  /// Clocks of the stages, then of the micro-batches of the schedule's window. The last one belongs to a
  /// micro-batch that has not started when a step begins.
  std::vector<Ticks> clocks_;
};

/// When the last collective among the micro-batches of a stage ended, or 0.
double last_collective(const Recurrence& recurrence, const StageTotals& totals, std::size_t stage,
                       const TickScale& scale) {
  const Block& forward = recurrence.block(stage, Pass::Forward);
  const Block& backward = recurrence.block(stage, Pass::Backward);
  if (totals.backward.has_collective) {
    return scale.nanoseconds(backward.end - scale.ticks(totals.backward.after_collective));
  }
  double latest = 0;
  if (totals.recompute.has_collective) {
    latest = scale.nanoseconds(backward.ready - scale.ticks(totals.recompute.after_collective));
  }
  if (totals.forward.has_collective) {
    latest = std::max(latest, scale.nanoseconds(forward.end - scale.ticks(totals.forward.after_collective)));
  }
  return latest;
}

/// An upper bound of the iteration time, in ns: uniform stages, each as slow as the slowest, take
/// (micro-batches + stages - 1) times all their blocks.
double upper_bound(const std::vector<StageTotals>& stages, double num_micro_batches) {
  double forward = 0;
  double recompute = 0;
  double backward = 0;
  double end = 0;
  for (const StageTotals& stage : stages) {
    forward = std::max(forward, stage.forward.span);
    recompute = std::max(recompute, stage.recompute.span);
    backward = std::max(backward, stage.backward.span);
    end = std::max(end, stage.data_parallel.span + stage.optimizer.span);
  }
  const double rounds = num_micro_batches + static_cast<double>(stages.size());
  return 2 * (rounds * (forward + recompute + backward) + end);
}

/// Sums of busy times, and the breakdown of the slowest stage, once the ends of all stages are known.
void add_sums(IterationTimes& times, const std::vector<StageTotals>& totals, double num_micro_batches) {
  for (std::size_t stage = 0; stage < totals.size(); ++stage) {
    const StageTotals& total = totals[stage];
    const auto sum = [&](double ChainTotals::*part) {
      return num_micro_batches * (total.forward.*part + total.recompute.*part + total.backward.*part) +
             total.data_parallel.*part + total.optimizer.*part;
    };
    times.stages[stage].compute = Nanoseconds(sum(&ChainTotals::kernel_time));
    times.communication_sum += Nanoseconds(sum(&ChainTotals::collective_time));
  }
  set_slowest(times);
  const StageTotals& slowest = totals[static_cast<std::size_t>(times.slowest_stage)];
  const auto share = [&](Nanoseconds Breakdown::*part) {
    return num_micro_batches * (slowest.forward.breakdown.*part + slowest.recompute.breakdown.*part +
                                slowest.backward.breakdown.*part) +
           slowest.data_parallel.breakdown.*part + slowest.optimizer.breakdown.*part;
  };
  times.breakdown = {.compute = share(&Breakdown::compute),
                     .tensor_comm = share(&Breakdown::tensor_comm),
                     .pipeline_comm = share(&Breakdown::pipeline_comm),
                     .data_comm = share(&Breakdown::data_comm),
                     .optimizer = share(&Breakdown::optimizer)};
  set_bubble(times);
}

}  // namespace

IterationTimes fast_iteration_times(const IterationWork& work) {
  std::vector<StageTotals> totals;
  totals.reserve(work.stages.size());
  for (const StageWork& stage : work.stages)
    totals.push_back(total_stage(stage));
  const auto num_stages = static_cast<std::int64_t>(totals.size());
  const PipelineSchedule schedule = one_forward_one_backward(num_stages, work.num_micro_batches);
  const TickScale scale(upper_bound(totals, static_cast<double>(work.num_micro_batches)));
  const Recurrence recurrence(totals, scale, schedule);

  IterationTimes times;
  times.stages.resize(totals.size());
  const double first_stage_done = scale.nanoseconds(recurrence.stage_clock(0));
  double all_done = 0;
  for (std::size_t stage = 0; stage < totals.size(); ++stage) {
    const StageTotals& total = totals[stage];
    double done = scale.nanoseconds(recurrence.stage_clock(stage));
    double collective = last_collective(recurrence, total, stage, scale);
    if (!work.stages[stage].data_parallel.empty()) {
      if (work.reduction_waits_for_first_stage) done = std::max(done, first_stage_done);
      done += total.data_parallel.span;
      if (total.data_parallel.has_collective) collective = done - total.data_parallel.after_collective;
    }
    times.stages[stage].end = Nanoseconds(done);
    times.communication_end = std::max(times.communication_end, Nanoseconds(collective));
    all_done = std::max(all_done, done);
  }
  for (std::size_t stage = 0; stage < totals.size(); ++stage) {
    const ChainTotals& optimizer = totals[stage].optimizer;
    if (work.stages[stage].optimizer.empty()) continue;
    const double end = all_done + optimizer.span;
    times.stages[stage].end = Nanoseconds(end);
    if (optimizer.has_collective) {
      times.communication_end =
          std::max(times.communication_end, Nanoseconds(end - optimizer.after_collective));
    }
  }
  add_sums(times, totals, static_cast<double>(work.num_micro_batches));
  return times;
}

}  // namespace vtrain
