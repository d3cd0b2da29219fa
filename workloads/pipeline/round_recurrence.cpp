#include "workloads/pipeline/round_recurrence.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace vtrain {

bool RoundRecurrence::can_run(Schedule schedule, const PipelineShape& shape) {
  if (shape.num_chunks > 1) return false;
  if (schedule == Schedule::ZeroBubble) return shape.num_micro_batches >= shape.num_stages;
  return schedule == Schedule::OneForwardOneBackward || schedule == Schedule::GPipe;
}

void RoundRecurrence::run(Schedule schedule, std::span<const BlockTimes> stages,
                          std::int64_t num_micro_batches) {
  load(schedule, stages, num_micro_batches);
  run_ahead(stages);
  if (schedule != Schedule::GPipe) {
    // All stages still have forward passes to do in these rounds.
    const std::int64_t num_full = num_micro_batches - (num_stages_ - 1);
    // Weight gradients of the last stage come last, in round stages - 1.
    const std::int64_t first_alike = schedule == Schedule::ZeroBubble ? num_stages_ : 0;
    if (!run_rounds(num_full, first_alike)) run_out(num_full);
  }
  finish(stages);
}

void RoundRecurrence::load(Schedule schedule, std::span<const BlockTimes> stages,
                           std::int64_t num_micro_batches) {
  schedule_ = schedule;
  num_stages_ = std::ssize(stages);
  num_micro_batches_ = num_micro_batches;
  const std::size_t size = stages.size();
  for (std::vector<double>* values :
       {&forward_, &forward_latency_, &level_, &pass_, &delayed_weight_, &last_round_})
    values->resize(size);
  weight_.assign(size, 0.0);
  anchor_arrivals_.resize(size + 1);
  uneven_stage_ = 0;
  if (stage_clocks_.size() < (size + 2) * size) stage_clocks_.resize((size + 2) * size);
  if (arrivals_.size() < 3 * (size + 1)) arrivals_.resize(3 * (size + 1));
  backward_ends_.resize(size);
  ends_.resize(size);
  double level = 0;
  for (std::size_t s = 0; s < size; ++s) {
    const BlockTimes& stage = stages[s];
    forward_[s] = stage.forward.count();
    forward_latency_[s] = stage.forward_latency.count();
    if (s > 0) level += stage.backward_latency.count();
    level_[s] = level;
    delayed_weight_[s] = schedule == Schedule::ZeroBubble ? stage.weight.count() : 0;
    pass_[s] = level + (stage.recompute + stage.backward).count();
    level += stage.backward.count();
  }
}

/// Forward passes that a stage does before its first backward pass, the one of its first round not counted.
std::int64_t RoundRecurrence::num_ahead(std::int64_t stage) const {
  if (schedule_ == Schedule::GPipe) return num_micro_batches_;
  return std::min(num_stages_ - 1 - stage, num_micro_batches_);
}

RoundRecurrence::Clocks RoundRecurrence::clocks_after(std::int64_t num_rounds) {
  return {.stage = stage_clocks_.data() + num_rounds % (num_stages_ + 2) * num_stages_,
          .arrival = arrivals_.data() + num_rounds % 3 * (num_stages_ + 1)};
}

void RoundRecurrence::run_ahead(std::span<const BlockTimes> stages) {
  const Clocks clocks = clocks_after(0);
  clocks.arrival[0] = 0;
  double path = 0;
  double slowest = 0;
  for (std::int64_t s = 0; s < num_stages_; ++s) {
    const auto index = static_cast<std::size_t>(s);
    const std::int64_t ahead = num_ahead(s);
    path += forward_[index];
    slowest = std::max(slowest, forward_[index]);
    clocks.stage[s] = ahead > 0 ? path + static_cast<double>(ahead - 1) * slowest : 0;
    last_round_[index] = clocks.stage[s] + (stages[index].recompute + stages[index].backward).count();
    path += forward_latency_[index];
    // The last one that is run ahead is the one of the first round of the next stage.
    clocks.arrival[s + 1] = path + static_cast<double>(ahead - 1) * slowest;
  }
}

