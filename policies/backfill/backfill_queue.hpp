/// Waiting jobs in the orders of the backfilling policies, searchable by gang size and time limit together.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "policies/fcfs/waiting_queue.hpp"
#include "policies/list/ordered_jobs.hpp"
#include "sched/simulation/policy.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Largest needs of a job that may be backfilled.
struct BackfillLimits {
  GpuCount num_gpus{0};
  SimDuration time_limit = SimDuration::max();
};

/// A waiting job in the queues.
struct QueuedJob {
  JobId id;
  GpuCount num_gpus{0};
  SimDuration time_limit{0};  ///< longest run time; must not change while it waits
  GpuTypeId gpu_type{};       ///< type that it requests, see `Job`
  std::int16_t gpu_share = kWholeGpu;

  /// Time for which the job books GPUs; above 0, so that every booking has an effect.
  SimDuration booked_time() const { return std::max(time_limit, SimDuration(1)); }
};

/// The queues' entry of a job of a pass that waits or ends now.
inline QueuedJob queued_job(const SchedulingPass& pass, JobId id) {
  const Job& job = pass.job(id);
  return {id, job.num_gpus, pass.planned_time(id), job.gpu_type, job.gpu_share};
}

/// Waiting jobs in the order of their ids, which is that of their arrival. Jobs are queued in that order,
/// except those that had started and wait again.
///
/// There is one `WaitingQueue` for each power of two of the gang size. Overload leaves small long jobs and
/// large short ones; in a single queue they would seem to fit in every stretch and fit nowhere.
class ArrivalOrderQueue {
 public:
  void push(const QueuedJob& job);
  /// Removes a waiting job. O(log n).
  void remove(const QueuedJob& job);
  /// The first job of the queue, if any.
  std::optional<QueuedJob> front() const { return first_fitting({GpuCount(INT32_MAX)}); }
  /// The first job within the limits, if any. O(log n) when gang sizes are powers of two.
  std::optional<QueuedJob> first_fitting(const BackfillLimits& limits) const;
  /// True if `a` comes before `b`.
  static bool before(const QueuedJob& a, const QueuedJob& b) { return a.id < b.id; }

 private:
  static constexpr std::size_t kSizeClasses = 32;
  static std::size_t size_class(GpuCount num_gpus);

  std::array<WaitingQueue, kSizeClasses> classes_;  ///< [floor(log2(num_gpus))]
};

/// Waiting jobs in the order of their time limits; equal ones in the order of their ids.
class TimeLimitOrderQueue {
 public:
  void push(const QueuedJob& job) { jobs_.insert(listed(job)); }
  /// Removes a waiting job. O(sqrt n) in practice.
  void remove(const QueuedJob& job) { jobs_.erase(listed(job)); }
  /// The first job of the queue, if any.
  std::optional<QueuedJob> front() const { return first_fitting({GpuCount(INT32_MAX)}); }
  /// The first job within the limits, if any. O(sqrt n) in practice.
  std::optional<QueuedJob> first_fitting(const BackfillLimits& limits) const;
  /// True if `a` comes before `b`.
  static bool before(const QueuedJob& a, const QueuedJob& b) { return listed(a) < listed(b); }

 private:
  static ListedJob listed(const QueuedJob& job) {
    return {.key = {.primary = job.time_limit.count()},
            .stamp = job.id.value,
            .job = job.id,
            .num_gpus = job.num_gpus};
  }

  OrderedJobs jobs_;
};

/// One queue for each kind of request: a type and a share of each GPU. If placement refuses a gang, no larger
/// one of that kind fits; gangs of other kinds may fit.
template <class Queue>
class QueuesByKind {
 public:
  void push(const QueuedJob& job) { of(job).queue.push(job); }
  /// Removes a waiting job.
  void remove(const QueuedJob& job) { of(job).queue.remove(job); }
  /// The first job of all queues, if any.
  std::optional<QueuedJob> front() const {
    return first([](const Entry& entry, GpuTypeId) { return entry.queue.front(); });
  }
  /// The first job, if any, within the `BackfillLimits` that `limits_of(requested type)` returns, and smaller
  /// than the refused ones of its kind.
  template <class LimitsOf>
  std::optional<QueuedJob> first_fitting(LimitsOf limits_of) const {
    return first([&](const Entry& entry, GpuTypeId type) {
      BackfillLimits limits = limits_of(type);
      limits.num_gpus = std::min(limits.num_gpus, entry.smaller_than - GpuCount(1));
      return entry.queue.first_fitting(limits);
    });
  }
  /// The first job, if any, of those that request a wanted type, and smaller than the refused ones of its
  /// kind.
  template <class IsWanted>
  std::optional<QueuedJob> first_of(IsWanted is_wanted) const {
    return first_fitting(
        [&](GpuTypeId type) { return BackfillLimits{is_wanted(type) ? kAnyNumber : GpuCount(0)}; });
  }
  /// Records that placement has no room for a job.
  void refuse(const QueuedJob& job) { of(job).smaller_than = job.num_gpus; }
  /// Records that GPUs have become free.
  void forget_refusals() {
    for (auto& [kind, entry] : entries_)
      entry.smaller_than = kAnyNumber;
  }
  /// True if `a` comes before `b`.
  static bool before(const QueuedJob& a, const QueuedJob& b) { return Queue::before(a, b); }

 private:
  static constexpr GpuCount kAnyNumber{INT32_MAX};

  struct Entry {
    Queue queue;
    GpuCount smaller_than = kAnyNumber;
  };

  Entry& of(const QueuedJob& job) { return entries_[{job.gpu_type, job.gpu_share}]; }

  template <class FirstOf>
  std::optional<QueuedJob> first(FirstOf first_of) const {
    std::optional<QueuedJob> first;
    for (const auto& [kind, entry] : entries_) {
      std::optional<QueuedJob> here = first_of(entry, kind.first);
      if (!here || (first && before(*first, *here))) continue;
      std::tie(here->gpu_type, here->gpu_share) = kind;
      first = here;
    }
    return first;
  }

  std::map<std::pair<GpuTypeId, std::int16_t>, Entry> entries_;  ///< entry by type and share
};

}  // namespace vtrain
