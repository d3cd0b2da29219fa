/// Shares of GPUs that tenants receive, against those that are due to them.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "sched/cluster/cluster.hpp"
#include "sched/simulation/result.hpp"
#include "sched/tenants/tenant_tree.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Figures of one tenant with all tenants below it.
struct TenantShareFigures {
  std::string tenant{};            ///< its name; empty for the jobs of no tenant of the tree
  std::string parent{};            ///< name of the tenant above it; empty at the top
  double due_gpu_hours = 0;        ///< GPUs due x hours
  double received_gpu_hours = 0;   ///< GPUs held x hours
  double deficit_p95 = 0;          ///< 95th percentile over time of max(0, 1 - held / due), while due > 0
  double borrowed_gpu_hours = 0;   ///< GPUs held beyond its quotas x hours
  double lent_gpu_hours = 0;       ///< GPUs of its quotas that others held x hours
  double reclaimed_gpu_hours = 0;  ///< GPU-hours of its segments that ended by reclaim
  std::int64_t preemptions = 0;    ///< times that a policy took all GPUs of one of its jobs
  bool has_jobs = false;           ///< true if jobs of its own were due GPUs
  std::vector<double> due{};       ///< [intervals], mean GPUs due
  std::vector<double> received{};  ///< [intervals], mean GPUs held
};

/// Shares of all tenants during a replay. Exists where the cluster has a tree of tenants.
struct TenantShareSummary {
  /// Jain's index over tenants of GPU-hours received / GPU-hours due, in (0, 1]; NaN if nothing was due.
  double jain_index = std::numeric_limits<double>::quiet_NaN();
  /// 95th percentile over time of the GPUs due to tenants that they did not hold / all GPUs due.
  double deficit_p95 = std::numeric_limits<double>::quiet_NaN();
  // NaN if no tenant has a quota; sums over the tenants at the top.
  double borrowed_gpu_hours = std::numeric_limits<double>::quiet_NaN();   ///< GPU-hours beyond quotas
  double lent_gpu_hours = std::numeric_limits<double>::quiet_NaN();       ///< of quotas that others used
  double reclaimed_gpu_hours = std::numeric_limits<double>::quiet_NaN();  ///< ended by reclaim
  SimTime begin{};                                                        ///< first submission
  SimDuration interval{};                                                 ///< length of the intervals below
  bool is_sampled = false;                    ///< true if shares were found at equal distances of time only
  std::vector<TenantShareFigures> tenants{};  ///< tenants to which GPUs were due, in the order of their names
};

/// Number of intervals of `TenantShareFigures::due`.
inline constexpr int kShareIntervals = 240;
/// Most values of tenants x instants for which shares are found at each change. Beyond, they are found at as
/// many equal distances as give this number.
inline constexpr std::int64_t kMostShareValues = 1'000'000;

/// Computes the shares of a replay with `SimulationResult::holdings`. The share due to a tenant at an instant
/// follows from the demand at that instant, by `ShareDivision`. O(changes log changes + values).
TenantShareSummary summarize_tenant_shares(const Workload& workload, const ClusterSpec& cluster,
                                           const TenantTree& tenants, const SimulationResult& result);

}  // namespace vtrain