/// Runs the rounds that all stages do; rounds from `first_alike` on are alike. True if the last round of
/// every stage then follows.
bool RoundRecurrence::run_rounds(std::int64_t num_full, std::int64_t first_alike) {
  std::int64_t phase = first_alike;  // since when clocks may move linearly
  std::int64_t next_check = phase + 2;
  std::int64_t anchor = phase + 2;
  for (std::int64_t done = 1; done <= num_full; ++done) {
    run_round(done - 1, 0);
    if (done >= next_check && moves_evenly(done)) {
      const std::int64_t rounds = linear_rounds(done);
      if (done + rounds >= num_micro_batches_) {
        end_linearly(done);
        return true;
      }
      if (const std::int64_t count = std::min(rounds, num_full - done); count > 1) {
        skip_rounds(done, count);
        done += count;
        phase = done;
        anchor = done + 2;
        next_check = done + 2;
      }
    }
    if (done > anchor && repeats_since(anchor, done)) {
      end_periodically(anchor, done - anchor);
      return true;
    }
    // Its clocks are about to be overwritten.
    if (done - anchor == num_stages_ + 1) anchor = done;
    if (done == anchor) {
      const Clocks clocks = clocks_after(done);
      std::copy(clocks.arrival, clocks.arrival + num_stages_ + 1, anchor_arrivals_.begin());
    }
  }
  return false;
}

void RoundRecurrence::run_round(std::int64_t round, std::int64_t first_stage) {
  const Clocks from = clocks_after(round);
  const Clocks to = clocks_after(round + 1);
  if (round < std::ssize(delayed_weight_)) {
    weight_[static_cast<std::size_t>(round)] = delayed_weight_[static_cast<std::size_t>(round)];
  }
  double pass_end = 0;  // and the level of its stage
  for (std::int64_t s = num_stages_ - 1; s >= first_stage; --s) {
    const auto index = static_cast<std::size_t>(s);
    const double forward = std::max(from.stage[s], from.arrival[s]) + forward_[index];
    to.arrival[s + 1] = forward + forward_latency_[index];
    pass_end = std::max(pass_end, forward + pass_[index]);
    to.stage[s] = pass_end - level_[index] + weight_[index];
  }
  to.arrival[0] = 0;
}

/// True if the last two rounds moved each stage by equal times: a cheap and necessary condition for more.
/// Other movements come from neighbours, so the last stage that moved unevenly is checked first.
bool RoundRecurrence::moves_evenly(std::int64_t done) {
  const double* const now = clocks_after(done).stage;
  const double* const before = clocks_after(done - 1).stage;
  const double* const earlier = clocks_after(done - 2).stage;
  for (const auto& [first, end] :
       {std::pair(uneven_stage_, num_stages_), std::pair(std::int64_t{0}, uneven_stage_)}) {
    for (std::int64_t s = first; s < end; ++s) {
      if (now[s] - before[s] == before[s] - earlier[s]) continue;
      uneven_stage_ = s;
      return false;
    }
  }
  return true;
}

/// Number of rounds after the last one in which all clocks move as in that one: as long as, of any two clocks
/// that a block waits for, the later one stays the later.
std::int64_t RoundRecurrence::linear_rounds(std::int64_t done) {
  const Clocks now = clocks_after(done);
  const Clocks before = clocks_after(done - 1);
  double rounds = static_cast<double>(std::numeric_limits<std::int32_t>::max());
  // A clock, and by how much it moves in a round.
  struct Moving {
    double clock;
    double step;
  };
  const auto later_of = [&rounds](Moving a, Moving b) {
    if (a.clock < b.clock || (a.clock == b.clock && a.step < b.step)) std::swap(a, b);
    if (b.step > a.step) rounds = std::min(rounds, std::floor((a.clock - b.clock) / (b.step - a.step)));
    return a;
  };
  Moving pass_end{0, 0};
  for (std::int64_t s = num_stages_ - 1; s >= 0; --s) {
    const auto index = static_cast<std::size_t>(s);
    const Moving stage{now.stage[s], now.stage[s] - before.stage[s]};
    Moving forward = later_of(stage, {now.arrival[s], now.arrival[s] - before.arrival[s]});
    forward.clock += forward_[index];
    pass_end = later_of(pass_end, {forward.clock + pass_[index], forward.step});
    if (pass_end.step != stage.step) return 0;
    if (pass_end.clock - level_[index] + weight_[index] != stage.clock + stage.step) return 0;
    if (s + 1 == num_stages_) continue;
    if (forward.step != now.arrival[s + 1] - before.arrival[s + 1]) return 0;
    if (forward.clock + forward_latency_[index] != now.arrival[s + 1] + forward.step) return 0;
  }
  return static_cast<std::int64_t>(rounds) + 1;
}

/// Sets the clocks to those after `count` more rounds that move them as the last one did.
void RoundRecurrence::skip_rounds(std::int64_t done, std::int64_t count) {
  const Clocks now = clocks_after(done);
  const Clocks before = clocks_after(done - 1);
  const Clocks after = clocks_after(done + count);
  const auto factor = static_cast<double>(count);
  for (std::int64_t s = 0; s < num_stages_; ++s) {
    after.stage[s] = now.stage[s] + factor * (now.stage[s] - before.stage[s]);
    after.arrival[s] = now.arrival[s] + factor * (now.arrival[s] - before.arrival[s]);
  }
}

