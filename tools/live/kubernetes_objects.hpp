/// Kubernetes' objects of a running cluster as plain values: what was asked for, what holds quota, what runs.
///
/// Terms are those of Kueue (kubernetes-sigs/kueue), Kubernetes' batch and scheduling groups, and Volcano.
/// Instants are seconds since 1970, except those within `kueue::Workload`, which are nanoseconds.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policies/tenants/kueue/object_file.hpp"
#include "policies/tenants/kueue/objects.hpp"

namespace vtrain {

/// Amounts by resource, in base units of `kueue::Amount`.
using ResourceAmounts = std::map<std::string, kueue::Amount, std::less<>>;
/// Amounts by flavor and resource.
using FlavorAmounts = std::map<std::pair<std::string, std::string>, kueue::Amount>;

/// True for a resource that counts whole GPUs: `nvidia.com/gpu` and the names of other vendors.
bool counts_gpus(std::string_view resource);
/// True for a resource that counts slices of GPUs: `nvidia.com/mig-1g.5gb`.
bool counts_gpu_slices(std::string_view resource);

/// Object that owns or controls another.
struct OwnerReference {
  std::string api{};   ///< such as `batch/v1`; of a `controllerRef` the group alone
  std::string kind{};  ///< such as `Job`; empty: none
  std::string name{};
};

/// Stage of a Workload of Kueue.
enum class WorkloadStage : std::uint8_t {
  Pending,        ///< waits for quota
  QuotaReserved,  ///< holds quota, and waits for admission checks
  Admitted,       ///< holds quota, and its pods may run
  Evicting,       ///< is evicted, and holds its quota until its pods are gone
  Finished,       ///< has ended
  Inactive        ///< is deactivated: it is not tried until somebody activates it
};
/// Names of the stages, by value.
inline constexpr std::array<std::string_view, 6> kWorkloadStageNames = {
    "pending", "quota_reserved", "admitted", "evicting", "finished", "inactive"};

/// A Workload of Kueue.
struct LiveWorkload {
  kueue::Workload workload{};  ///< with an admission only where it holds quota
  WorkloadStage stage = WorkloadStage::Pending;
  bool is_active = true;                      ///< false: it is not tried again until somebody activates it
  std::string reason{};                       ///< reason of QuotaReserved=False; empty: unknown
  std::string reason_text{};                  ///< its message
  std::string priority_class{};               ///< name of its class; empty: none
  std::optional<std::int64_t> admitted_at{};  ///< when it was admitted last
  std::optional<std::int64_t> finished_at{};  ///< when it ended
  bool has_failed = false;                    ///< true if it ended without success
  std::optional<std::int64_t> requeue_at{};   ///< it is not tried before
  std::int64_t past_execution_s = 0;          ///< time that it was admitted before its last admission
  std::optional<std::int64_t> most_execution_s{};  ///< longest time that it may be admitted
  OwnerReference owner{};                          ///< its job
  std::string model{};                             ///< annotation `vtrain.dev/model`
  /// Requests of whole pod sets as Kueue counts them, by pod set, where the status has them.
  std::map<std::string, ResourceAmounts> considered{};

  bool holds_quota() const { return workload.admission.has_value(); }
  /// Quota that it holds: as recorded at its admission, less that of pods that are done.
  FlavorAmounts usage() const;
  /// Requests of all its pods, in base units.
  ResourceAmounts total() const;
};

/// Stage of a Job, JobSet or PodGroup.
enum class PodsStage : std::uint8_t { Waiting, Running, Ended };
/// Names of the stages, by value.
inline constexpr std::array<std::string_view, 3> kPodsStageNames = {"waiting", "running", "ended"};

/// A Job or a JobSet.
struct LiveBatchJob {
  std::string kind{};  ///< `Job` or `JobSet`
  std::string name_space{};
  std::string name{};
  std::string queue{};           ///< its LocalQueue; empty: Kueue does not manage it
  std::string priority_class{};  ///< name of its WorkloadPriorityClass; empty: none
  bool is_suspended = false;
  PodsStage stage = PodsStage::Waiting;
  bool has_failed = false;                ///< true if it ended without success
  std::vector<kueue::PodSet> pod_sets{};  ///< pods that run together at most
  std::vector<std::int64_t> active{};     ///< pods that are there, by pod set
  std::optional<std::int64_t> created{};
  std::optional<std::int64_t> started{};
  std::optional<std::int64_t> ended{};
  std::optional<std::int64_t> time_limit_s{};  ///< `activeDeadlineSeconds`
  OwnerReference owner{};
  std::string model{};  ///< annotation `vtrain.dev/model`

