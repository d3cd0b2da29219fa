#include "policies/tenants/kueue/cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace vtrain::kueue {
namespace {

constexpr Instant kMillisecond = 1'000'000;

std::optional<std::uint32_t> position_of(const std::vector<std::string>& sorted, std::string_view name) {
  const auto found = std::ranges::lower_bound(sorted, name);
  if (found == sorted.end() || *found != name) return std::nullopt;
  return static_cast<std::uint32_t>(found - sorted.begin());
}

std::uint32_t known_position(const std::vector<std::string>& sorted, std::string_view name) {
  const auto found = position_of(sorted, name);
  if (!found) throw std::logic_error(fmt::format("the name '{}' was not made known", name));
  return *found;
}

/// Everything that makes two workloads alike to the scheduler, as a text.
std::string shape_text(const Workload& workload) {
  std::string text = fmt::format("{}", workload.priority);
  const auto add_expression = [&](const LabelExpression& each) {
    fmt::format_to(std::back_inserter(text), "\x1f{}{}", each.key, static_cast<int>(each.op));
    for (const std::string& value : each.values)
      fmt::format_to(std::back_inserter(text), "\x1e{}", value);
  };
  for (const PodSet& set : workload.pod_sets) {
    fmt::format_to(std::back_inserter(text), "\n{}\x1f{}\x1f{}", set.name, set.count,
                   set.min_count.value_or(set.count));
    for (const auto& [resource, amount] : set.requests)
      fmt::format_to(std::back_inserter(text), "\x1f{}={}", resource, amount);
    for (const auto& [key, value] : set.nodes.node_selector)
      fmt::format_to(std::back_inserter(text), "\x1fs{}={}", key, value);
    for (const auto& term : set.nodes.required_node_affinity) {
      text += "\x1ft";
      for (const LabelExpression& each : term)
        add_expression(each);
    }
    for (const Toleration& each : set.nodes.tolerations) {
      fmt::format_to(std::back_inserter(text), "\x1fo{}\x1e{}\x1e{}\x1e{}", each.key, each.is_exists,
                     each.value, each.effect);
    }
  }
  return text;
}

}  // namespace

Instant queue_time_of(Instant created_at, const QueueConditions& conditions, const Settings& settings) {
  if (conditions.evicted_at) {
    const bool counts_eviction = settings.requeuing_timestamp == RequeuingTimestamp::Eviction &&
                                 conditions.evicted_reason == "PodsReadyTimeout";
    if (counts_eviction || conditions.evicted_reason == "AdmissionCheck") return *conditions.evicted_at;
  }
  if (!settings.gates.priority_sorting_within_cohort && conditions.preempted_at &&
      conditions.preempted_reason == "InCohortReclaimWhileBorrowing") {
    return *conditions.preempted_at + kMillisecond;
  }
  return created_at;
}

bool Cache::HolderOrder::operator()(WorkloadId a, WorkloadId b) const {
  const WorkloadInfo& left = (*workloads)[a];
  const WorkloadInfo& right = (*workloads)[b];
  if (left.is_evicted != right.is_evicted) return left.is_evicted;
  if (left.priority != right.priority) return left.priority < right.priority;
  if (left.reserved_at != right.reserved_at) return left.reserved_at > right.reserved_at;
  if (const int order = left.uid.compare(right.uid); order != 0) return order < 0;
  return a < b;
}

Cache::Cache(Settings settings) : settings_(std::move(settings)) {}

void Cache::know(const std::vector<ResourceGroup>& groups) {
  for (const ResourceGroup& group : groups) {
    for (const std::string& resource : group.covered_resources)
      know_resource(resource);
    for (const FlavorQuotas& flavor : group.flavors) {
      know_flavor(flavor.flavor);
      for (const ResourceQuota& quota : flavor.resources)
        know_resource(quota.resource);
    }
  }
}

void Cache::set(const ClusterQueue& queue) {
  const auto [place, is_new] = queue_ids_.try_emplace(queue.name, static_cast<QueueId>(queues_.size()));
  if (is_new) {
    queues_.emplace_back();
    holders_.emplace_back(HolderOrder{&workloads_});
  }
  queues_[place->second].object = queue;
  know(queue.resource_groups);
}

void Cache::set(const Cohort& cohort) {
  cohorts_[cohort.name] = cohort;
  know(cohort.resource_groups);
}

