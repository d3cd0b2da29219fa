// The exact collapse of the graph simulation. All operators of a block are in one chain, so a block is one
// update of two clocks, that of its stage and that of its micro-batch:
//
//     stage clock       = max(stage clock + recomputation, micro-batch clock) + block
//     micro-batch clock = stage clock + latency of the message to the next chunk
//
// One repetition of a section of the schedule is then a max-plus linear map of all clocks: it commutes with
// adding a constant to each of them. Once the clocks are the same as some repetitions before but for one
// constant, all further repetitions do the same again, and as many of these rounds as are left are one
// multiplication. Clocks are whole multiples of a power of two of a nanosecond, which makes "the same" exact;
// a time in whole nanoseconds is represented exactly.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
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

/// What the recurrence knows of one pass of one chunk.
struct Block {
  Ticks recompute = 0;
  Ticks time = 0;
  Ticks latency = 0;  ///< of the message that follows
  Ticks ready = 0;    ///< when the stage last came to such a block, after recomputation
  Ticks end = 0;      ///< when it last finished one
};

constexpr std::size_t kNumPasses = 3;

class Recurrence {
 public:
  /// `chunks` and the work's chunks are [stages][chunks].
  Recurrence(const IterationWork& work, const std::vector<ChunkTotals>& chunks, const TickScale& scale,
             const PipelineSchedule& schedule)
      : num_chunks_(work.stages.front().chunks.size()),
        blocks_(chunks.size() * kNumPasses),
        stages_(work.stages.size()),
        forward_(static_cast<std::size_t>(schedule.window.forward)),
        backward_(static_cast<std::size_t>(schedule.window.backward)) {
    for (std::size_t stage = 0; stage < work.stages.size(); ++stage) {
      for (std::size_t chunk = 0; chunk < num_chunks_; ++chunk) {
        const ChunkTotals& totals = chunks[stage * num_chunks_ + chunk];
        const ChunkWork& chunk_work = work.stages[stage].chunks[chunk];
        Block& forward = blocks_[block_index(stage, chunk, Pass::Forward)];
        forward.time = scale.ticks(totals.forward.span);
        forward.latency = scale.ticks(chunk_work.send_forward.latency.count());
        Block& backward = blocks_[block_index(stage, chunk, Pass::Backward)];
        backward.time = scale.ticks(totals.backward.span);
        backward.latency = scale.ticks(chunk_work.send_backward.latency.count());
        backward.recompute = scale.ticks(totals.recompute.span);
        blocks_[block_index(stage, chunk, Pass::Weight)].time = scale.ticks(totals.weight.span);
      }
    }
    PassNumbers first;
    for (const ScheduleSection& section : schedule.sections) {
      move_windows({section.first.forward - first.forward, section.first.backward - first.backward});
      first = section.first;
      run_section(section);
      first.forward += section.repeats * section.stride.forward;
      first.backward += section.repeats * section.stride.backward;
    }
  }

  const Block& block(std::size_t stage, std::size_t chunk, Pass pass) const {
    return blocks_[block_index(stage, chunk, pass)];
  }
  Ticks stage_clock(std::size_t stage) const { return stages_[stage]; }

 private:
  using Clocks = std::vector<Ticks>;

  std::size_t block_index(std::size_t stage, std::size_t chunk, Pass pass) const {
    return (stage * num_chunks_ + chunk) * kNumPasses + static_cast<std::size_t>(pass);
  }

  void run(const std::vector<ScheduledBlock>& part) {
    for (const ScheduledBlock& scheduled : part) {
      Block& block = blocks_[block_index(scheduled.stage, scheduled.chunk, scheduled.pass)];
      Ticks& stage = stages_[scheduled.stage];
      block.ready = stage + block.recompute;
      if (scheduled.pass == Pass::Weight) {
        stage = block.end = block.ready + block.time;
        continue;
      }
      Clocks& clocks = scheduled.pass == Pass::Forward ? forward_ : backward_;
      Ticks& micro_batch = clocks[static_cast<std::size_t>(scheduled.micro_batch)];
      stage = block.end = std::max(block.ready, micro_batch) + block.time;
      micro_batch = block.end + block.latency;
    }
  }

  /// Drops the clocks of the first micro-batches, which are done. New ones start at 0.
  static void move_window(Clocks& clocks, std::int64_t count) {
    if (count == 0) return;
    const auto dropped = static_cast<std::ptrdiff_t>(std::min<std::int64_t>(count, std::ssize(clocks)));
    std::fill(std::copy(clocks.begin() + dropped, clocks.end(), clocks.begin()), clocks.end(), 0);
  }

