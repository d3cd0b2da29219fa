/// Runs a sweep: hands out its runs to threads or ranks and keeps their results.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "policies/registry.hpp"
#include "tools/sweep/grid.hpp"
#include "tools/sweep/result_store.hpp"

namespace vtrain {

class Ranks;

/// Options of a sweep. Results do not depend on them.
struct SweepOptions {
  unsigned threads = 0;  ///< threads; 0: one per processor
  /// Policies by name; must outlive the sweep.
  const PolicyRegistry* registry = &PolicyRegistry::built_in();
  std::atomic<std::int64_t>* runs_done = nullptr;  ///< counter for progress displays; may be null
};

/// Result of a sweep.
struct SweepOutcome {
  std::int64_t done = 0;                ///< runs that were finished now, failed ones too
  std::int64_t failed = 0;              ///< runs of `done` that failed
  double replay_s = 0;                  ///< time of all replays, over all threads, seconds
  double wall_s = 0;                    ///< time from the first hand-out to the last result, seconds
  std::size_t workers = 1;              ///< threads or ranks that replayed
  std::vector<std::string> warnings{};  ///< warnings of the preparation of scenarios, each once
};

/// Replays the runs of a part of the grid that `finished` lacks (`ResultStore::finished`), on threads, and
/// adds them to `store`. Runs that fail are added with their error. Errors: options or files that no run can
/// use, found with the first scenario of their combination; an input file that changed; those of the store.
/// Runs that were finished before an error are committed.
Result<SweepOutcome> run_on_threads(const Grid& grid, const Shard& shard, const std::vector<bool>& finished,
                                    ResultStore& store, const SweepOptions& options = {});

/// Does on the other ranks what `run_on_threads` does on threads, for rank 0. Afterwards they wait until
/// `dismiss_ranks`.
Result<SweepOutcome> run_on_ranks(const Grid& grid, const Shard& shard, const std::vector<bool>& finished,
                                  ResultStore& store, Ranks& ranks, const SweepOptions& options = {});
/// Lets the other ranks end, for rank 0.
void dismiss_ranks(Ranks& ranks);
/// Replays what rank 0 hands out until it is dismissed, for the other ranks. If the spec could not be read
/// here, the first batch ends the sweep with this error.
void work_for_rank_0(const Result<const Grid*>& grid, Ranks& ranks, const SweepOptions& options = {});

/// Mean seconds of a run and of all runs that are left, from one scenario that is replayed for this alone.
struct SweepEstimate {
  double pilot_s = 0;  ///< time of the first scenario under all policies
  double total_s = 0;  ///< time of one worker for all runs that are left
};
/// Estimates a sweep by replaying the first scenario that is left. Errors: those of its runs.
Result<SweepEstimate> estimate_sweep(const Grid& grid, const Shard& shard, const std::vector<bool>& finished);

}  // namespace vtrain
