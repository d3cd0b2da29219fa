#include "tools/live/kueue_now.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/base/strings.hpp"

namespace vtrain {
namespace {

constexpr kueue::Instant kSecond = 1'000'000'000;

class ObjectsMaker {
 public:
  ObjectsMaker(const LiveState& state, ClusterNow& cluster)
      : all_(state.kubernetes), state_(state), cluster_(cluster) {}

  Result<std::shared_ptr<const kueue::LiveObjects>> make() {
    made_->objects = all_.queues;
    if (made_->objects.objects.cluster_queues.empty()) {
      return fail({.message =
                       "expected a ClusterQueue in the files for the policy kueue, found none (kubectl get "
                       "clusterqueues,cohorts,resourceflavors,localqueues -A -o json)"});
    }
    complete_flavors();
    check_selectors();
    find_types();
    for (const Job& job : cluster_.question.workload.jobs)
      jobs_.emplace(job.name);
    for (const LiveWorkload& live : all_.workloads)
      add(live);
    for (const LiveBatchJob& live : all_.jobs)
      add(live);
    return std::shared_ptr<const kueue::LiveObjects>(std::move(made_));
  }

 private:
  /// Describes the flavors of quotas where no file has any flavor.
  void complete_flavors() {
    kueue::Objects& objects = made_->objects.objects;
    if (!objects.resource_flavors.empty()) return;
    std::set<std::string> names;
    const auto collect = [&names](const std::vector<kueue::ResourceGroup>& groups) {
      for (const kueue::ResourceGroup& group : groups) {
        for (const kueue::FlavorQuotas& flavor : group.flavors)
          names.insert(flavor.flavor);
      }
    };
    for (const kueue::ClusterQueue& queue : objects.cluster_queues)
      collect(queue.resource_groups);
    for (const kueue::Cohort& cohort : objects.cohorts)
      collect(cohort.resource_groups);
    for (const std::string& name : names)
      objects.resource_flavors.push_back({.name = name});
    ++cluster_.assumed["no file has ResourceFlavors: they are taken without labels and taints"];
  }

  /// Opens queues to all namespaces whose labels no file has. A queue without a selector stays closed.
  void check_selectors() {
    kueue::Objects& objects = made_->objects.objects;
    if (!objects.namespaces.empty()) return;
    for (kueue::ClusterQueue& queue : objects.cluster_queues) {
      auto& selector = queue.namespace_selector;
      const auto has_label = [](const kueue::LabelExpression& each) { return !each.key.empty(); };
      const bool depends = selector && (!selector->match_labels.empty() ||
                                        std::ranges::any_of(selector->match_expressions, has_label));
      if (!depends) continue;
      selector.reset();
      ++cluster_.assumed["queues that choose namespaces take all, as no file has Namespaces"];
    }
  }

  /// Finds the GPU types of nodes that each flavor chooses.
  void find_types() {
    for (const kueue::ResourceFlavor& flavor : made_->objects.objects.resource_flavors) {
      std::set<std::string> types;
      for (const LiveKubernetesNode& node : all_.nodes) {
        if (flavor_of_node(node.labels, {flavor}) == nullptr && !flavor.node_labels.empty()) continue;
        const auto dumped = std::ranges::find(state_.nodes, node.name, &DumpedNode::name);
        if (dumped != state_.nodes.end() && dumped->gpus > 0) types.insert(lower_case(dumped->gpu_type));
      }
      if (!types.empty()) made_->types_of_flavor[flavor.name].assign(types.begin(), types.end());
    }
  }

  kueue::Instant on_clock(kueue::Instant time) const { return time - cluster_.origin * kSecond; }

  void add(const LiveWorkload& live) {
    std::string id = kueue::full_name(live.workload.name_space, live.workload.name);
    if (!jobs_.contains(id)) return;
    kueue::Workload workload = live.workload;
    workload.created_at = on_clock(workload.created_at);
    workload.quota_reserved_at = on_clock(workload.quota_reserved_at);
    if (auto& time = workload.conditions.evicted_at) time = on_clock(*time);
    if (auto& time = workload.conditions.preempted_at) time = on_clock(*time);
    if (live.stage == WorkloadStage::Evicting) workload.admission.reset();
    workload.is_evicted = false;
    if (workload.admission && !has_queue(workload.admission->cluster_queue)) {
      ++cluster_.assumed["workloads that hold quota of a ClusterQueue that no file has hold none"];
      return;
    }
    for (kueue::PodSet& set : workload.pod_sets) {
      set.min_count.reset();
      consider(live, set);
    }
    made_->workloads.emplace(std::move(id), std::move(workload));
  }

  bool has_queue(const std::string& name) const {
    const auto& queues = made_->objects.objects.cluster_queues;
    return std::ranges::find(queues, name, &kueue::ClusterQueue::name) != queues.end();
  }

  /// Puts the requests that Kueue counts in place of those of the pods: it may leave out resources.
  static void consider(const LiveWorkload& live, kueue::PodSet& set) {
    const auto found = live.considered.find(set.name);
    if (found == live.considered.end() || found->second.empty() || set.count == 0) return;
    set.requests.clear();
    for (const auto& [resource, amount] : found->second)
      set.requests.emplace_back(resource, amount / set.count + (amount % set.count > 0 ? 1 : 0));
  }

  void add(const LiveBatchJob& live) {
    std::string id = fmt::format("{}/{}/{}", live.name_space, lower_case(live.kind), live.name);
    if (!jobs_.contains(id) || live.queue.empty()) return;
    kueue::Workload workload{.name_space = live.name_space, .name = live.name, .queue = live.queue};
    workload.created_at = on_clock(live.created.value_or(cluster_.origin) * kSecond);
    const auto& classes = made_->objects.priority_classes;
    if (const auto found = classes.find(live.priority_class); found != classes.end())
      workload.priority = found->second;
    workload.quota_reserved_at = on_clock(live.started.value_or(cluster_.origin) * kSecond);
    workload.pod_sets = live.pod_sets;
    for (std::size_t i = 0; i < workload.pod_sets.size(); ++i) {
      workload.pod_sets[i].min_count.reset();
      if (live.stage == PodsStage::Running) workload.pod_sets[i].count = live.active[i];
    }
    made_->workloads.emplace(std::move(id), std::move(workload));
  }

  const KubernetesObjects& all_;
  const LiveState& state_;
  ClusterNow& cluster_;
  std::shared_ptr<kueue::LiveObjects> made_ = std::make_shared<kueue::LiveObjects>();
  std::set<std::string, std::less<>> jobs_;  ///< names of the jobs of the question
};

}  // namespace

Result<std::shared_ptr<const kueue::LiveObjects>> make_kueue_objects(const LiveState& state,
                                                                     ClusterNow& cluster) {
  return ObjectsMaker(state, cluster).make();
}

}  // namespace vtrain