  void move_windows(const PassNumbers& count) {
    move_window(forward_, count.forward);
    move_window(backward_, count.backward);
  }

  /// Appends the clocks that a further repetition starts from.
  void copy_state(const ScheduleSection& section, Clocks& state) const {
    state.assign(stages_.begin(), stages_.end());
    state.insert(state.end(), forward_.begin(), forward_.begin() + section.under_way.forward);
    state.insert(state.end(), backward_.begin(), backward_.begin() + section.under_way.backward);
  }

  /// Whether the clocks are those of `state` but for one constant.
  bool is_shifted(const ScheduleSection& section, const Clocks& state) const {
    const Ticks moved = stages_.front() - state.front();
    const auto same = [moved](Ticks now, Ticks before) { return now - before == moved; };
    const auto forward = state.begin() + std::ssize(stages_);
    const auto backward = forward + section.under_way.forward;
    return std::equal(stages_.begin(), stages_.end(), state.begin(), same) &&
           std::equal(forward, backward, forward_.begin(),
                      [&](Ticks before, Ticks now) { return same(now, before); }) &&
           std::equal(backward, state.end(), backward_.begin(),
                      [&](Ticks before, Ticks now) { return same(now, before); });
  }

  void shift(const ScheduleSection& section, Ticks moved) {
    for (Ticks& clock : stages_)
      clock += moved;
    for (std::int64_t i = 0; i < section.under_way.forward; ++i)
      forward_[static_cast<std::size_t>(i)] += moved;
    for (std::int64_t i = 0; i < section.under_way.backward; ++i)
      backward_[static_cast<std::size_t>(i)] += moved;
  }

  /// Finds the steady state as Brent's algorithm finds a cycle: the clocks are compared with those after
  /// 1, 2, 4, ... repetitions, until they come back.
  void run_section(const ScheduleSection& section) {
    Clocks before;
    std::int64_t before_done = 0;
    bool has_jumped = section.repeats < 4;
    for (std::int64_t done = 1; done <= section.repeats; ++done) {
      run(section.blocks);
      if (section.repeats == 1) return;
      move_windows(section.stride);
      if (has_jumped) continue;
      if (!before.empty() && is_shifted(section, before)) {
        // The last repetition is never jumped over, so that `ready` and `end` are those of the last blocks.
        const std::int64_t left = std::max<std::int64_t>(section.repeats - done - 1, 0);
        const std::int64_t rounds = left / (done - before_done);
        shift(section, rounds * (stages_.front() - before.front()));
        done += rounds * (done - before_done);
        has_jumped = true;
      } else if (done >= 2 * before_done) {
        copy_state(section, before);
        before_done = done;
      }
    }
  }

  std::size_t num_chunks_;
  std::vector<Block> blocks_;  ///< [stages][chunks][passes]
  Clocks stages_;
  Clocks forward_;   ///< of the micro-batches that the schedule counts, forward
  Clocks backward_;  ///< backward
};

/// When the last collective among the micro-batches of a chunk ended, or 0.
double last_collective(const Recurrence& recurrence, const ChunkTotals& totals, std::size_t stage,
                       std::size_t chunk, const TickScale& scale) {
  double latest = 0;
  const auto add = [&](const ChainTotals& chain, Ticks end) {
    if (chain.has_collective) {
      latest = std::max(latest, scale.nanoseconds(end - scale.ticks(chain.after_collective)));
    }
  };
  add(totals.forward, recurrence.block(stage, chunk, Pass::Forward).end);
  add(totals.recompute, recurrence.block(stage, chunk, Pass::Backward).ready);
  add(totals.backward, recurrence.block(stage, chunk, Pass::Backward).end);
  add(totals.weight, recurrence.block(stage, chunk, Pass::Weight).end);
  return latest;
}

/// An upper bound of all clocks, in ns: a pipeline of uniform stages, each as slow as the slowest, takes
/// about (micro-batches + stages) times all the blocks of one; twice that, for good measure.
double upper_bound(const IterationWork& work, const std::vector<ChunkTotals>& chunks,
                   const std::vector<OnceTotals>& once) {
  const std::size_t num_chunks = work.stages.front().chunks.size();
  double round = 0;
  for (std::size_t chunk = 0; chunk < num_chunks; ++chunk) {
    double slowest = 0;
    for (std::size_t stage = 0; stage < work.stages.size(); ++stage) {
      const ChunkTotals& totals = chunks[stage * num_chunks + chunk];
      const ChunkWork& sends = work.stages[stage].chunks[chunk];
      slowest = std::max(slowest, totals.forward.span + totals.recompute.span + totals.backward.span +
                                      totals.weight.span + sends.send_forward.latency.count() +
                                      sends.send_backward.latency.count());
    }
    round += slowest;
  }
  double end = 0;
  for (const OnceTotals& totals : once)
    end = std::max(end, totals.data_parallel.span + totals.optimizer.span);
  return 2 * (static_cast<double>(work.num_micro_batches + std::ssize(work.stages)) * round + end);
}