  /// Beginning of the name of its Workload.
  std::string workload_prefix() const;
};

/// A PodGroup: pods that start together.
struct LivePodGroup {
  std::string api{};  ///< `volcano` or `kubernetes`
  std::string name_space{};
  std::string name{};
  bool is_gang = true;                                    ///< false: its pods may start one by one
  std::int64_t minimum = 1;                               ///< fewest pods that start together
  std::map<std::string, std::int64_t> minimum_by_task{};  ///< the same by task of a Volcano Job
  std::string queue{};                                    ///< Volcano's queue
  std::optional<std::int64_t> priority{};
  std::string priority_class{};
  bool is_evicted_whole = false;     ///< true if its pods are evicted together only
  std::optional<PodsStage> stage{};  ///< none: no status yet
  std::string reason{};              ///< why it waits
  ResourceAmounts least{};           ///< resources of the fewest pods, where it tells them
  std::optional<std::int64_t> created{};
  std::string gang_workload{};  ///< its Workload of `scheduling.k8s.io`; empty: none
  OwnerReference owner{};
};

/// A Workload of `scheduling.k8s.io`: the groups of pods of a job.
struct LiveGangWorkload {
  std::string name_space{};
  std::string name{};
  OwnerReference controller{};
  /// Fewest pods by group; none: its pods may start one by one.
  std::map<std::string, std::optional<std::int64_t>> groups{};
};

/// A node.
struct LiveKubernetesNode {
  std::string name{};
  bool is_schedulable = true;  ///< false: cordoned, or not ready
  std::string reason{};        ///< why not
  kueue::Labels labels{};
  ResourceAmounts allocatable{};  ///< without ephemeral storage, huge pages and volumes
};

/// Status of a ClusterQueue or a LocalQueue.
struct LiveQueueStatus {
  std::string kind{};
  std::string name_space{};  ///< empty for a ClusterQueue
  std::string name{};
  std::optional<bool> is_active{};  ///< its condition Active; none: not told
  std::string reason{};             ///< reason and message of the condition
  std::string stop_policy{};        ///< empty: not told
  FlavorAmounts used{};             ///< quota of admitted workloads
  FlavorAmounts reserved{};         ///< quota of workloads that hold it
};

/// An object of Kueue that all files together must explain: a queue, a cohort, a flavor.
struct QueueObject {
  std::string text{};  ///< the object as JSON
  std::string file{};
  std::int64_t line = 0;
  std::string field{};  ///< its place in the file, as `items[3]`
};

/// All objects of a cluster.
struct KubernetesObjects {
  std::vector<LiveWorkload> workloads{};
  std::vector<LiveBatchJob> jobs{};
  std::vector<LivePodGroup> pod_groups{};
  std::vector<LiveGangWorkload> gang_workloads{};
  std::vector<LiveKubernetesNode> nodes{};
  std::vector<LiveQueueStatus> queue_statuses{};
  std::vector<QueueObject> queue_objects{};
  std::optional<std::int64_t> latest{};  ///< latest time that has passed in any of them
  std::set<std::string> known{};         ///< group, kind and name of all objects
  kueue::ObjectFile queues{};            ///< the queue objects, read by `finish_kubernetes`

  /// True if nothing was read.
  bool empty() const {
    return workloads.empty() && jobs.empty() && pod_groups.empty() && gang_workloads.empty() &&
           nodes.empty() && queue_objects.empty();
  }
};

/// The flavor whose labels a node has: of several the one with most labels. Flavors without labels do not
/// count. Null: none.
const kueue::ResourceFlavor* flavor_of_node(const kueue::Labels& node,
                                            const std::vector<kueue::ResourceFlavor>& flavors);

}  // namespace vtrain
