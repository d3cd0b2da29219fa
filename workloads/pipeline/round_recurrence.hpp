/// Times of schedules without virtual stages, computed without a list of blocks: all stages do rounds of one
/// forward and one backward pass.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/units.hpp"
#include "workloads/pipeline/block_times.hpp"
#include "workloads/pipeline/schedule.hpp"

namespace vtrain {

/// Ends of the stages of a pipeline under 1F1B, ZB-H1 or GPipe.
///
/// Round i is backward pass i of every stage, and the forward pass before it. Three parts:
///  * before the rounds, stage s runs stages - 1 - s forward passes ahead (GPipe: all, without rounds).
///    Deterministic servers in tandem: pass j of stage s ends at (all forward passes and latencies up to s) +
///    j x (the slowest of these passes);
///  * a round is a max-plus linear map of the clocks of all stages. While the same clocks are the maxima,
///    each clock moves by a constant time per round: these rounds are one multiplication. Once all clocks
///    equal those of some rounds before plus one constant, all further rounds repeat. The work of a stage
///    until its last forward pass does not depend on whether other stages have forward passes left;
///  * then stage s has stages - 1 - s backward passes left: servers in tandem again, seen from the end.
class RoundRecurrence {
 public:
  /// True if it can time the schedule: ZB-H1 only with at least as many micro-batches as stages.
  /// `BlockRecurrence` times the rest, and so every other schedule.
  static bool can_run(Schedule schedule, const PipelineShape& shape);

  /// `stages` are on a grid on which all sums are exact; weight gradients are 0 unless the schedule splits
  /// the backward pass.
  void run(Schedule schedule, std::span<const BlockTimes> stages, std::int64_t num_micro_batches);

  /// End of each stage's last backward pass, [stages].
  std::span<const Nanoseconds> backward_ends() const { return backward_ends_; }
  /// End of each stage's last block, [stages].
  std::span<const Nanoseconds> ends() const { return ends_; }

 private:
  /// Clocks of all stages, and arrival times of the next micro-batch at each stage and after the last one.
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
  std::vector<double> weight_;          ///< weight gradients in the current round
  /// End of each stage's last round, without weight gradients. If there is no round: of its first backward
  /// pass, without waits.
  std::vector<double> last_round_;
  std::vector<Nanoseconds> backward_ends_;
  std::vector<Nanoseconds> ends_;

  std::vector<double> stage_clocks_;     ///< after each of the last stages + 2 rounds, [stages + 2][stages]
  std::vector<double> arrivals_;         ///< after each of the last three rounds, [3][stages + 1]
  std::vector<double> anchor_arrivals_;  ///< arrivals after an earlier round
  std::int64_t uneven_stage_ = 0;
};

}  // namespace vtrain