/// Sums of busy times, and the breakdown of the slowest stage, once the ends of all stages are known.
void add_sums(IterationTimes& times, const std::vector<ChunkTotals>& chunks,
              const std::vector<OnceTotals>& once, double num_micro_batches) {
  const std::size_t num_chunks = chunks.size() / once.size();
  const auto for_each_chain = [&](std::size_t stage, const auto& add) {
    for (std::size_t chunk = 0; chunk < num_chunks; ++chunk) {
      const ChunkTotals& totals = chunks[stage * num_chunks + chunk];
      for (const ChainTotals* chain : {&totals.forward, &totals.recompute, &totals.backward, &totals.weight})
        add(*chain, num_micro_batches);
    }
    add(once[stage].data_parallel, 1);
    add(once[stage].optimizer, 1);
  };
  for (std::size_t stage = 0; stage < once.size(); ++stage) {
    for_each_chain(stage, [&](const ChainTotals& chain, double repeats) {
      times.stages[stage].compute += Nanoseconds(repeats * chain.kernel_time);
      times.communication_sum += Nanoseconds(repeats * chain.collective_time);
    });
  }
  set_slowest(times);
  for_each_chain(
      static_cast<std::size_t>(times.slowest_stage), [&](const ChainTotals& chain, double repeats) {
        for (const auto part : {&Breakdown::compute, &Breakdown::tensor_comm, &Breakdown::pipeline_comm,
                                &Breakdown::data_comm, &Breakdown::optimizer}) {
          times.breakdown.*part += repeats * (chain.breakdown.*part);
        }
      });
  set_bubble(times);
}

}  // namespace

IterationTimes fast_iteration_times(const IterationWork& work) {
  const PipelineShape shape = pipeline_shape(work);
  const PipelineSchedule schedule = make_schedule(work.schedule, shape);
  const auto num_chunks = static_cast<std::size_t>(shape.num_chunks);
  std::vector<ChunkTotals> chunks;
  std::vector<OnceTotals> once;
  chunks.reserve(work.stages.size() * num_chunks);
  once.reserve(work.stages.size());
  for (const StageWork& stage : work.stages) {
    for (const ChunkWork& chunk : stage.chunks)
      chunks.push_back(total_chunk(chunk));
    once.push_back(total_once(stage));
  }
  const TickScale scale(upper_bound(work, chunks, once));
  const Recurrence recurrence(work, chunks, scale, schedule);

  IterationTimes times;
  times.stages.resize(work.stages.size());
  const double first_stage_done = scale.nanoseconds(recurrence.stage_clock(0));
  double all_done = 0;
  for (std::size_t stage = 0; stage < work.stages.size(); ++stage) {
    const ChainTotals& reduction = once[stage].data_parallel;
    double done = scale.nanoseconds(recurrence.stage_clock(stage));
    double collective = 0;
    for (std::size_t chunk = 0; chunk < num_chunks; ++chunk) {
      collective = std::max(
          collective, last_collective(recurrence, chunks[stage * num_chunks + chunk], stage, chunk, scale));
    }
    if (!work.stages[stage].data_parallel.empty()) {
      if (work.reduction_waits_for_first_stage) done = std::max(done, first_stage_done);
      done += reduction.span;
      if (reduction.has_collective) collective = done - reduction.after_collective;
    }
    times.stages[stage].end = Nanoseconds(done);
    times.communication_end = std::max(times.communication_end, Nanoseconds(collective));
    all_done = std::max(all_done, done);
  }
  for (std::size_t stage = 0; stage < work.stages.size(); ++stage) {
    const ChainTotals& optimizer = once[stage].optimizer;
    if (work.stages[stage].optimizer.empty()) continue;
    const double end = all_done + optimizer.span;
    times.stages[stage].end = Nanoseconds(end);
    if (optimizer.has_collective) {
      times.communication_end =
          std::max(times.communication_end, Nanoseconds(end - optimizer.after_collective));
    }
  }
  add_sums(times, chunks, once, static_cast<double>(work.num_micro_batches));
  return times;
}

}  // namespace vtrain
