/// Waiting jobs in the orders that the backfilling policies use, searchable by gang size and wall time
/// together.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "policies/waiting_queue.hpp"
#include "workloads/job.hpp"

namespace vtrain {

/// Whether a job takes whole GPUs of any type, so that no larger gang fits where placement refuses it.
inline bool asks_for_any_gpus(const Job& job) {
  return !job.gpu_type && job.gpu_share == Job{}.gpu_share;
}

/// What a job may need at most to be backfilled.
struct BackfillLimits {
  GpuCount num_gpus{0};
  SimDuration walltime = SimDuration::max();
};

/// A waiting job as the queues know it.
struct QueuedJob {
  JobId id;
  GpuCount num_gpus{0};
  SimDuration walltime{0};  ///< the longest that it runs; must not change while it waits
};

/// Waiting jobs in the order of their ids, which is that of their arrival. Jobs are queued in that order, but
/// for those that had started and wait again.
///
/// There is one `WaitingQueue` for each power of two of the gang size: were all sizes in one, the jobs that
/// overload leaves behind (small and long beside large and short) would look like a fit in every stretch and
/// fit nowhere.
class ArrivalOrderQueue {
 public:
  void push(const QueuedJob& job);
  /// Takes a waiting job out. O(log n).
  void remove(const QueuedJob& job);
  /// The first job of the queue, if any.
  std::optional<JobId> front() const { return first_fitting({GpuCount(INT32_MAX)}); }
  /// The first job within the limits, if any. O(log n) when gang sizes are powers of two.
  std::optional<JobId> first_fitting(const BackfillLimits& limits) const;
  /// Whether `a` comes before `b`.
  static bool before(const QueuedJob& a, const QueuedJob& b) { return a.id < b.id; }

 private:
  static constexpr std::size_t kSizeClasses = 32;
  static std::size_t size_class(GpuCount num_gpus);

  std::array<WaitingQueue, kSizeClasses> classes_;  ///< [floor(log2(num_gpus))]
};

/// Waiting jobs in the order of their wall times, those of equal ones in the order of their ids.
class WalltimeOrderQueue {
 public:
  void push(const QueuedJob& job) { by_size_[job.num_gpus].insert({job.walltime, job.id}); }
  /// Takes a waiting job out. O(log n).
  void remove(const QueuedJob& job);
  /// The first job of the queue, if any.
  std::optional<JobId> front() const { return first_fitting({GpuCount(INT32_MAX)}); }
  /// The first job within the limits, if any. O(different gang sizes).
  std::optional<JobId> first_fitting(const BackfillLimits& limits) const;
  /// Whether `a` comes before `b`.
  static bool before(const QueuedJob& a, const QueuedJob& b) {
    return Key{a.walltime, a.id} < Key{b.walltime, b.id};
  }

 private:
  using Key = std::pair<SimDuration, JobId>;

  std::map<GpuCount, std::set<Key>> by_size_;  ///< no set is empty
};

}  // namespace vtrain
