/// Order in which the runs of a sweep are done, by those who ask for work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/sweep/grid.hpp"
#include "tools/sweep/result_store.hpp"

namespace vtrain {

/// Hands out runs in batches, the largest first by their estimated time. Runs of one scenario stay together.
/// Batches get smaller towards the end. One scenario of every combination comes first: it shows what its
/// combination costs, and whether its options can be used at all. For one thread.
class HandOut {
 public:
  /// Most runs of a batch.
  static constexpr std::size_t kMostInBatch = 256;

  /// `finished` is true for runs, by their number, that are done. `workers` share the rest.
  HandOut(const Grid& grid, const std::vector<bool>& finished, const Shard& shard, std::size_t workers);

  /// Numbers of the next runs. Empty: nothing is left.
  std::vector<std::int64_t> next();
  /// Takes in the time of a finished run, with that of preparing its scenario if it did so.
  void learn(std::int64_t run, double seconds);

  /// Number of runs at the beginning.
  std::int64_t num_runs() const { return num_runs_; }
  /// True for a run of the first scenario of its combination that was handed out.
  bool is_pilot(std::int64_t run) const;
  /// Estimated seconds of one worker for a run, from the runs before it; 0 before the first.
  double estimate_s(std::int64_t run) const;
  /// Estimated seconds of one worker for all runs that have not been handed out.
  double remaining_s() const;

 private:
  struct Variant {
    std::int64_t first_scenario = -1;  ///< first scenario that was handed out
    std::size_t next_seed = 0;         ///< seeds before it have been handed out
    std::int64_t runs_left = 0;        ///< runs that have not been handed out
    double guess = 1;                  ///< cost before any run of it, in any unit
    double seconds = 0;                ///< time of finished runs
    double weights = 0;                ///< sum of the policies' weights of these
  };

  double weight(std::size_t policy) const;
  /// Mean seconds of a run of a combination under a policy of mean weight.
  double scale(const Variant& variant) const;
  /// Orders the combinations by what is known now: those with the largest runs first.
  void sort();
  /// `remaining_s`, or nearly so.
  double estimated_rest_s();
  /// The next scenario's runs that are not done, the largest first. Empty: nothing is left.
  std::vector<std::int64_t> next_scenario();

  const Grid& grid_;
  const std::vector<bool>& finished_;
  Shard shard_;
  std::size_t workers_;
  std::int64_t num_runs_ = 0;
  std::vector<Variant> variants_;
  std::vector<std::size_t> order_;       ///< combinations, the largest first
  std::size_t next_in_order_ = 0;        ///< combinations before it in `order_` have nothing left
  std::size_t next_pilot_ = 0;           ///< position in `order_`, while pilots are handed out
  std::vector<std::int64_t> left_over_;  ///< runs of a scenario that is handed out in parts, next one last
  std::vector<double> policy_seconds_;
  std::vector<std::int64_t> policy_runs_;
  double seconds_ = 0;        ///< time of all finished runs
  double guesses_ = 0;        ///< sum of the guesses of their combinations
  std::int64_t learned_ = 0;  ///< finished runs
  double rest_s_ = 0;         ///< estimate of `remaining_s`
  std::size_t calls_since_estimate_ = 0;
  std::int64_t sorted_after_ = 0;  ///< finished runs when the order was made
};

}  // namespace vtrain
