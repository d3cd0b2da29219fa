/// GPUs by type, as policies see them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "sched/cluster/gpu_types.hpp"

namespace vtrain {

class Gangs;
class Policy;
struct NodeShare;
struct Workload;

/// The GPUs of a cluster by type, for policies that decide by number. Types are numbered as in `GpuTypes`.
class GpusByType {
 public:
  /// Counts GPUs for the jobs of a workload. `gangs` outlives this.
  GpusByType(const ClusterSpec& cluster, const Workload& workload, const Gangs& gangs);

  /// True if the cluster has several types, and jobs request one or the policy chooses them. Otherwise all
  /// GPUs are alike.
  static bool are_needed(const ClusterSpec& cluster, const Workload& workload, const Policy& policy);

  /// Names of the types.
  const std::vector<std::string>& names() const { return types_.names(); }
  /// Number of `GpuTypeId`s that jobs may request.
  std::size_t num_asked() const { return num_asked_; }
  /// Types that a job may use, ascending.
  std::span<const std::uint32_t> allowed(GpuTypeId asked) const { return types_.allowed(asked); }
  /// True if some type is allowed to jobs of both.
  bool overlap(GpuTypeId a, GpuTypeId b) const;
  /// True if a gang may have GPUs of several types.
  bool splits_gangs() const { return splits_gangs_; }
  /// True if types make no difference to jobs: gangs may span types, and no job requests one.
  bool alike() const { return splits_gangs_ && num_asked_ == 0; }
  /// All GPUs, by type.
  std::span<const std::int64_t> total() const { return total_; }
  /// Sets `gpus` to `SchedulingPass::usable_gpus` by type. O(nodes) while some are out of service.
  void get_usable(std::vector<std::int64_t>& gpus) const;
  /// GPUs that a running job holds. A type may come several times.
  std::span<const NodeShare> held(JobId job) const;
  /// Type of a share's GPUs.
  std::uint32_t type_of(const NodeShare& share) const;

 private:
  GpuTypes types_;
  const Gangs& gangs_;
  std::size_t num_asked_;
  bool splits_gangs_;
  std::vector<std::int64_t> total_;     ///< [types]
  std::vector<std::uint32_t> type_of_;  ///< [nodes]
};

}  // namespace vtrain
