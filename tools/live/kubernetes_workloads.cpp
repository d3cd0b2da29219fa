/// Workloads of Kueue.
#include <algorithm>

#include "tools/live/kubernetes_pods.hpp"
#include "tools/live/kubernetes_readers.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostPriority = std::int64_t{1} << 40;

kueue::Instant as_nanoseconds(const std::optional<std::int64_t>& seconds) {
  return seconds.value_or(0) * 1'000'000'000;
}

void read_pod_sets(KubernetesFields& fields, const json& spec, std::vector<kueue::PodSet>& sets) {
  for (const json& each : fields.objects(spec, "podSets")) {
    const json& pod_template = fields.object(each, "template");
    kueue::PodSet set{.name = fields.text(each, "name"), .count = fields.count(each, "count", 1)};
    // The API server stores `main` for an absent name.
    if (set.name.empty()) set.name = "main";
    if (KubernetesFields::has(each, "minCount")) set.min_count = fields.count(each, "minCount", 0);
    set.requests = read_pod_requests(fields, pod_template);
    set.nodes = read_node_choice(fields, pod_template);
    if (std::ranges::count(sets, set.name, &kueue::PodSet::name) > 0)
      fields.complain(each, "name", "two pod sets have the name '" + set.name + "'");
    sets.push_back(std::move(set));
  }
}

kueue::Admission read_admission(KubernetesFields& fields, const json& admission) {
  kueue::Admission read{.cluster_queue = fields.required_text(admission, "clusterQueue"), .pod_sets = {}};
  for (const json& each : fields.objects(admission, "podSetAssignments")) {
    kueue::AdmittedPodSet& set = read.pod_sets.emplace_back();
    set.name = fields.text(each, "name");
    if (set.name.empty()) set.name = "main";
    const ResourceAmounts usage = fields.amounts(each, "resourceUsage");
    for (const auto& [resource, flavor] : fields.labels(each, "flavors")) {
      const auto amount = usage.find(resource);
      set.resources.push_back(
          {.resource = resource, .flavor = flavor, .amount = amount == usage.end() ? 0 : amount->second});
    }
    set.count = fields.count(each, "count", 0);
  }
  return read;
}

/// Stage and the instants of its conditions.
void read_stage(KubernetesFields& fields, const json& status, LiveWorkload& live) {
  const auto since = [&](std::string_view type) {
    return fields.instant(fields.condition(status, type), "lastTransitionTime");
  };
  kueue::Workload& workload = live.workload;
  const bool has_quota = fields.has_condition(status, "QuotaReserved");
  const bool is_evicted = fields.has_condition(status, "Evicted");
  workload.is_admitted = has_quota && fields.has_condition(status, "Admitted");
  workload.is_evicted = has_quota && is_evicted;
  if (has_quota) workload.quota_reserved_at = as_nanoseconds(since("QuotaReserved"));
  if (fields.has_condition(status, "Admitted")) live.admitted_at = since("Admitted");
  if (is_evicted) {
    workload.conditions.evicted_at = as_nanoseconds(since("Evicted"));
    workload.conditions.evicted_reason = fields.text(fields.condition(status, "Evicted"), "reason");
  }
  if (fields.has_condition(status, "Preempted")) {
    workload.conditions.preempted_at = as_nanoseconds(since("Preempted"));
    workload.conditions.preempted_reason = fields.text(fields.condition(status, "Preempted"), "reason");
  }
  if (fields.has_condition(status, "Finished")) {
    live.stage = WorkloadStage::Finished;
    live.finished_at = since("Finished");
    live.has_failed = fields.text(fields.condition(status, "Finished"), "reason") == "Failed";
    return;
  }
  if (has_quota) {
    live.stage = is_evicted             ? WorkloadStage::Evicting
                 : workload.is_admitted ? WorkloadStage::Admitted
                                        : WorkloadStage::QuotaReserved;
    return;
  }
  live.stage = live.is_active ? WorkloadStage::Pending : WorkloadStage::Inactive;
  const json& condition = fields.condition(status, "QuotaReserved");
  live.reason = fields.text(condition, "reason");
  live.reason_text = fields.text(condition, "message");
}

}  // namespace

std::string read_name(KubernetesFields& fields, const json& object) {
  return fields.required_text(fields.object(object, "metadata"), "name");
}

std::string read_namespace(KubernetesFields& fields, const json& object) {
  std::string name_space = fields.text(fields.object(object, "metadata"), "namespace");
  return name_space.empty() ? "default" : name_space;
}

LiveWorkload read_kueue_workload(KubernetesFields& fields, const json& object) {
  LiveWorkload live;
  kueue::Workload& workload = live.workload;
  workload.name = read_name(fields, object);
  workload.name_space = read_namespace(fields, object);
  const json& metadata = fields.object(object, "metadata");
  workload.uid = fields.text(metadata, "uid");
  if (!KubernetesFields::has(metadata, "creationTimestamp"))
    fields.complain(metadata, "creationTimestamp", "missing");
  workload.created_at = as_nanoseconds(fields.instant(metadata, "creationTimestamp"));
  live.owner = fields.owner(metadata);
  const kueue::Labels annotations = fields.labels(metadata, "annotations");
  if (const auto model = annotations.find(kModelAnnotation); model != annotations.end())
    live.model = model->second;

  if (!KubernetesFields::has(object, "spec")) fields.complain(object, "spec", "missing");
  const json& spec = fields.object(object, "spec");
  workload.queue = fields.text(spec, "queueName");
  workload.priority = fields.integer(spec, "priority", -kMostPriority, kMostPriority).value_or(0);
  live.priority_class = fields.text(fields.object(spec, "priorityClassRef"), "name");
  if (live.priority_class.empty()) live.priority_class = fields.text(spec, "priorityClassName");
  live.most_execution_s = fields.seconds(spec, "maximumExecutionTimeSeconds");
  read_pod_sets(fields, spec, workload.pod_sets);

  const json& status = fields.object(object, "status");
  for (const json& each : fields.objects(status, "reclaimablePods")) {
    const std::string name = fields.text(each, "name");
    const auto set = std::ranges::find(workload.pod_sets, name.empty() ? "main" : name, &kueue::PodSet::name);
    if (set == workload.pod_sets.end())
      fields.complain(each, "name", expected_found("the name of a pod set", name));
    else
      set->reclaimable = fields.count(each, "count", 0);
  }
  for (const json& each : fields.objects(status, "resourceRequests"))
    live.considered[fields.text(each, "name")] = fields.amounts(each, "resources");
  live.past_execution_s = fields.seconds(status, "accumulatedPastExecutionTimeSeconds").value_or(0);
  live.requeue_at = fields.instant(fields.object(status, "requeueState"), "requeueAt");
  live.is_active = fields.boolean(spec, "active", true);
  read_stage(fields, status, live);
  const bool holds = live.stage != WorkloadStage::Finished && fields.has_condition(status, "QuotaReserved");
  if (!holds) return live;
  if (KubernetesFields::has(status, "admission"))
    workload.admission = read_admission(fields, fields.object(status, "admission"));
  else
    fields.complain(status, "admission", "missing, although QuotaReserved is True");
  return live;
}

}  // namespace vtrain
