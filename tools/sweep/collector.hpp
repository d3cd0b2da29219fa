/// Receives the runs of a sweep, for the one writer of its results.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "core/base/result.hpp"
#include "tools/sweep/grid_replayer.hpp"
#include "tools/sweep/hand_out.hpp"
#include "tools/sweep/result_store.hpp"
#include "tools/sweep/sweep.hpp"

namespace vtrain {

/// Adds runs to the store, in transactions of up to half a second, and tells the hand-out what they cost.
class Collector {
 public:
  /// All must outlive it.
  Collector(const Grid& grid, ResultStore& store, const SweepOptions& options)
      : grid_(grid), store_(store), options_(options) {}

  /// Takes a run. `is_pilot`: its scenario was the first of its combination. Errors end the sweep.
  Result<void> take(const ReplayedRun& run, bool is_pilot);
  /// Commits if the last time is long ago.
  Result<void> commit_in_time();
  /// Commits all, also after an error, which is returned first.
  Result<SweepOutcome> finish(Result<void> so_far, std::size_t workers);

 private:
  const Grid& grid_;
  ResultStore& store_;
  const SweepOptions& options_;
  SweepOutcome outcome_{};
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point committed_ = start_;
};

}  // namespace vtrain