void Cache::set(const ResourceFlavor& flavor) {
  flavor_objects_[flavor.name] = flavor;
  know_flavor(flavor.name);
}

void Cache::set(const LocalQueue& queue) {
  local_queues_[{queue.name_space, queue.name}] = queue;
}

void Cache::set(const Objects& objects) {
  for (const ResourceFlavor& each : objects.resource_flavors)
    set(each);
  for (const Cohort& each : objects.cohorts)
    set(each);
  for (const ClusterQueue& each : objects.cluster_queues)
    set(each);
  for (const LocalQueue& each : objects.local_queues)
    set(each);
  for (const auto& [name, labels] : objects.namespaces)
    set_namespace(name, labels);
}

bool Cache::is_too_large() const {
  // Each queue and each cohort names at most one cohort more. A cell has 64 bytes.
  constexpr std::size_t kMostCells = 10'000'000;
  const std::size_t nodes = 2 * (queues_.size() + cohorts_.size()) + 1;
  const std::size_t columns = (more_resources_.size() + 1) * (more_flavors_.size() + 1);
  return nodes > kMostCells || columns > kMostCells || nodes * columns > kMostCells;
}

void Cache::number_names() {
  know_resource("pods");
  resource_names_.assign(more_resources_.begin(), more_resources_.end());
  flavor_names_.assign(more_flavors_.begin(), more_flavors_.end());
  for (std::size_t column = 0; column < flavor_names_.size() * resource_names_.size(); ++column)
    resource_of_column_.push_back(resource_of(static_cast<FlavorResource>(column)));
}

NodeId Cache::cohort_node(const std::string& name) {
  if (const auto found = node_ids_.find(name); found != node_ids_.end()) return found->second;
  const NodeId node = tree_->add_cohort();
  node_ids_.emplace(name, node);
  node_names_.push_back(name);
  queue_at_.push_back(kNone);
  return node;
}

void Cache::set_quotas(NodeId node, const std::vector<ResourceGroup>& groups) {
  std::set<std::string_view> covered;
  for (const ResourceGroup& group : groups) {
    std::set<std::string_view> here;
    for (const FlavorQuotas& flavor : group.flavors) {
      for (const ResourceQuota& quota : flavor.resources) {
        if (covered.contains(quota.resource)) continue;
        here.insert(quota.resource);
        tree_->set_quota(node,
                         column(known_position(flavor_names_, flavor.flavor),
                                known_position(resource_names_, quota.resource)),
                         {.nominal = quota.nominal,
                          .borrowing_limit = quota.borrowing_limit,
                          .lending_limit = quota.lending_limit});
      }
    }
    covered.insert(here.begin(), here.end());
  }
}

void Cache::describe_groups(QueueInfo& queue) {
  queue.groups.clear();
  queue.group_of.assign(resource_names_.size(), kNone);
  queue.is_active = queue.object.stop_policy == StopPolicy::None;
  for (const ResourceGroup& group : queue.object.resource_groups) {
    GroupInfo info;
    for (const std::string& name : group.covered_resources) {
      const ResourceId resource = known_position(resource_names_, name);
      if (queue.group_of[resource] != kNone) continue;
      queue.group_of[resource] = static_cast<std::uint32_t>(queue.groups.size());
      info.covered.push_back(resource);
    }
    for (const FlavorQuotas& each : group.flavors) {
      const FlavorId flavor = known_position(flavor_names_, each.flavor);
      info.flavors.push_back(flavor);
      queue.is_active = queue.is_active && flavors_[flavor] != nullptr;
    }
    queue.groups.push_back(std::move(info));
  }
  queue.covers_pods = queue.group_of[known_position(resource_names_, "pods")] != kNone;
}

