/// Kubernetes' objects as `kubectl get -o json` prints them, against their right reading.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "policies/tenants/kueue/cache.hpp"
#include "policies/tenants/kueue/labels.hpp"
#include "tests/support/shared_data.hpp"
#include "tests/unit/tools/live/kubernetes_support.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

template <class Value>
json or_null(const std::optional<Value>& value) {
  return value ? json(*value) : json();
}
json or_null(const std::string& text) {
  return text.empty() ? json() : json(text);
}

json instant_text_of(kueue::Instant time) {
  return instant_text(time / 1'000'000'000);
}

json used_json(const FlavorAmounts& amounts) {
  json object = json::object();
  for (const auto& [what, amount] : amounts)
    object[what.first + "/" + what.second] = amount;
  return object;
}

json quotas_json(const std::vector<kueue::ResourceGroup>& groups) {
  json list = json::array();
  for (const kueue::ResourceGroup& group : groups) {
    for (const kueue::FlavorQuotas& flavor : group.flavors) {
      for (const kueue::ResourceQuota& quota : flavor.resources) {
        list.push_back({{"flavor", flavor.flavor},
                        {"resource", quota.resource},
                        {"nominal", quota.nominal},
                        {"borrowing_limit", or_null(quota.borrowing_limit)},
                        {"lending_limit", or_null(quota.lending_limit)}});
      }
    }
  }
  return list;
}

json pod_sets_json(const std::vector<kueue::PodSet>& sets) {
  json list = json::array();
  for (const kueue::PodSet& set : sets) {
    json object = {{"name", set.name}, {"count", set.count}, {"per_pod", json::object()}};
    for (const auto& [resource, amount] : set.requests)
      object["per_pod"][resource] = amount;
    if (set.min_count) object["min_count"] = *set.min_count;
    list.push_back(std::move(object));
  }
  return list;
}

json total_json(const std::vector<kueue::PodSet>& sets) {
  LiveWorkload all;
  all.workload.pod_sets = sets;
  return json(all.total());
}

const LiveQueueStatus* status_of(const KubernetesObjects& objects, const std::string& kind,
                                 const std::string& name) {
  for (const LiveQueueStatus& each : objects.queue_statuses) {
    if (each.kind == kind && each.name == name) return &each;
  }
  return nullptr;
}

json flavor_json(const kueue::ResourceFlavor& flavor, const json& expected) {
  json taints = json::array();
  for (const kueue::Taint& taint : flavor.node_taints) {
    const kueue::ResourceFlavor only{
        .name = "", .node_labels = {}, .node_taints = {taint}, .tolerations = flavor.tolerations};
    if (!kueue::suits(only, {}))
      taints.push_back(fmt::format("{}={}:{}", taint.key, taint.value, taint.effect));
  }
  json object = {{"node_labels", json(flavor.node_labels)}, {"taints_a_pod_must_tolerate", taints}};
  if (!expected.contains("node_labels")) object.erase("node_labels");
  return object;
}

json queue_json(const kueue::ClusterQueue& queue, const KubernetesObjects& objects, const json& expected) {
  json object = {
      {"cohort", or_null(queue.cohort)},
      {"queueing_strategy", kueue::kQueueingStrategyNames[static_cast<std::size_t>(queue.queueing_strategy)]},
      {"fair_weight", queue.fair_weight},
      {"stopped", queue.stop_policy != kueue::StopPolicy::None},
      {"quotas", quotas_json(queue.resource_groups)}};
  const auto policy_name = [](kueue::PreemptionPolicy policy) {
    return kueue::kPreemptionPolicyNames[static_cast<std::size_t>(policy)];
  };
  json borrow = {{"policy", queue.preemption.borrow_within_cohort.is_allowed ? "LowerPriority" : "Never"}};
  if (const auto& most = queue.preemption.borrow_within_cohort.max_priority_threshold)
    borrow["max_priority_threshold"] = *most;
  object["preemption"] = {{"within_cluster_queue", policy_name(queue.preemption.within_cluster_queue)},
                          {"reclaim_within_cohort", policy_name(queue.preemption.reclaim_within_cohort)},
                          {"borrow_within_cohort", borrow}};
  const auto rule_name = [](kueue::Fungibility rule) {
    return kueue::kFungibilityNames[static_cast<std::size_t>(rule)];
  };
  const bool is_other =
      queue.flavor_fungibility.preference == kueue::FungibilityPreference::PreemptionOverBorrowing;
  object["flavor_fungibility"] = {{"when_can_borrow", rule_name(queue.flavor_fungibility.when_can_borrow)},
                                  {"when_can_preempt", rule_name(queue.flavor_fungibility.when_can_preempt)},
                                  {"preference", is_other ? json("PreemptionOverBorrowing") : json()}};
  // The default is written out, or not.
  if (!is_other && expected.contains("flavor_fungibility") &&
      expected["flavor_fungibility"].value("preference", json()) == "BorrowingOverPreemption")
    object["flavor_fungibility"]["preference"] = "BorrowingOverPreemption";
  json order = json::object();
  for (const kueue::ResourceGroup& group : queue.resource_groups) {
    for (const std::string& resource : group.covered_resources) {
      for (const kueue::FlavorQuotas& flavor : group.flavors)
        order[resource].push_back(flavor.flavor);
    }
  }
  object["flavor_order"] = order;
  object["namespace_matches"] = json::object();
  const json matches = expected.value("namespace_matches", json::object());
  for (const auto& each : matches.items()) {
    const kueue::Labels labels = json::parse(each.key()).get<kueue::Labels>();
    object["namespace_matches"][each.key()] =
        !queue.namespace_selector || kueue::matches(*queue.namespace_selector, labels);
  }
  if (const LiveQueueStatus* const status = status_of(objects, "ClusterQueue", queue.name)) {
    // A queue without a status is active unless it is stopped.
    object["active"] = status->is_active.value_or(queue.stop_policy == kueue::StopPolicy::None);
    object["used"] = used_json(status->used);
  }
  return object;
}

json workload_json(const LiveWorkload& live) {
  const kueue::Workload& workload = live.workload;
  json object = {{"state", kWorkloadStageNames[static_cast<std::size_t>(live.stage)]},
                 {"reason", live.reason},
                 {"namespace", workload.name_space},
                 {"queue", kueue::full_name(workload.name_space, workload.queue)},
                 {"priority", workload.priority},
                 {"priority_class", or_null(live.priority_class)},
                 {"holds_quota", live.holds_quota()},
                 {"running", live.stage == WorkloadStage::Admitted},
                 {"queued", live.stage == WorkloadStage::Pending},
                 {"pod_sets", pod_sets_json(workload.pod_sets)},
                 {"total", json(live.total())},
                 {"queue_order_time",
                  instant_text_of(kueue::queue_time_of(workload.created_at, workload.conditions, {}))},
                 {"past_execution_seconds", live.past_execution_s},
                 {"maximum_execution_seconds", or_null(live.most_execution_s)},
                 {"requeue_not_before", instant_text(live.requeue_at)},
                 {"admitted_at", instant_text(live.admitted_at)},
                 {"finished_at", instant_text(live.finished_at)}};
  json counts = {{"specified", 0}, {"minimum", 0}, {"reclaimable", 0}};
  const auto add = [&counts](const char* key, std::int64_t more) {
    counts[key] = counts.value(key, std::int64_t{0}) + more;
  };
  for (const kueue::PodSet& set : workload.pod_sets) {
    add("specified", set.count);
    add("minimum", set.min_count.value_or(set.count));
    add("reclaimable", set.reclaimable);
  }
  if (workload.admission) {
    object["cluster_queue"] = workload.admission->cluster_queue;
    object["usage"] = used_json(live.usage());
    object["quota_reserved_at"] = instant_text_of(workload.quota_reserved_at);
    for (const kueue::AdmittedPodSet& set : workload.admission->pod_sets)
      add("admitted", set.count);
    object["admitted_count"] = counts["admitted"];
  }
  object["counts"] = counts;
  if (workload.conditions.evicted_at) {
    json eviction = {{"reason", workload.conditions.evicted_reason},
                     {"at", instant_text_of(*workload.conditions.evicted_at)}};
    if (workload.conditions.preempted_at) eviction["preempted_for"] = workload.conditions.preempted_reason;
    object[live.stage == WorkloadStage::Evicting ? "eviction" : "was_evicted"] = eviction;
  }
  return object;
}

json job_json(const LiveBatchJob& job) {
  return {{"managed_by_kueue", !job.queue.empty()},
          {"namespace", job.name_space},
          {"queue", job.queue.empty() ? json() : json(job.name_space + "/" + job.queue)},
          {"priority_class", or_null(job.priority_class)},
          {"suspended", job.is_suspended},
          {"pod_sets", pod_sets_json(job.pod_sets)},
          {"total", total_json(job.pod_sets)},
          {"workload_name_prefix", job.workload_prefix()}};
}

json group_json(const LivePodGroup& group) {
  json object = {{"api", group.api},
                 {"namespace", group.name_space},
                 {"gang", group.is_gang},
                 {"queue", or_null(group.queue)},
                 {"priority", or_null(group.priority)},
                 {"priority_class", or_null(group.priority_class)},
                 {"minimum_by_task", json(group.minimum_by_task)},
                 {"evicted_as_a_whole", group.is_evicted_whole}};
  if (group.is_gang) object["minimum"] = group.minimum;
  if (group.stage) object["state"] = kPodsStageNames[static_cast<std::size_t>(*group.stage)];
  return object;
}

json gang_json(const LiveGangWorkload& workload) {
  json groups = json::object();
  for (const auto& [name, minimum] : workload.groups)
    groups[name] = or_null(minimum);
  return {{"api", "kubernetes"}, {"namespace", workload.name_space}, {"groups", groups}};
}

json node_json(const LiveKubernetesNode& node, const std::vector<kueue::ResourceFlavor>& flavors) {
  const kueue::ResourceFlavor* const flavor = flavor_of_node(node.labels, flavors);
  return {{"schedulable", node.is_schedulable},
          {"flavor_by_labels", flavor == nullptr ? json() : json(flavor->name)},
          {"allocatable", json(node.allocatable)}};
}

/// The reading of the object that an entry is about; null if there is none.
json reading_of(const json& entry, const KubernetesObjects& objects,
                const std::vector<kueue::ResourceFlavor>& flavors) {
  const std::string kind = entry["kind"];
  const std::string name = entry["name"];
  const bool is_kubernetes = entry.value("api", "") == "kubernetes";
  if (kind == "Workload" && !is_kubernetes) {
    for (const LiveWorkload& each : objects.workloads) {
      if (each.workload.name == name) return workload_json(each);
    }
  }
  const auto named = [&name](const auto& list, const auto& write) -> json {
    for (const auto& each : list) {
      if (each.name == name) return write(each);
    }
    return {};
  };
  if (kind == "Workload") return named(objects.gang_workloads, gang_json);
  if (kind == "PodGroup") return named(objects.pod_groups, group_json);
  if (kind == "Job" || kind == "JobSet") return named(objects.jobs, job_json);
  if (kind == "Node")
    return named(objects.nodes, [&](const LiveKubernetesNode& node) { return node_json(node, flavors); });
  const kueue::Objects& queues = objects.queues.objects;
  if (kind == "ResourceFlavor")
    return named(queues.resource_flavors,
                 [&](const kueue::ResourceFlavor& flavor) { return flavor_json(flavor, entry); });
  if (kind == "ClusterQueue")
    return named(queues.cluster_queues,
                 [&](const kueue::ClusterQueue& queue) { return queue_json(queue, objects, entry); });
  if (kind == "Cohort") {
    return named(queues.cohorts, [](const kueue::Cohort& cohort) -> json {
      return {{"parent", or_null(cohort.parent)},
              {"fair_weight", cohort.fair_weight},
              {"quotas", quotas_json(cohort.resource_groups)}};
    });
  }
  if (kind == "LocalQueue") {
    return named(queues.local_queues, [&](const kueue::LocalQueue& queue) -> json {
      const LiveQueueStatus* const status = status_of(objects, "LocalQueue", queue.name);
      return {{"namespace", queue.name_space},
              {"cluster_queue", queue.cluster_queue},
              {"stopped", queue.stop_policy != kueue::StopPolicy::None},
              {"used", status == nullptr ? json() : used_json(status->used)}};
    });
  }
  return {};
}

/// Lists whose order means nothing, sorted.
json in_order(const std::string& key, json value) {
  if (key == "quotas" || key == "taints_a_pod_must_tolerate") std::sort(value.begin(), value.end());
  return value;
}

}  // namespace

