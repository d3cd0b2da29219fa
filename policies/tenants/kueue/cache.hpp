/// The scheduler's view of all objects: queues and flavors by number, the quota tree with its usage,
/// workloads and who holds quota where.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "policies/tenants/kueue/dominant_share.hpp"
#include "policies/tenants/kueue/gates.hpp"
#include "policies/tenants/kueue/objects.hpp"
#include "policies/tenants/kueue/quota_tree.hpp"

namespace vtrain::kueue {

/// Position of a ClusterQueue in `Cache::queues`.
using QueueId = std::uint32_t;
/// Position of a flavor's name in `Cache`.
using FlavorId = std::uint32_t;
/// Position of a workload in `Cache::workloads`.
using WorkloadId = std::uint32_t;
/// Number of a shape: workloads of equal shapes are decided alike.
using ShapeId = std::uint32_t;

inline constexpr std::uint32_t kNone = UINT32_MAX;

/// Why a workload is evicted to make room.
enum class PreemptionReason : std::uint8_t {
  InClusterQueue,
  InCohortReclamation,
  InCohortFairSharing,
  InCohortReclaimWhileBorrowing
};
/// Names of the reasons, by value.
inline constexpr std::array<std::string_view, 4> kPreemptionReasonNames = {
    "InClusterQueue", "InCohortReclamation", "InCohortFairSharing", "InCohortReclaimWhileBorrowing"};

/// Why a workload waits, as the reason of its condition QuotaReserved=False.
enum class PendingReason : std::uint8_t {
  None,
  WaitingForQuota,
  ExceedsMaxQuota,
  NoMatchingFlavor,
  WaitingForPreemptedWorkloads,
  Misconfigured
};
/// Names of the reasons, by value.
inline constexpr std::array<std::string_view, 6> kPendingReasonNames = {"",
                                                                        "WaitingForQuota",
                                                                        "ExceedsMaxQuota",
                                                                        "NoMatchingFlavor",
                                                                        "WaitingForPreemptedWorkloads",
                                                                        "Misconfigured"};

/// Requests of one pod of a pod set, by resource.
struct PodSetSpec {
  std::string name{};
  std::int64_t count = 0;
  std::int64_t min_count = 0;  ///< `count` unless fewer pods would do
  std::vector<std::pair<ResourceId, Amount>> requests{};
  NodeChoice nodes{};
};

/// What workloads of equal shape have in common.
struct Shape {
  std::int64_t priority = 0;
  std::vector<PodSetSpec> pod_sets{};
};

/// A resource given to a pod set.
struct GivenResource {
  ResourceId resource = 0;
  FlavorId flavor = 0;
  Amount amount = 0;
};

/// What a pod set was given.
struct GivenPodSet {
  std::int64_t count = 0;
  std::vector<GivenResource> resources{};
};

/// Flavors that an attempt tried, so that the next one goes on behind them.
struct TriedFlavors {
  std::int64_t cycle = 0;
  std::uint64_t generation = 0;  ///< of the ClusterQueue at that time
  ShapeId shape = kNone;
  /// By pod set, for each resource with a flavor: where the search ended, or -1 at the last flavor.
  std::vector<std::vector<std::pair<ResourceId, std::int32_t>>> last_index{};
};

/// Stage of a workload.
enum class WorkloadState : std::uint8_t {
  Unknown,  ///< its LocalQueue or ClusterQueue does not exist
  Waiting,  ///< in its queue, or parked
  Holding,  ///< holds quota
  Gone      ///< finished or deleted
};

/// A workload as the scheduler sees it.
struct WorkloadInfo {
  std::string name_space{};
  std::string name{};
  std::string uid{};
  std::string local_queue{};
  std::int64_t priority = 0;
  Instant created_at = 0;
  Instant queue_time = 0;                         ///< follows from creation and conditions
  std::unique_ptr<QueueConditions> conditions{};  ///< null: none
  ShapeId shape = kNone;
  std::vector<std::int64_t> reclaimable{};  ///< pods that are done, by pod set; empty: none
  QueueId queue = kNone;                    ///< ClusterQueue
  WorkloadState state = WorkloadState::Unknown;
  bool is_admitted = false;
  bool is_evicted = false;
  bool awaits_preemptions = false;  ///< evicted others for itself and waits for their quota
  Instant reserved_at = 0;
  std::vector<GivenPodSet> given{};  ///< as recorded at admission
  Usage usage{};                     ///< quota held
  std::unique_ptr<TriedFlavors> tried{};
  PendingReason pending_reason = PendingReason::None;
};

/// The queue time of a workload: when it was created, or evicted for a reason that moves it back.
Instant queue_time_of(Instant created_at, const QueueConditions& conditions, const Settings& settings);

/// A resource group by numbers.
struct GroupInfo {
  std::vector<ResourceId> covered{};
  std::vector<FlavorId> flavors{};
};

/// A ClusterQueue as the scheduler sees it.
struct QueueInfo {
  ClusterQueue object{};
  NodeId node = kNoNode;
  std::vector<GroupInfo> groups{};
  std::vector<std::uint32_t> group_of{};  ///< by resource; `kNone`: not covered
  bool is_active = true;
  bool covers_pods = false;
  std::uint64_t generation = 0;  ///< counts what lets recorded flavors expire
};

/// All objects, and the workloads with their quota.
class Cache {
 public:
  explicit Cache(Settings settings);
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  const Settings& settings() const { return settings_; }

