/// The GPUs that a policy hands out in one pass.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sched/placement/placement.hpp"
#include "sched/simulation/gpus_by_type.hpp"
#include "sched/simulation/policy.hpp"

namespace vtrain {

/// Counts GPUs by type where jobs ask for types, otherwise in one number. A job that may use several types is
/// taken to get the first of them on which enough is free, or else the first on which enough can be taken
/// from jobs that run; placement may choose another.
class GpuPool {
 public:
  /// How many kinds of jobs there are.
  static std::size_t num_kinds(const SchedulingPass& pass);
  /// The kind of a job by the type that it asks for, if any; 0 for all where types do not matter.
  static std::uint32_t kind_of(const SchedulingPass& pass, GpuTypeId asked) {
    return asked && pass.gpus_by_type() != nullptr ? asked.value + 1 : 0;
  }

  /// Begins a pass: all GPUs are left, and free.
  void begin(const SchedulingPass& pass);
  /// Whether jobs have to be told to `occupy` what they hold.
  bool types_matter() const { return by_type_ != nullptr; }
  /// Whether gangs may have GPUs of several types, so that a number is all that placement needs.
  bool splits_gangs() const { return types_matter() && by_type_->splits_gangs(); }
  /// GPUs that some jobs keep whatever the pass decides are not left. Comes before all else.
  void set_aside(std::span<const NodeShare> gpus);
  /// What a running job holds is not free.
  void occupy(JobId job);
  /// All running jobs, which occupy what they hold, keep it: what is free is left.
  void keep_all(const SchedulingPass& pass);

  /// The most GPUs of those left that a job can have together.
  GpuCount most(std::uint32_t kind) const { return types_matter() ? most_by_type(kind) : most_.front(); }
  /// The same for all kinds. Valid until something is taken.
  std::span<const GpuCount> most_by_kind();

  /// A job gets GPUs, no more than the most that it can have.
  void take(std::uint32_t kind, GpuCount num_gpus);
  /// A running job keeps the GPUs that it holds; false, with nothing changed, if others have been given of
  /// them.
  bool keep(JobId job, GpuCount held) {
    return types_matter() ? keep_by_type(job) : keep_in_one_number(held);
  }
  /// The same for several jobs, all or none, that hold so many GPUs in all; always false where types matter.
  bool keep_in_one_number(GpuCount held) {
    if (types_matter() || held > most_.front()) return false;
    most_.front() -= held;
    return true;
  }
  /// A running job does not keep what it holds, so that it is free.
  void leave(JobId job) {
    if (types_matter()) leave_by_type(job);
  }
  /// What a job holds that keeps it is left again.
  void give_back(JobId job, GpuCount held);

 private:
  std::span<const std::uint32_t> allowed(std::uint32_t kind) const;
  GpuCount most_by_type(std::uint32_t kind) const;
  bool keep_by_type(JobId job);
  void leave_by_type(JobId job);
  /// Takes GPUs of one type.
  void take_of(std::uint32_t type, std::int64_t num_gpus);
  /// Adds what a running job holds to numbers of GPUs by type.
  void add_held(JobId job, std::int64_t times, std::vector<std::int64_t>& gpus) const;

  const GpusByType* by_type_ = nullptr;
  std::vector<GpuCount> most_;      ///< by kind; one where types do not matter
  std::vector<std::int64_t> left_;  ///< [types]
  std::vector<std::int64_t> free_;  ///< [types]: those of them that no running job holds
};

}  // namespace vtrain
