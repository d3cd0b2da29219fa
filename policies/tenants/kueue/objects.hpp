/// Kueue's objects as plain values: ClusterQueues, Cohorts, ResourceFlavors, LocalQueues, Workloads.
///
/// Rules and terms are those of Kueue (kubernetes-sigs/kueue, commit ff69552, 2026-08-22, Apache-2.0).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policies/tenants/kueue/quantity.hpp"

namespace vtrain::kueue {

/// An instant, in nanoseconds from any origin.
using Instant = std::int64_t;

/// Names and their values: labels, selectors.
using Labels = std::map<std::string, std::string>;

/// What happens to the head of a ClusterQueue that cannot be admitted: it blocks, or is parked.
enum class QueueingStrategy : std::uint8_t { StrictFIFO, BestEffortFIFO };
/// Names of the strategies, by value.
inline constexpr std::array<std::string_view, 2> kQueueingStrategyNames = {"StrictFIFO", "BestEffortFIFO"};

/// Which workloads may be evicted: in the own queue, or in others of the cohort tree.
enum class PreemptionPolicy : std::uint8_t { Never, LowerPriority, LowerOrNewerEqualPriority, Any };
/// Names of the policies, by value.
inline constexpr std::array<std::string_view, 4> kPreemptionPolicyNames = {
    "Never", "LowerPriority", "LowerOrNewerEqualPriority", "Any"};

/// What the search for a flavor does at one that needs borrowing or preemption.
enum class Fungibility : std::uint8_t { MayStopSearch, TryNextFlavor };
/// Names of the values, by value.
inline constexpr std::array<std::string_view, 2> kFungibilityNames = {"MayStopSearch", "TryNextFlavor"};

/// Which of two flavors is better: the one without preemption, or the one that borrows less.
enum class FungibilityPreference : std::uint8_t { BorrowingOverPreemption, PreemptionOverBorrowing };
/// Names of the preferences, by value.
inline constexpr std::array<std::string_view, 2> kFungibilityPreferenceNames = {"BorrowingOverPreemption",
                                                                                "PreemptionOverBorrowing"};

/// Whether a queue is stopped.
enum class StopPolicy : std::uint8_t { None, Hold, HoldAndDrain };
/// Names of the policies, by value.
inline constexpr std::array<std::string_view, 3> kStopPolicyNames = {"None", "Hold", "HoldAndDrain"};

/// Quota of one resource in one flavor.
struct ResourceQuota {
  std::string resource{};
  Amount nominal = 0;
  std::optional<Amount> borrowing_limit{};  ///< most above nominal; none: no limit
  std::optional<Amount> lending_limit{};    ///< most that others may use; none: all of it

  friend bool operator==(const ResourceQuota&, const ResourceQuota&) = default;
};

/// Quotas of one flavor.
struct FlavorQuotas {
  std::string flavor{};
  std::vector<ResourceQuota> resources{};

  friend bool operator==(const FlavorQuotas&, const FlavorQuotas&) = default;
};

/// Resources that are served by one flavor together, and the flavors in the order in which they are tried.
struct ResourceGroup {
  std::vector<std::string> covered_resources{};
  std::vector<FlavorQuotas> flavors{};

  friend bool operator==(const ResourceGroup&, const ResourceGroup&) = default;
};

/// Whether a workload that needs to borrow may evict others of the cohort tree.
struct BorrowWithinCohort {
  bool is_allowed = false;                               ///< policy `LowerPriority`; else `Never`
  std::optional<std::int64_t> max_priority_threshold{};  ///< victims above it are safe

  friend bool operator==(const BorrowWithinCohort&, const BorrowWithinCohort&) = default;
};

/// Whom workloads of a ClusterQueue may evict.
struct PreemptionRules {
  PreemptionPolicy within_cluster_queue = PreemptionPolicy::Never;
  PreemptionPolicy reclaim_within_cohort = PreemptionPolicy::Never;
  BorrowWithinCohort borrow_within_cohort{};

  friend bool operator==(const PreemptionRules&, const PreemptionRules&) = default;
};

/// Where the search for a flavor stops.
struct FlavorFungibility {
  Fungibility when_can_borrow = Fungibility::MayStopSearch;
  Fungibility when_can_preempt = Fungibility::TryNextFlavor;
  FungibilityPreference preference = FungibilityPreference::BorrowingOverPreemption;

  friend bool operator==(const FlavorFungibility&, const FlavorFungibility&) = default;
};

/// How an expression compares a label.
enum class LabelOperator : std::uint8_t { In, NotIn, Exists, DoesNotExist, Gt, Lt };
/// Names of the operators, by value.
inline constexpr std::array<std::string_view, 6> kLabelOperatorNames = {"In",           "NotIn", "Exists",
                                                                        "DoesNotExist", "Gt",    "Lt"};

/// A condition on one label.
struct LabelExpression {
  std::string key{};
  LabelOperator op = LabelOperator::In;
  std::vector<std::string> values{};

  friend bool operator==(const LabelExpression&, const LabelExpression&) = default;
};

/// Conditions on labels that all hold.
struct LabelSelector {
  Labels match_labels{};
  std::vector<LabelExpression> match_expressions{};

  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;
};

/// A ClusterQueue: a leaf of the quota tree, with the workloads that wait for it.
struct ClusterQueue {
  std::string name{};
  std::string cohort{};  ///< empty: none
  QueueingStrategy queueing_strategy = QueueingStrategy::BestEffortFIFO;
  std::vector<ResourceGroup> resource_groups{};
  PreemptionRules preemption{};
  FlavorFungibility flavor_fungibility{};
  double fair_weight = 1;
  std::optional<LabelSelector> namespace_selector{};  ///< none: workloads of every namespace
  StopPolicy stop_policy = StopPolicy::None;

