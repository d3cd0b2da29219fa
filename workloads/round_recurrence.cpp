#include "workloads/round_recurrence.hpp"

#include <algorithm>

namespace vtrain {

void RoundRecurrence::run(std::span<const BlockTimes> stages, std::int64_t num_micro_batches,
                          bool delays_weights, std::span<Nanoseconds> ends) {
  stages_ = stages;
  num_stages_ = std::ssize(stages);
  num_micro_batches_ = num_micro_batches;
  delays_weights_ = delays_weights;
  const std::size_t size = stages.size();
  if (clocks_.size() < (size + 2) * (2 * size + 1)) clocks_.resize((size + 2) * (2 * size + 1));
  weight_.assign(size, 0.0);
  last_round_.resize(size);

  run_ahead();
  // All stages still have forward passes to do in these rounds.
  const std::int64_t num_full = num_micro_batches - (num_stages_ - 1);
  const std::int64_t first_alike = delays_weights ? num_stages_ : 0;
  if (const SteadyState steady = find_steady_state(num_full, first_alike); steady.period > 0) {
    continue_steadily(steady);
  } else {
    run_out();
  }
  finish(ends);
}

RoundRecurrence::Clocks RoundRecurrence::clocks_after(std::int64_t num_rounds) {
  double* const row = clocks_.data() + num_rounds % (num_stages_ + 2) * (2 * num_stages_ + 1);
  return {.stage = row, .arrival = row + num_stages_};
}

void RoundRecurrence::run_ahead() {
  const Clocks clocks = clocks_after(0);
  clocks.arrival[0] = 0;
  double path = 0;
  double slowest = 0;
  for (std::int64_t s = 0; s < num_stages_; ++s) {
    const BlockTimes& stage = stages_[static_cast<std::size_t>(s)];
    const std::int64_t ahead = num_stages_ - 1 - s;
    const std::int64_t num_passes = std::min(ahead, num_micro_batches_);
    path += stage.forward.count();
    slowest = std::max(slowest, stage.forward.count());
    clocks.stage[s] = num_passes > 0 ? path + static_cast<double>(num_passes - 1) * slowest : 0;
    // Without any round, the first backward pass stands for the last one.
    last_round_[static_cast<std::size_t>(s)] = clocks.stage[s] + (stage.recompute + stage.backward).count();
    path += stage.forward_latency.count();
    clocks.arrival[s + 1] = path + static_cast<double>(ahead - 1) * slowest;
  }
}

void RoundRecurrence::run_round(std::int64_t round, std::int64_t first_stage) {
  const Clocks from = clocks_after(round);
  const Clocks to = clocks_after(round + 1);
  if (delays_weights_ && round < num_stages_) {
    weight_[static_cast<std::size_t>(round)] = stages_[static_cast<std::size_t>(round)].weight.count();
  }
  double gradient = 0;
  for (std::int64_t s = num_stages_ - 1; s >= first_stage; --s) {
    const BlockTimes& stage = stages_[static_cast<std::size_t>(s)];
    const double forward = std::max(from.stage[s], from.arrival[s]) + stage.forward.count();
    const double backward = std::max(forward + stage.recompute.count(), gradient) + stage.backward.count();
    to.arrival[s + 1] = forward + stage.forward_latency.count();
    gradient = backward + stage.backward_latency.count();
    to.stage[s] = backward + weight_[static_cast<std::size_t>(s)];
  }
  to.arrival[0] = 0;
}

bool RoundRecurrence::moves_all(const Clocks& from, const Clocks& to, double& moved) const {
  moved = to.stage[num_stages_ - 1] - from.stage[num_stages_ - 1];
  for (std::int64_t s = 0; s < num_stages_; ++s) {
    if (to.stage[s] - from.stage[s] != moved) return false;
    if (s > 0 && to.arrival[s] - from.arrival[s] != moved) return false;
  }
  return true;
}

/// Runs up to `num_rounds` rounds. From `first` on, they are alike. Looks one round back, and as far as to a
/// round that stays the same until it falls out of the memory: any period up to stages + 1 is found.
RoundRecurrence::SteadyState RoundRecurrence::find_steady_state(std::int64_t num_rounds, std::int64_t first) {
  SteadyState steady;
  std::int64_t anchor = first + 2;
  for (std::int64_t done = 1; done <= num_rounds; ++done) {
    run_round(done - 1, 0);
    if (done - anchor > num_stages_ + 1) anchor = done;
    for (const std::int64_t start : {done - 1, anchor}) {
      if (start < first || start >= done) continue;
      if (moves_all(clocks_after(start), clocks_after(done), steady.moved)) {
        steady.start = start;
        steady.period = done - start;
        return steady;
      }
    }
  }
  return steady;
}

void RoundRecurrence::continue_steadily(const SteadyState& steady) {
  // Stage s does its last round after `rounds`: some place in the period, some periods later.
  const std::int64_t rounds = num_micro_batches_ - (num_stages_ - 1);
  std::int64_t place = (rounds - steady.start) % steady.period;
  std::int64_t num_periods = (rounds - steady.start) / steady.period;
  for (std::int64_t s = 0; s < num_stages_; ++s) {
    const auto index = static_cast<std::size_t>(s);
    last_round_[index] = clocks_after(steady.start + place).stage[s] +
                         static_cast<double>(num_periods) * steady.moved - weight_[index];
    if (++place == steady.period) {
      place = 0;
      ++num_periods;
    }
  }
}

void RoundRecurrence::run_out() {
  // Stage 0 comes first to its last round, in which `last` is 0, if there are rounds at all stages.
  const std::int64_t full = num_micro_batches_ - (num_stages_ - 1);
  for (std::int64_t done = std::max<std::int64_t>(full, 1); done <= num_micro_batches_; ++done) {
    const std::int64_t last = done - full;
    if (last > 0) run_round(done - 1, last);
    const auto index = static_cast<std::size_t>(last);
    last_round_[index] = clocks_after(done).stage[last] - weight_[index];
  }
}

/// The last backward pass of stage s ends with the longest path to it: from the last round of some stage
/// t >= s down to s, all backward passes that t has left on the slowest stage on the way.
void RoundRecurrence::finish(std::span<Nanoseconds> ends) const {
  const auto pass = [this](std::int64_t s) {
    const BlockTimes& stage = stages_[static_cast<std::size_t>(s)];
    return (stage.weight + stage.recompute + stage.backward).count();
  };
  const auto passes_left = [this](std::int64_t s) {
    return static_cast<double>(std::min(num_stages_ - 1 - s, num_micro_batches_ - 1));
  };
  // From the end of a pass on stage s + 1 to the end of that on stage s.
  const auto down = [this](std::int64_t s) {
    const auto index = static_cast<std::size_t>(s);
    return (stages_[index + 1].backward_latency + stages_[index].backward).count();
  };
  double end = 0;
  for (std::int64_t s = num_stages_ - 1; s >= 0; --s) {
    const bool is_last = s == num_stages_ - 1;
    if (is_last || pass(s) <= pass(s + 1)) {
      const double alone = last_round_[static_cast<std::size_t>(s)] + passes_left(s) * pass(s);
      end = is_last ? alone : std::max(end + down(s), alone);
    } else {
      // Paths from above may stay longer here than on the stages that they have come through.
      double path = 0;
      double slowest = 0;
      for (std::int64_t t = s; t < num_stages_; ++t) {
        slowest = std::max(slowest, pass(t));
        end = std::max(end, last_round_[static_cast<std::size_t>(t)] + passes_left(t) * slowest + path);
        if (t + 1 < num_stages_) path += down(t);
      }
    }
    const double weights_left = delays_weights_ ? static_cast<double>(s + 1) : 0;
    ends[static_cast<std::size_t>(s)] =
        Nanoseconds(end) + weights_left * stages_[static_cast<std::size_t>(s)].weight;
  }
}

}  // namespace vtrain