TEST_CASE("kubernetes: every object is read as its right reading says, each field") {
  const auto folder = std::filesystem::path(VTRAIN_SHARED_DIR) / "golden/kueue/objects";
  if (!have(folder / "expected.json")) return;
  const json files = json::parse(content_of(folder / "expected.json"))["files"];
  std::vector<kueue::ResourceFlavor> flavors;
  std::vector<std::pair<std::string, LiveState>> states;
  for (const auto& file : files.items()) {
    auto state = state_of({content_of(folder / file.key())});
    REQUIRE_MESSAGE(state, state.error().describe());
    for (const kueue::ResourceFlavor& flavor : state->kubernetes.queues.objects.resource_flavors)
      flavors.push_back(flavor);
    states.emplace_back(file.key(), *std::move(state));
  }
  std::size_t num_fields = 0;
  for (const auto& [file, state] : states) {
    for (const json& entry : files[file]) {
      const std::string& name_of_file = file;
      INFO(name_of_file << ": " << entry["kind"].dump() << " " << entry["name"].dump());
      const json reading = reading_of(entry, state.kubernetes, flavors);
      REQUIRE(reading.is_object());
      for (const auto& field : entry.items()) {
        const std::string& key = field.key();
        if (key == "kind" || key == "name" || key == "note") continue;
        CAPTURE(key);
        REQUIRE(reading.contains(key));
        CHECK(json::diff(in_order(key, field.value()), in_order(key, reading[key])).dump() == "[]");
        ++num_fields;
      }
    }
  }
  CHECK(num_fields >= 100);
}

}  // namespace vtrain