  // Objects. Changes take effect at `rebuild`.

  /// Adds an object or replaces the one of this name.
  void set(const ClusterQueue& queue);
  void set(const Cohort& cohort);
  void set(const ResourceFlavor& flavor);
  void set(const LocalQueue& queue);
  void set_namespace(const std::string& name, const Labels& labels) { namespaces_[name] = labels; }
  void set(const Objects& objects);
  /// Builds the tree and finds which queues are active. Workloads keep their quota. The first call numbers
  /// resources and flavors: later objects must not name others, unless `know_resource` and `know_flavor` did.
  /// Parents of cohorts form no cycle.
  void rebuild();

  const std::vector<QueueInfo>& queues() const { return queues_; }
  const QueueInfo& queue(QueueId queue) const { return queues_[queue]; }
  std::optional<QueueId> find_queue(std::string_view name) const;
  /// A node by the name of its ClusterQueue or Cohort.
  std::optional<NodeId> find_node(std::string_view name) const;
  /// The ClusterQueue at a node; `kNone` for a cohort.
  QueueId queue_at(NodeId node) const { return queue_at_[node]; }
  const std::string& node_name(NodeId node) const { return node_names_[node]; }
  /// The ClusterQueue of a LocalQueue; `kNone` if either does not exist or the LocalQueue is stopped.
  QueueId queue_of_local(std::string_view name_space, std::string_view name) const;
  const Labels& labels_of_namespace(const std::string& name) const;

  // Names.

  std::size_t num_resources() const { return resource_names_.size(); }
  const std::string& resource_name(ResourceId resource) const { return resource_names_[resource]; }
  const std::string& flavor_name(FlavorId flavor) const { return flavor_names_[flavor]; }
  std::optional<ResourceId> find_resource(std::string_view name) const;
  std::optional<FlavorId> find_flavor(std::string_view name) const;
  /// The object of a flavor; null if it does not exist.
  const ResourceFlavor* flavor(FlavorId flavor) const { return flavors_[flavor]; }
  FlavorResource column(FlavorId flavor, ResourceId resource) const {
    return static_cast<FlavorResource>(flavor * resource_names_.size() + resource);
  }
  FlavorId flavor_of(FlavorResource column) const {
    return static_cast<FlavorId>(column / resource_names_.size());
  }
  ResourceId resource_of(FlavorResource column) const {
    return static_cast<ResourceId>(column % resource_names_.size());
  }
  /// Makes a resource or flavor known before the first `rebuild`, though no quota names it yet.
  void know_resource(const std::string& name) { more_resources_.insert(name); }
  void know_flavor(const std::string& name) { more_flavors_.insert(name); }
  void know(const std::vector<ResourceGroup>& groups);
  /// True if nodes, flavors and resources are too many for a tree in memory. `rebuild` must not be called
  /// then.
  bool is_too_large() const;