  friend bool operator==(const ClusterQueue&, const ClusterQueue&) = default;
};

/// A Cohort: an inner node of the quota tree.
struct Cohort {
  std::string name{};
  std::string parent{};  ///< empty: none
  std::vector<ResourceGroup> resource_groups{};
  double fair_weight = 1;

  friend bool operator==(const Cohort&, const Cohort&) = default;
};

/// A taint of nodes: pods without a toleration are not placed there.
struct Taint {
  std::string key{};
  std::string value{};
  std::string effect{};

  friend bool operator==(const Taint&, const Taint&) = default;
};

/// A toleration of taints.
struct Toleration {
  std::string key{};  ///< empty with `Exists`: every key
  bool is_exists = false;
  std::string value{};
  std::string effect{};  ///< empty: every effect

  friend bool operator==(const Toleration&, const Toleration&) = default;
};

/// A ResourceFlavor: a kind of nodes.
struct ResourceFlavor {
  std::string name{};
  Labels node_labels{};
  std::vector<Taint> node_taints{};
  std::vector<Toleration> tolerations{};

  friend bool operator==(const ResourceFlavor&, const ResourceFlavor&) = default;
};

/// A LocalQueue: the name by which workloads of a namespace reach a ClusterQueue.
struct LocalQueue {
  std::string name_space{};
  std::string name{};
  std::string cluster_queue{};
  StopPolicy stop_policy = StopPolicy::None;

  friend bool operator==(const LocalQueue&, const LocalQueue&) = default;
};

/// Where the pods of a pod set may run.
struct NodeChoice {
  Labels node_selector{};
  /// Terms of the required node affinity: one must hold, with all of its expressions.
  std::vector<std::vector<LabelExpression>> required_node_affinity{};
  std::vector<Toleration> tolerations{};

  friend bool operator==(const NodeChoice&, const NodeChoice&) = default;
  /// True if every node will do that has no taint.
  bool empty() const {
    return node_selector.empty() && required_node_affinity.empty() && tolerations.empty();
  }
};

/// A pod set: equal pods.
struct PodSet {
  std::string name{};
  std::int64_t count = 0;
  std::optional<std::int64_t> min_count{};                 ///< fewest pods under partial admission
  std::vector<std::pair<std::string, Amount>> requests{};  ///< of one pod
  NodeChoice nodes{};
  std::int64_t reclaimable = 0;  ///< pods that are done, whose quota is free

  friend bool operator==(const PodSet&, const PodSet&) = default;
};

/// What a pod set was given of one resource.
struct AssignedResource {
  std::string resource{};
  std::string flavor{};
  Amount amount = 0;  ///< of the whole pod set

  friend bool operator==(const AssignedResource&, const AssignedResource&) = default;
};

/// What a pod set was given.
struct AdmittedPodSet {
  std::string name{};
  std::int64_t count = 0;
  std::vector<AssignedResource> resources{};

  friend bool operator==(const AdmittedPodSet&, const AdmittedPodSet&) = default;
};

/// The quota that a workload holds.
struct Admission {
  std::string cluster_queue{};
  std::vector<AdmittedPodSet> pod_sets{};

  friend bool operator==(const Admission&, const Admission&) = default;
};

/// What moves the queue time of a workload: its last eviction and its last preemption.
struct QueueConditions {
  std::optional<Instant> evicted_at{};  ///< with the reason below
  std::string evicted_reason{};         ///< `PodsReadyTimeout`, `AdmissionCheck`, `Preempted`, …
  std::optional<Instant> preempted_at{};
  std::string preempted_reason{};  ///< `InClusterQueue`, `InCohortReclaimWhileBorrowing`, …

  friend bool operator==(const QueueConditions&, const QueueConditions&) = default;
};

/// A Workload: pod sets that are admitted together.
struct Workload {
  std::string name_space{};
  std::string name{};
  std::string uid{};
  std::int64_t priority = 0;
  Instant created_at = 0;
  std::string queue{};  ///< its LocalQueue
  std::vector<PodSet> pod_sets{};
  std::optional<Admission> admission{};
  Instant quota_reserved_at = 0;
  bool is_admitted = false;
  bool is_evicted = false;  ///< its eviction is under way
  QueueConditions conditions{};

  friend bool operator==(const Workload&, const Workload&) = default;
};

/// `namespace/name`, or the name where the namespace is empty.
std::string full_name(std::string_view name_space, std::string_view name);

/// A set of objects.
struct Objects {
  std::vector<ClusterQueue> cluster_queues{};
  std::vector<Cohort> cohorts{};
  std::vector<ResourceFlavor> resource_flavors{};
  std::vector<LocalQueue> local_queues{};
  std::map<std::string, Labels> namespaces{};
};

/// Most cohorts on the way from one to its root.
inline constexpr std::size_t kMostCohortLevels = 100;

/// What is wrong with a cohort.
struct CohortProblem {
  std::string cohort{};
  std::string message{};
};
/// A cohort that is its own ancestor, or that has more than `kMostCohortLevels` above it; none if all is
/// well.
std::optional<CohortProblem> find_cohort_problem(const std::vector<Cohort>& cohorts);

}  // namespace vtrain::kueue
