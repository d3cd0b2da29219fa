/// Kueue's objects for a replay: quotas on the GPUs of a cluster, and the queues that jobs reach.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "policies/tenants/kueue/object_file.hpp"
#include "policies/tenants/kueue/objects.hpp"
#include "sched/cluster/cluster.hpp"
#include "sched/tenants/tenant_tree.hpp"

namespace vtrain::kueue {

/// The label of every flavor that tells the number of its GPU type.
inline constexpr std::string_view kGpuTypeLabel = "vtrain/gpu-type";

/// A LocalQueue by namespace and name.
using LocalQueueName = std::pair<std::string, std::string>;

/// Objects on a cluster.
struct ClusterObjects {
  Objects objects{};
  std::string resource{};  ///< the resource of which a GPU is one
  /// Number of the GPU type (`GpuTypes`) by flavor; none: GPUs of any type.
  std::map<std::string, std::optional<std::uint32_t>> type_of_flavor{};
  std::map<std::string, std::int64_t> priority_classes{};
  /// True if every job has the same queue, whatever it names.
  bool has_one_queue = false;

  /// The LocalQueue of a job: by the name of a LocalQueue or ClusterQueue that it names as its queue, else by
  /// its tenant. Of LocalQueues with one name the job has that of the namespace named like its tenant. None
  /// if there is no such queue.
  std::optional<LocalQueueName> queue_of(std::string_view queue, std::string_view tenant) const;

  /// LocalQueues by name; filled by `index_queues`.
  std::map<std::string, std::vector<LocalQueueName>, std::less<>> by_name{};
  /// Adds a LocalQueue of the namespace `` to each ClusterQueue, and fills `by_name`.
  void index_queues();
};

/// Positions in `types` of the GPU types that a flavor names: by its own name, else by its node labels.
std::vector<std::uint32_t> types_named_by(const ResourceFlavor& flavor,
                                          const std::vector<std::string>& types);

/// Makes objects of a tree of tenants: tenants below others are ClusterQueues in the Cohort of their parent,
/// tenants above others are Cohorts with a ClusterQueue for jobs of their own, and all have a common Cohort.
/// Quotas are nominal quotas by GPU type. Without any quota the common Cohort owns all GPUs; without tenants
/// one ClusterQueue does. Workloads of lower priority are preempted within a queue, and lent quota is
/// reclaimed.
ClusterObjects objects_of_tenants(const TenantTree& tree, const ClusterSpec& cluster, std::string resource);

/// Takes objects of a file. A flavor with quota of the resource serves the GPU type whose name it has or that
/// one of its node labels names: as a whole, or as a part between dashes (`NVIDIA-A100-SXM4-80GB`).
/// Namespaces do not matter to jobs, so selectors are left out.
///
/// Errors name the file: a flavor that names no type, or several; quotas of more GPUs of a type than the
/// cluster has; no ClusterQueue.
Result<ClusterObjects> objects_of_file(const ObjectFile& read, const ClusterSpec& cluster,
                                       std::string resource, const std::string& file);

}  // namespace vtrain::kueue