  // Quota.

  QuotaTree& tree() { return *tree_; }
  const QuotaTree& tree() const { return *tree_; }
  const ShareCalculator& shares() const { return *shares_; }

  // Workloads.

  std::size_t num_workloads() const { return workloads_.size(); }
  WorkloadInfo& workload(WorkloadId id) { return workloads_[id]; }
  const WorkloadInfo& workload(WorkloadId id) const { return workloads_[id]; }
  const Shape& shape(ShapeId shape) const { return *shapes_[shape]; }
  const Shape& shape_of(WorkloadId id) const { return *shapes_[workloads_[id].shape]; }
  /// Adds a workload: one that holds quota, or one that no queue has yet. Its resources are known.
  WorkloadId add(const Workload& workload);
  /// Pods of a pod set that are not done.
  std::int64_t live_pods(WorkloadId id, std::size_t pod_set) const;
  /// Gives quota to a workload that waits.
  void reserve(WorkloadId id, std::vector<GivenPodSet> given, Instant now);
  /// Takes the quota of a workload away. It is not evicted any more.
  void release(WorkloadId id);
  /// Marks a holder as being evicted.
  void mark_evicted(WorkloadId id);
  /// Takes a holder out of sight, with its quota, for a while; `show` undoes it.
  void hide(WorkloadId id);
  void show(WorkloadId id);
  /// Changes the pods that are done.
  void set_reclaimable(WorkloadId id, std::vector<std::int64_t> pods);
  /// Recomputes the queue time after its conditions changed. It must not wait in a queue meanwhile.
  void refresh_queue_time(WorkloadId id);

  /// Order of victims of one queue, and of equals in all lists: evicted ones first, lower priority, later
  /// quota reservation, uid.
  struct HolderOrder {
    const std::vector<WorkloadInfo>* workloads;
    bool operator()(WorkloadId a, WorkloadId b) const;
  };
  using Holders = std::set<WorkloadId, HolderOrder>;
  /// Workloads that hold quota of a queue.
  const Holders& holders(QueueId queue) const { return holders_[queue]; }

  /// Counts a change that lets recorded flavors of a queue expire.
  void bump_generation(QueueId queue) { ++queues_[queue].generation; }

 private:
  void number_names();
  void build_tree();
  NodeId cohort_node(const std::string& name);
  void describe_groups(QueueInfo& queue);
  void set_quotas(NodeId node, const std::vector<ResourceGroup>& groups);
  ShapeId intern(const Workload& workload);
  Usage usage_of(const WorkloadInfo& workload) const;
  void hold(WorkloadId id);

  Settings settings_;
  std::vector<QueueInfo> queues_;
  std::map<std::string, QueueId, std::less<>> queue_ids_;
  std::map<std::string, Cohort, std::less<>> cohorts_;
  std::map<std::string, ResourceFlavor, std::less<>> flavor_objects_;
  std::map<std::pair<std::string, std::string>, LocalQueue> local_queues_;
  std::map<std::string, Labels> namespaces_;
  std::set<std::string> more_resources_;
  std::set<std::string> more_flavors_;

  std::vector<std::string> resource_names_;  ///< ascending
  std::vector<std::string> flavor_names_;    ///< ascending
  std::vector<const ResourceFlavor*> flavors_;
  std::vector<ResourceId> resource_of_column_;
  std::vector<std::string> node_names_;
  std::vector<QueueId> queue_at_;  ///< by node
  std::map<std::string, NodeId, std::less<>> node_ids_;
  std::unique_ptr<QuotaTree> tree_;
  std::unique_ptr<ShareCalculator> shares_;

  std::vector<WorkloadInfo> workloads_;
  std::vector<std::unique_ptr<Shape>> shapes_;
  std::unordered_map<std::string, ShapeId> shape_ids_;
  std::vector<Holders> holders_;
};

}  // namespace vtrain::kueue