void Cache::build_tree() {
  tree_ = std::make_unique<QuotaTree>(flavor_names_.size() * resource_names_.size());
  node_ids_.clear();
  node_names_.clear();
  queue_at_.clear();
  // Nodes are made in the order of names, so that nothing depends on the order in which objects are written.
  for (const auto& [name, cohort] : cohorts_)
    cohort_node(name);
  for (const auto& [name, cohort] : cohorts_) {
    if (!cohort.parent.empty()) cohort_node(cohort.parent);
  }
  for (const auto& [name, id] : queue_ids_) {
    const std::string& cohort = queues_[id].object.cohort;
    if (!cohort.empty()) cohort_node(cohort);
  }
  for (const auto& [name, cohort] : cohorts_) {
    const NodeId node = cohort_node(name);
    if (!cohort.parent.empty()) tree_->set_parent(node, cohort_node(cohort.parent));
    tree_->set_weight(node, cohort.fair_weight);
    set_quotas(node, cohort.resource_groups);
  }
  for (const auto& [name, id] : queue_ids_) {
    QueueInfo& queue = queues_[id];
    describe_groups(queue);
    queue.node = tree_->add_cluster_queue();
    node_names_.push_back(name);
    queue_at_.push_back(id);
    // Quota of an inactive queue is no part of the tree.
    if (queue.is_active && !queue.object.cohort.empty())
      tree_->set_parent(queue.node, cohort_node(queue.object.cohort));
    tree_->set_weight(queue.node, queue.object.fair_weight);
    set_quotas(queue.node, queue.object.resource_groups);
    ++queue.generation;
  }
  tree_->finish();
  shares_ = std::make_unique<ShareCalculator>(*tree_, resource_of_column_);
}

void Cache::rebuild() {
  if (resource_names_.empty()) number_names();
  flavors_.assign(flavor_names_.size(), nullptr);
  for (const auto& [name, object] : flavor_objects_)
    flavors_[known_position(flavor_names_, name)] = &object;
  build_tree();
  for (const WorkloadInfo& workload : workloads_) {
    if (workload.state == WorkloadState::Holding)
      tree_->add_usage(queues_[workload.queue].node, workload.usage);
  }
}

