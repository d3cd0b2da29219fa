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

/// What a job may need at most to be backfilled.
struct BackfillLimits {
  GpuCount num_gpus{0};
  SimDuration walltime = SimDuration::max();
};

/// Waiting jobs in the order of their ids, which is that of their arrival. Jobs must be queued in that order.
///
/// There is one `WaitingQueue` for each power of two of the gang size: were all sizes in one, the jobs that
/// overload leaves behind (small and long beside large and short) would look like a fit in every stretch and
/// fit nowhere.
class ArrivalOrderQueue {
 public:
  void push(JobId id, const Job& job);
  /// Takes a waiting job out. O(log n).
  void remove(JobId id, const Job& job);
  /// The first job of the queue, if any.
  std::optional<JobId> front() const { return first_fitting({GpuCount(INT32_MAX)}); }
  /// The first job within the limits, if any. O(log n) when gang sizes are powers of two.
  std::optional<JobId> first_fitting(const BackfillLimits& limits) const;
  /// Whether `a` comes before `b`.
  static bool before(JobId a, const Job&, JobId b, const Job&) { return a < b; }

 private:
  static constexpr std::size_t kSizeClasses = 32;
  static std::size_t size_class(GpuCount num_gpus);

  std::array<WaitingQueue, kSizeClasses> classes_;  ///< [floor(log2(num_gpus))]
};

/// Waiting jobs in the order of their wall times, those of equal ones in the order of their ids.
class WalltimeOrderQueue {
 public:
  void push(JobId id, const Job& job) { by_size_[job.num_gpus].insert({job.walltime(), id}); }
  /// Takes a waiting job out. O(log n).
  void remove(JobId id, const Job& job);
  /// The first job of the queue, if any.
  std::optional<JobId> front() const { return first_fitting({GpuCount(INT32_MAX)}); }
  /// The first job within the limits, if any. O(different gang sizes).
  std::optional<JobId> first_fitting(const BackfillLimits& limits) const;
  /// Whether `a` comes before `b`.
  static bool before(JobId id_a, const Job& a, JobId id_b, const Job& b) {
    return Key{a.walltime(), id_a} < Key{b.walltime(), id_b};
  }

 private:
  using Key = std::pair<SimDuration, JobId>;

  std::map<GpuCount, std::set<Key>> by_size_;  ///< no set is empty
};

}  // namespace vtrain
