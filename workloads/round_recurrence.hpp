/// 1F1B and ZB-H1 without a list of blocks: all stages do rounds of one forward and one backward pass.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/units.hpp"
#include "workloads/block_times.hpp"

namespace vtrain {

/// When the stages of a pipeline under `one_forward_one_backward` or `zero_bubble_h1` are done.
///
/// Round i is backward pass i of every stage, and the forward pass before it. Three parts:
///  * before the rounds, stage s runs stages - 1 - s forward passes ahead. Deterministic servers in tandem:
///    pass j of stage s ends at (all forward passes and latencies up to s) + j x (the slowest of them);
///  * a round is a max-plus linear map of the clocks of all stages. Once it moves all of them by the same
///    time as a number of rounds before, so do all further ones. What a stage does until its last forward
///    pass does not depend on other stages having run out of theirs;
///  * then stage s has stages - 1 - s backward passes left: servers in tandem again, seen from the end.
class RoundRecurrence {
 public:
  /// `stages` are on a grid on which all sums are exact. `ends` gets the end of every stage's last block.
  /// With `delays_weights`, stage s does the weight gradients s rounds later, and after the last round (else
  /// there must be none), and there must be at least as many micro-batches as stages.
  void run(std::span<const BlockTimes> stages, std::int64_t num_micro_batches, bool delays_weights,
           std::span<Nanoseconds> ends);

 private:
  /// Clocks of all stages, then when the next micro-batch arrives at each stage and beyond the last one.
  struct Clocks {
    double* stage;
    double* arrival;
  };
  /// A steady state: the clocks after `start` rounds and after `start + period` differ by `moved`.
  struct SteadyState {
    std::int64_t start = 0;
    std::int64_t period = 0;  ///< 0: none was found
    double moved = 0;
  };

  Clocks clocks_after(std::int64_t num_rounds);
  void run_ahead();
  void run_round(std::int64_t round, std::int64_t first_stage);
  bool moves_all(const Clocks& from, const Clocks& to, double& moved) const;
  SteadyState find_steady_state(std::int64_t num_rounds, std::int64_t first);
  void continue_steadily(const SteadyState& steady);
  void run_out();
  void finish(std::span<Nanoseconds> ends) const;

  std::span<const BlockTimes> stages_;
  std::int64_t num_stages_ = 0;
  std::int64_t num_micro_batches_ = 0;
  bool delays_weights_ = false;
  std::vector<double> clocks_;  ///< after the last stages + 2 rounds: [stages + 2][2 x stages + 1]
  std::vector<double> weight_;  ///< what follows the backward pass in the current round, [stages]
  /// When each stage has done its last round or, without one, its first backward pass if it did not have to
  /// wait; weights not counted.
  std::vector<double> last_round_;
};

}  // namespace vtrain
