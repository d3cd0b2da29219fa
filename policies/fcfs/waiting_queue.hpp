/// A first-in-first-out queue of waiting jobs. It finds the next fitting job without visiting jobs that do
/// not fit.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"

namespace vtrain {

/// Jobs in the order in which they were queued. A tournament tree over them holds the smallest gang and the
/// shortest time limit of every stretch of the queue. Memory is proportional to the largest number of jobs
/// that waited since the queue was last re-packed, which happens when it runs out of room.
class WaitingQueue {
 public:
  /// A place in the queue. Valid until the next `push_back` or `insert`; removing jobs moves nothing.
  using Position = std::uint32_t;
  /// Value without effect as a limit on time limits.
  static constexpr SimDuration kAnyTimeLimit = SimDuration::max();

  /// Queues a job after all others. Amortised O(log n). `num_gpus` is at least 1.
  void push_back(JobId job, GpuCount num_gpus, SimDuration time_limit = SimDuration{0});
  /// Queues a job in the place of its id, in a queue ordered by id. O(log n) if it comes last or its former
  /// place still exists, else O(n). Positions become invalid.
  void insert(JobId job, GpuCount num_gpus, SimDuration time_limit = SimDuration{0});
  /// Removes the job at a position. O(log n).
  void remove(Position position);
  /// First position at or after `from` whose job needs at most `max_gpus` and has at most `max_time_limit`.
  /// O(log n) if only one of the limits binds. Otherwise each stretch with a small gang and a short job, but
  /// no job that is both, costs one more visit.
  std::optional<Position> first_fitting(Position from, GpuCount max_gpus,
                                        SimDuration max_time_limit = kAnyTimeLimit) const;
  /// Position of a job, if it waits here. Only for queues ordered by id. O(log n).
  std::optional<Position> find(JobId job) const;
  /// Job at an occupied position.
  JobId job(Position position) const { return jobs_[position]; }
  /// Values with which the job there was queued.
  GpuCount num_gpus(Position position) const { return GpuCount(tree_[capacity_ + position].num_gpus); }
  SimDuration time_limit(Position position) const { return tree_[capacity_ + position].time_limit; }
  std::size_t size() const { return num_jobs_; }

 private:
  /// Minima over a stretch; those of an empty place fit nothing.
  struct Minima {
    std::int32_t num_gpus = kNoJob;
    SimDuration time_limit = SimDuration::max();
  };
  static constexpr std::int32_t kNoJob = INT32_MAX;

  bool taken(Position position) const { return tree_[capacity_ + position].num_gpus != kNoJob; }
  void set_leaf(Position position, Minima value);
  /// Moves all jobs to the front of a tree with room.
  void repack() { repack_with(JobId(), Minima()); }
  /// Moves all jobs, and another one (unless none) in the place of its id.
  void repack_with(JobId extra, Minima minima);

  Position capacity_ = 0;  ///< number of places, a power of two (or 0 at first)
  Position head_ = 0;      ///< no job waits before this position
  Position tail_ = 0;      ///< next position to fill
  std::size_t num_jobs_ = 0;
  std::vector<JobId> jobs_;   ///< [capacity]
  std::vector<Minima> tree_;  ///< [2 * capacity]: node i has children 2i and 2i + 1, leaves begin at capacity
};

}  // namespace vtrain
