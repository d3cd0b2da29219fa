/// A first-in-first-out queue of waiting jobs that finds the next job which fits without looking at those
/// that do not.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"

namespace vtrain {

/// Jobs in the order in which they were queued, under a tournament tree that holds, for every stretch of the
/// queue, the smallest gang and the shortest time limit in it. Memory is proportional to the largest number
/// of jobs that waited since the queue was last re-packed, which happens when it runs out of room.
class WaitingQueue {
 public:
  /// A place in the queue. Valid until the next `push_back`; removing jobs moves nothing.
  using Position = std::uint32_t;
  /// No limit on the time limit.
  static constexpr SimDuration kAnyTimeLimit = SimDuration::max();

  /// Queues a job behind all others. Amortised O(log n). `num_gpus` is at least 1.
  void push_back(JobId job, GpuCount num_gpus, SimDuration time_limit = SimDuration{0});
  /// Queues a job in the place of its id, in a queue whose other jobs are in the order of theirs. O(log n) if
  /// it comes last or its former place is still there, else O(n). Positions become invalid.
  void insert(JobId job, GpuCount num_gpus, SimDuration time_limit = SimDuration{0});
  /// Takes the job at a position out. O(log n).
  void remove(Position position);
  /// The first position at or after `from` whose job needs at most `max_gpus` and has at most
  /// `max_time_limit`. O(log n) when only one of the limits binds; otherwise stretches that hold a small gang
  /// and a short job, but no small and short one, cost a look each.
  std::optional<Position> first_fitting(Position from, GpuCount max_gpus,
                                        SimDuration max_time_limit = kAnyTimeLimit) const;
  /// The position of a job, if it waits here. Only for queues whose jobs were queued in the order of their
  /// ids. O(log n).
  std::optional<Position> find(JobId job) const;
  /// The job at a position that is taken.
  JobId job(Position position) const { return jobs_[position]; }
  /// What the job there was queued with.
  GpuCount num_gpus(Position position) const { return GpuCount(tree_[capacity_ + position].num_gpus); }
  SimDuration time_limit(Position position) const { return tree_[capacity_ + position].time_limit; }
  std::size_t size() const { return num_jobs_; }

 private:
  /// The minima over a stretch; those of an empty place fit nothing.
  struct Minima {
    std::int32_t num_gpus = kNoJob;
    SimDuration time_limit = SimDuration::max();
  };
  static constexpr std::int32_t kNoJob = INT32_MAX;

  bool taken(Position position) const { return tree_[capacity_ + position].num_gpus != kNoJob; }
  void set_leaf(Position position, Minima value);
  /// Moves all jobs to the front of a tree with room.
  void repack() { repack_with(JobId(), Minima()); }
  /// The same with another job in the place of its id, unless it is none.
  void repack_with(JobId extra, Minima minima);

  Position capacity_ = 0;  ///< places, a power of two (or 0 at first)
  Position head_ = 0;      ///< no job waits before it
  Position tail_ = 0;      ///< the next place to fill
  std::size_t num_jobs_ = 0;
  std::vector<JobId> jobs_;   ///< [capacity]
  std::vector<Minima> tree_;  ///< [2 * capacity]: node i has children 2i and 2i + 1, leaves begin at capacity
};

}  // namespace vtrain
