/// The GPUs that a policy hands out in one pass.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sched/placement/placement.hpp"
#include "sched/simulation/gpus_by_type.hpp"
#include "sched/simulation/policy.hpp"

namespace vtrain {

/// Counts GPUs by type if jobs request types or the policy chooses them, otherwise in one number. A job that
/// may use several types gets the first with enough free GPUs. Without such a type it gets the first on which
/// enough can be taken from running jobs; then placement may choose another type. A policy that chooses types
/// takes GPUs of its chosen type.
class GpuPool {
 public:
  /// GPUs by type if types make a difference to jobs, otherwise null.
  static const GpusByType* types(const SchedulingPass& pass) {
    const GpusByType* const by_type = pass.gpus_by_type();
    return by_type == nullptr || by_type->alike() ? nullptr : by_type;
  }
  /// Number of kinds of jobs.
  static std::size_t num_kinds(const SchedulingPass& pass);
  /// Kind of a job by the type that it requests, if any; 0 for all if types do not matter.
  static std::uint32_t kind_of(const SchedulingPass& pass, GpuTypeId asked) {
    return asked && pass.gpus_by_type() != nullptr ? asked.value + 1 : 0;
  }

  /// Begins a pass: all GPUs are left to hand out, and free. `chooses_types`: the policy does, so each gang
  /// has one type.
  void begin(const SchedulingPass& pass, bool chooses_types = false);
  /// True if GPUs are counted by type. Then `mark_held` must be called for the running jobs.
  bool has_types() const { return by_type_ != nullptr; }
  /// True if a gang may have GPUs of several types.
  bool splits_gangs() const { return has_types() && !chooses_types_ && by_type_->splits_gangs(); }
  /// True if the policy chooses the type of each gang.
  bool chooses_types() const { return has_types() && chooses_types_; }
  /// Types that jobs of a kind may use, ascending. Only if GPUs are counted by type.
  std::span<const std::uint32_t> allowed(std::uint32_t kind) const;
  /// GPUs of each type that are left to hand out, and those of them that no running job holds.
  std::span<const std::int64_t> left() const { return left_; }
  std::span<const std::int64_t> free() const { return free_; }
  /// Excludes GPUs that jobs keep under any decision of the pass. Must come first in a pass.
  void exclude(std::span<const NodeShare> gpus);
  /// Marks the GPUs of a running job as not free.
  void mark_held(JobId job);
  /// Leaves only free GPUs to hand out: all running jobs, whose GPUs are marked as held, keep them.
  void limit_to_free(const SchedulingPass& pass);

  /// Largest gang that a job of this kind can have of the GPUs left.
  GpuCount max_gang(std::uint32_t kind) const { return has_types() ? max_gang_by_type(kind) : most_.front(); }
  /// Largest gangs by kind. Valid until GPUs are taken.
  std::span<const GpuCount> max_gangs();

  /// Hands GPUs to a job, at most `max_gang` of its kind.
  void take(std::uint32_t kind, GpuCount num_gpus);
  /// Hands GPUs to a job, of the type that the policy has chosen, if any.
  void take(std::uint32_t kind, const Allocation& gpus);
  /// Lets a running job keep its GPUs. False, with nothing changed, if some of them have been handed out.
  bool try_keep(JobId job, GpuCount held) {
    return has_types() ? try_keep_by_type(job) : try_keep_count(held);
  }
  /// Lets several jobs, all or none, keep `held` GPUs in total; false if GPUs are counted by type.
  bool try_keep_count(GpuCount held) {
    if (has_types() || held > most_.front()) return false;
    most_.front() -= held;
    return true;
  }
  /// Marks the GPUs of a running job as free, as it does not keep them.
  void mark_free(JobId job) {
    if (has_types()) mark_free_by_type(job);
  }
  /// Returns the GPUs of a job that keeps them to those left.
  void release(JobId job, GpuCount held);

 private:
  GpuCount max_gang_by_type(std::uint32_t kind) const;
  bool try_keep_by_type(JobId job);
  void mark_free_by_type(JobId job);
  /// Hands out GPUs of one type.
  void take_gpus_of_type(std::uint32_t type, std::int64_t num_gpus);
  /// Adds `times` x the GPUs that a running job holds to numbers of GPUs by type.
  void add_held(JobId job, std::int64_t times, std::vector<std::int64_t>& gpus) const;

  const GpusByType* by_type_ = nullptr;
  bool chooses_types_ = false;
  std::vector<GpuCount> most_;      ///< largest gangs by kind; a single one if GPUs are not counted by type
  std::vector<std::int64_t> left_;  ///< [types]
  std::vector<std::int64_t> free_;  ///< [types], GPUs left that no running job holds
};

}  // namespace vtrain
