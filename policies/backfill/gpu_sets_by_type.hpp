/// Virtual GPUs by type.
#pragma once

#include <vector>

#include "policies/backfill/gpu_set.hpp"
#include "sched/simulation/policy.hpp"

namespace vtrain {

/// Selects the virtual GPUs that a job may use. If jobs request types, the GPUs of a type are consecutive, in
/// the order of the types. Otherwise all GPUs are alike.
class GpuSetsByType {
 public:
  /// Makes a selection among equal GPUs.
  GpuSetsByType() = default;
  /// Makes a selection for the cluster of a replay.
  explicit GpuSetsByType(const SchedulingPass& pass);

  /// Most GPUs of a set that a job can have together.
  GpuCount most(const GpuSet& gpus, GpuTypeId asked) const {
    return by_type_ == nullptr ? gpus.size() : most_by_type(gpus, asked);
  }
  /// The lowest `num_gpus` of a set that a job can have together; at most `most`.
  GpuRanges lowest(const GpuSet& gpus, GpuTypeId asked, GpuCount num_gpus) const;
  /// Selects GPUs for a job that has just started: the lowest ones of the types that it holds, from `first`
  /// if these suffice, otherwise from `gpus`. The result may have too few GPUs only if jobs share GPUs.
  GpuRanges held(const GpuSet& first, const GpuSet& gpus, const SchedulingPass& pass, JobId job) const;
  /// Moves GPUs between `free` and `out` until `out` has as many of each type as are out of service, or
  /// `free` has none left.
  void follow_service(const SchedulingPass& pass, GpuSet& free, GpuSet& out) const;

 private:
  GpuCount most_by_type(const GpuSet& gpus, GpuTypeId asked) const;

  const GpusByType* by_type_ = nullptr;
  std::vector<GpuRange> gpus_of_{};  ///< [types]
};

}  // namespace vtrain