/// True if the clocks equal those after `anchor` rounds plus one constant.
bool RoundRecurrence::repeats_since(std::int64_t anchor, std::int64_t done) {
  const Clocks now = clocks_after(done);
  const Clocks then = clocks_after(anchor);
  const double moved = now.stage[num_stages_ - 1] - then.stage[num_stages_ - 1];
  for (std::int64_t s = 0; s < num_stages_; ++s) {
    if (now.stage[s] - then.stage[s] != moved) return false;
    if (s > 0 && now.arrival[s] - anchor_arrivals_[static_cast<std::size_t>(s)] != moved) return false;
  }
  return true;
}

/// Moves every clock as in the last round. Stage s does its last round s rounds after stage 0.
void RoundRecurrence::end_linearly(std::int64_t done) {
  const Clocks now = clocks_after(done);
  const Clocks before = clocks_after(done - 1);
  std::int64_t left = num_micro_batches_ - (num_stages_ - 1) - done;
  for (std::int64_t s = 0; s < num_stages_; ++s, ++left) {
    const auto index = static_cast<std::size_t>(s);
    last_round_[index] =
        now.stage[s] + static_cast<double>(left) * (now.stage[s] - before.stage[s]) - weight_[index];
  }
}

/// The rounds from `start` on repeat: the last round of a stage is at some place in the period, some periods
/// later.
void RoundRecurrence::end_periodically(std::int64_t start, std::int64_t period) {
  const std::int64_t left = num_micro_batches_ - (num_stages_ - 1) - start;
  std::int64_t place = left % period;
  std::int64_t num_periods = left / period;
  const double moved = clocks_after(start + period).stage[0] - clocks_after(start).stage[0];
  for (std::int64_t s = 0; s < num_stages_; ++s) {
    const auto index = static_cast<std::size_t>(s);
    last_round_[index] =
        clocks_after(start + place).stage[s] + static_cast<double>(num_periods) * moved - weight_[index];
    if (++place == period) {
      place = 0;
      ++num_periods;
    }
  }
}

/// Runs the rounds in which the first stages have no forward passes left.
void RoundRecurrence::run_out(std::int64_t num_full) {
  for (std::int64_t done = std::max<std::int64_t>(num_full, 1); done <= num_micro_batches_; ++done) {
    const std::int64_t stage = done - num_full;  // that does its last round
    if (stage > 0) run_round(done - 1, stage);
    const auto index = static_cast<std::size_t>(stage);
    last_round_[index] = clocks_after(done).stage[stage] - weight_[index];
  }
}

/// The last backward pass of stage s ends with the longest path to it: from the last round of some stage
/// t >= s down to s, all backward passes that t has left on the slowest stage on the way.
void RoundRecurrence::finish(std::span<const BlockTimes> stages) {
  const auto pass = [stages](std::int64_t s) {
    const BlockTimes& stage = stages[static_cast<std::size_t>(s)];
    return (stage.weight + stage.recompute + stage.backward).count();
  };
  const auto passes_left = [this](std::int64_t s) {
    return static_cast<double>(std::min(num_ahead(s), num_micro_batches_ - 1));
  };
  double end = 0;
  for (std::int64_t s = num_stages_ - 1; s >= 0; --s) {
    const auto index = static_cast<std::size_t>(s);
    const bool is_last = s == num_stages_ - 1;
    if (is_last || pass(s) <= pass(s + 1)) {
      const double alone = last_round_[index] + passes_left(s) * pass(s);
      end = is_last ? alone : std::max(end + level_[index + 1] - level_[index], alone);
    } else {
      // Paths from above may stay longer here than on the stages that they have come through.
      double slowest = 0;
      for (std::size_t t = index; t < stages.size(); ++t) {
        const auto above = static_cast<std::int64_t>(t);
        slowest = std::max(slowest, pass(above));
        end = std::max(end, last_round_[t] + passes_left(above) * slowest + level_[t] - level_[index]);
      }
    }
    backward_ends_[index] = Nanoseconds(end);
    // The weight gradients of the last micro-batch, and those that were put off until after it.
    const double weights_left = schedule_ == Schedule::ZeroBubble ? static_cast<double>(s + 1) : 0;
    ends_[index] = Nanoseconds(end) + weights_left * stages[index].weight;
  }
}

}  // namespace vtrain
