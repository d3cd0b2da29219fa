/// Schedules without virtual stages, without a list of blocks: all stages do rounds of one forward and one
/// backward pass.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/units.hpp"
#include "workloads/pipeline/block_times.hpp"
#include "workloads/pipeline/schedule.hpp"

namespace vtrain {

/// When the stages of a pipeline under 1F1B, ZB-H1 or GPipe are done.
///
/// Round i is backward pass i of every stage, and the forward pass before it. Three parts:
///  * before the rounds, stage s runs stages - 1 - s forward passes ahead (GPipe: all, and there are no
///    rounds). Deterministic servers in tandem: pass j of stage s ends at (all forward passes and latencies
///    up to s) + j x (the slowest of these passes);
///  * a round is a max-plus linear map of the clocks of all stages. As long as the same clocks win, each
///    clock moves by the same time in every round: these rounds are one multiplication. And once all clocks
///    are those of some rounds before but for one constant, all further rounds repeat. What a stage does
///    until its last forward pass does not depend on other stages having run out of theirs;
///  * then stage s has stages - 1 - s backward passes left: servers in tandem again, seen from the end.
class RoundRecurrence {
 public:
  /// What it can time: ZB-H1 only with at least as many micro-batches as stages. All else, and so every other
  /// schedule, is for `BlockRecurrence`.
  static bool can_run(Schedule schedule, const PipelineShape& shape);

  /// `stages` are on a grid on which all sums are exact; weight gradients are 0 unless the schedule splits
  /// the backward pass.
  void run(Schedule schedule, std::span<const BlockTimes> stages, std::int64_t num_micro_batches);

  /// When each stage has done its last backward pass, [stages].
  std::span<const Nanoseconds> backward_ends() const { return backward_ends_; }
  /// When each stage has done its last block, [stages].
  std::span<const Nanoseconds> ends() const { return ends_; }

 private:
  /// Clocks of all stages, and when the next micro-batch arrives at each stage and beyond the last one.
  struct Clocks {
    double* stage;
    double* arrival;
  };

  void load(Schedule schedule, std::span<const BlockTimes> stages, std::int64_t num_micro_batches);
  std::int64_t num_ahead(std::int64_t stage) const;
  Clocks clocks_after(std::int64_t num_rounds);
  void run_ahead(std::span<const BlockTimes> stages);
  bool run_rounds(std::int64_t num_full, std::int64_t first_alike);
  void run_round(std::int64_t round, std::int64_t first_stage);
  bool moves_evenly(std::int64_t done);
  std::int64_t linear_rounds(std::int64_t done);
  void skip_rounds(std::int64_t done, std::int64_t count);
  bool repeats_since(std::int64_t anchor, std::int64_t done);
  void end_linearly(std::int64_t done);
  void end_periodically(std::int64_t start, std::int64_t period);
  void run_out(std::int64_t num_full);
  void finish(std::span<const BlockTimes> stages);

  Schedule schedule_ = Schedule::OneForwardOneBackward;
  std::int64_t num_stages_ = 0;
  std::int64_t num_micro_batches_ = 0;
  // [stages]
  std::vector<double> forward_;
  std::vector<double> forward_latency_;
  std::vector<double> level_;  ///< backward passes and latencies of the stages before: turns sums into maxima
  std::vector<double> pass_;   ///< recomputation and backward pass, and `level_`
  std::vector<double> delayed_weight_;  ///< weight gradients, from round s on on stage s
  std::vector<double> weight_;          ///< those in the current round
  /// When each stage has done its last round or, without one, its first backward pass if it did not have to
  /// wait; weights not counted.
  std::vector<double> last_round_;
  std::vector<Nanoseconds> backward_ends_;
  std::vector<Nanoseconds> ends_;

  std::vector<double> stage_clocks_;     ///< after each of the last stages + 2 rounds, [stages + 2][stages]
  std::vector<double> arrivals_;         ///< after each of the last three rounds, [3][stages + 1]
  std::vector<double> anchor_arrivals_;  ///< after an earlier round
  std::int64_t uneven_stage_ = 0;
};

}  // namespace vtrain