std::optional<QueueId> Cache::find_queue(std::string_view name) const {
  const auto found = queue_ids_.find(name);
  return found == queue_ids_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<NodeId> Cache::find_node(std::string_view name) const {
  if (const auto queue = find_queue(name)) return queues_[*queue].node;
  const auto found = node_ids_.find(name);
  return found == node_ids_.end() ? std::nullopt : std::optional(found->second);
}

QueueId Cache::queue_of_local(std::string_view name_space, std::string_view name) const {
  const auto found = local_queues_.find({std::string(name_space), std::string(name)});
  if (found == local_queues_.end() || found->second.stop_policy != StopPolicy::None) return kNone;
  return find_queue(found->second.cluster_queue).value_or(kNone);
}

const Labels& Cache::labels_of_namespace(const std::string& name) const {
  static const Labels kNoLabels;
  const auto found = namespaces_.find(name);
  return found == namespaces_.end() ? kNoLabels : found->second;
}

std::optional<ResourceId> Cache::find_resource(std::string_view name) const {
  return position_of(resource_names_, name);
}

std::optional<FlavorId> Cache::find_flavor(std::string_view name) const {
  return position_of(flavor_names_, name);
}

ShapeId Cache::intern(const Workload& workload) {
  const auto [place, is_new] =
      shape_ids_.try_emplace(shape_text(workload), static_cast<ShapeId>(shapes_.size()));
  if (!is_new) return place->second;
  auto shape = std::make_unique<Shape>(Shape{.priority = workload.priority});
  for (const PodSet& set : workload.pod_sets) {
    PodSetSpec spec{.name = set.name,
                    .count = set.count,
                    .min_count = set.min_count.value_or(set.count),
                    .requests = {},
                    .nodes = set.nodes};
    for (const auto& [resource, amount] : set.requests)
      spec.requests.emplace_back(known_position(resource_names_, resource), amount);
    std::ranges::sort(spec.requests);
    shape->pod_sets.push_back(std::move(spec));
  }
  shapes_.push_back(std::move(shape));
  return place->second;
}

WorkloadId Cache::add(const Workload& workload) {
  const auto id = static_cast<WorkloadId>(workloads_.size());
  WorkloadInfo info{.name_space = workload.name_space,
                    .name = workload.name,
                    .uid = workload.uid,
                    .local_queue = workload.queue,
                    .priority = workload.priority,
                    .created_at = workload.created_at};
  if (workload.conditions != QueueConditions{})
    info.conditions = std::make_unique<QueueConditions>(workload.conditions);
  info.shape = intern(workload);
  if (std::ranges::any_of(workload.pod_sets, [](const PodSet& set) { return set.reclaimable > 0; })) {
    for (const PodSet& set : workload.pod_sets)
      info.reclaimable.push_back(set.reclaimable);
  }
  workloads_.push_back(std::move(info));
  refresh_queue_time(id);
  if (!workload.admission) return id;

  WorkloadInfo& holder = workloads_[id];
  holder.queue = find_queue(workload.admission->cluster_queue).value_or(kNone);
  holder.reserved_at = workload.quota_reserved_at;
  holder.is_admitted = workload.is_admitted;
  holder.is_evicted = workload.is_evicted;
  for (const PodSetSpec& spec : shape_of(id).pod_sets) {
    GivenPodSet& given = holder.given.emplace_back();
    for (const AdmittedPodSet& set : workload.admission->pod_sets) {
      if (set.name != spec.name) continue;
      given.count = set.count;
      for (const AssignedResource& each : set.resources) {
        given.resources.push_back({.resource = known_position(resource_names_, each.resource),
                                   .flavor = known_position(flavor_names_, each.flavor),
                                   .amount = each.amount});
      }
    }
  }
  hold(id);
  return id;
}

std::int64_t Cache::live_pods(WorkloadId id, std::size_t pod_set) const {
  const std::int64_t count = shape_of(id).pod_sets[pod_set].count;
  const std::vector<std::int64_t>& done = workloads_[id].reclaimable;
  if (done.empty() || !settings_.gates.reclaimable_pods) return count;
  return std::max<std::int64_t>(0, count - done[pod_set]);
}

Usage Cache::usage_of(const WorkloadInfo& workload) const {
  Usage usage;
  const auto id = static_cast<WorkloadId>(&workload - workloads_.data());
  for (std::size_t i = 0; i < workload.given.size(); ++i) {
    const GivenPodSet& given = workload.given[i];
    const std::int64_t live = live_pods(id, i);
    for (const GivenResource& each : given.resources) {
      const Amount amount = live < given.count ? each.amount / given.count * live : each.amount;
      add_to(usage, column(each.flavor, each.resource), amount);
    }
  }
  return usage;
}

void Cache::hold(WorkloadId id) {
  WorkloadInfo& workload = workloads_[id];
  workload.state = WorkloadState::Holding;
  workload.usage = usage_of(workload);
  if (tree_) tree_->add_usage(queues_[workload.queue].node, workload.usage);
  holders_[workload.queue].insert(id);
}

void Cache::reserve(WorkloadId id, std::vector<GivenPodSet> given, Instant now) {
  WorkloadInfo& workload = workloads_[id];
  workload.given = std::move(given);
  workload.reserved_at = now;
  workload.is_admitted = true;
  hold(id);
}

void Cache::release(WorkloadId id) {
  WorkloadInfo& workload = workloads_[id];
  holders_[workload.queue].erase(id);
  tree_->remove_usage(queues_[workload.queue].node, workload.usage);
  workload.usage = {};
  workload.given = {};
  workload.is_admitted = false;
  workload.is_evicted = false;
  workload.state = WorkloadState::Waiting;
  bump_generation(workload.queue);
}

void Cache::mark_evicted(WorkloadId id) {
  WorkloadInfo& workload = workloads_[id];
  Holders& holders = holders_[workload.queue];
  holders.erase(id);
  workload.is_evicted = true;
  holders.insert(id);
  bump_generation(workload.queue);
}

void Cache::hide(WorkloadId id) {
  const WorkloadInfo& workload = workloads_[id];
  holders_[workload.queue].erase(id);
  tree_->remove_usage(queues_[workload.queue].node, workload.usage);
}

void Cache::show(WorkloadId id) {
  const WorkloadInfo& workload = workloads_[id];
  holders_[workload.queue].insert(id);
  tree_->add_usage(queues_[workload.queue].node, workload.usage);
}

void Cache::set_reclaimable(WorkloadId id, std::vector<std::int64_t> pods) {
  WorkloadInfo& workload = workloads_[id];
  workload.reclaimable = std::move(pods);
  if (workload.state != WorkloadState::Holding) return;
  const NodeId node = queues_[workload.queue].node;
  tree_->remove_usage(node, workload.usage);
  workload.usage = usage_of(workload);
  tree_->add_usage(node, workload.usage);
  bump_generation(workload.queue);
}

void Cache::refresh_queue_time(WorkloadId id) {
  WorkloadInfo& workload = workloads_[id];
  workload.queue_time = workload.conditions
                            ? queue_time_of(workload.created_at, *workload.conditions, settings_)
                            : workload.created_at;
}

}  // namespace vtrain::kueue
