/// Kueue's objects of a running cluster, read already, and quota of jobs that run when a replay begins.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/base/policies.hpp"
#include "policies/tenants/kueue/cache.hpp"
#include "policies/tenants/kueue/cluster_objects.hpp"

namespace vtrain {
namespace kueue {

/// Objects of a running cluster, in place of a file.
struct LiveObjects {
  ObjectFile objects{};
  /// Workloads by the name of their job, with times on the clock of the replay. Jobs without one are none of
  /// Kueue: they hold no quota, and start where there is room.
  std::map<std::string, Workload, std::less<>> workloads{};
  /// Types of the nodes that the labels of a flavor choose. A flavor with none, or with several, gives GPUs
  /// of any type.
  std::map<std::string, std::vector<std::string>> types_of_flavor{};
};

/// Objects of a running cluster. Unlike those of a file they may have quotas of more GPUs than there are, and
/// queues with flavors that do not exist: these wait.
ClusterObjects objects_of_live(const LiveObjects& live, const ClusterSpec& cluster, std::string resource);

/// Makes known to a cache what the workloads name beyond the quotas. Call it before the first `rebuild`.
void know_workloads(const LiveObjects& live, Cache& cache);

/// Gives a workload without quota fewer pods with GPUs, if its job asks for fewer GPUs than they have.
void scale_to(Workload& workload, std::string_view resource, std::int64_t gpus);

/// The quota that a running workload holds of its ClusterQueue, where nobody tells it. Each resource group
/// gives the first of its flavors that suits the pods and has quota left, or else the first that suits them.
/// Flavors of GPUs are those of the type `held`, if it is known. Resources that no group covers are left out.
Admission derive_admission(const Cache& cache, const ClusterObjects& objects, QueueId queue,
                           const Workload& workload, std::optional<std::uint32_t> held);

/// The admission of a workload as the cache has it.
Admission recorded_admission(const Cache& cache, WorkloadId id);

}  // namespace kueue

/// Makes `kueue` with the objects of a running cluster where `objects` names no file.
MadePolicy make_kueue_live(const PolicyArguments& arguments,
                           std::shared_ptr<const kueue::LiveObjects> objects);

}  // namespace vtrain
