/// Jobs, JobSets and PodGroups.
#include <algorithm>
#include <limits>

#include "core/base/numbers.hpp"
#include "tools/live/kubernetes_pods.hpp"
#include "tools/live/kubernetes_readers.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

constexpr std::string_view kQueueLabel = "kueue.x-k8s.io/queue-name";
constexpr std::string_view kPriorityClassLabel = "kueue.x-k8s.io/priority-class";
constexpr std::string_view kMinimumAnnotation = "kueue.x-k8s.io/job-min-parallelism";
constexpr std::int64_t kMostPodsTogether = 10'000'000;

/// Pods of a Job that run at a time: no more than it needs to complete.
std::int64_t pods_of(KubernetesFields& fields, const json& job_spec) {
  const std::int64_t parallelism = fields.count(job_spec, "parallelism", 1);
  return std::min(parallelism, fields.count(job_spec, "completions", parallelism));
}

kueue::PodSet read_pod_set(KubernetesFields& fields, const json& job_spec, std::string name,
                           std::int64_t count) {
  const json& pod_template = fields.object(job_spec, "template");
  return {.name = std::move(name),
          .count = count,
          .min_count = {},
          .requests = read_pod_requests(fields, pod_template),
          .nodes = read_node_choice(fields, pod_template)};
}

/// Fields that Jobs and JobSets have alike.
LiveBatchJob read_common(KubernetesFields& fields, const json& object, std::string kind) {
  const json& metadata = fields.object(object, "metadata");
  LiveBatchJob job{.kind = std::move(kind)};
  job.name = read_name(fields, object);
  job.name_space = read_namespace(fields, object);
  const kueue::Labels labels = fields.labels(metadata, "labels");
  const auto label = [&labels](std::string_view key) {
    const auto found = labels.find(std::string(key));
    return found == labels.end() ? "" : found->second;
  };
  job.queue = label(kQueueLabel);
  job.priority_class = label(kPriorityClassLabel);
  const kueue::Labels annotations = fields.labels(metadata, "annotations");
  if (const auto model = annotations.find(kModelAnnotation); model != annotations.end())
    job.model = model->second;
  job.created = fields.instant(metadata, "creationTimestamp");
  job.owner = fields.owner(metadata);
  if (!KubernetesFields::has(object, "spec")) fields.complain(object, "spec", "missing");
  job.is_suspended = fields.boolean(fields.object(object, "spec"), "suspend", false);
  return job;
}

/// Ends a job whose status has a condition of the type.
void end_by(KubernetesFields& fields, const json& status, std::string_view type, LiveBatchJob& job) {
  if (!fields.has_condition(status, type)) return;
  job.stage = PodsStage::Ended;
  job.has_failed = type == "Failed";
  job.ended = fields.instant(fields.condition(status, type), "lastTransitionTime");
}

/// Number in an annotation of a Job, where it must be one.
void read_minimum(KubernetesFields& fields, const json& object, kueue::PodSet& set) {
  const json& metadata = fields.object(object, "metadata");
  const kueue::Labels annotations = fields.labels(metadata, "annotations");
  const auto found = annotations.find(std::string(kMinimumAnnotation));
  if (found == annotations.end()) return;
  const auto number = parse_integer(found->second, 1, kMostPodsTogether);
  if (number)
    set.min_count = *number;
  else
    fields.complain(metadata, "annotations", number.error().message);
}

/// Owner under a `controllerRef`, which names a group without version.
OwnerReference read_controller(KubernetesFields& fields, const json& spec) {
  const json& controller = fields.object(spec, "controllerRef");
  return {.api = fields.text(controller, "apiGroup"),
          .kind = fields.text(controller, "kind"),
          .name = fields.text(controller, "name")};
}

/// Fewest pods of a `schedulingPolicy`; none for the basic one.
std::optional<std::int64_t> read_gang(KubernetesFields& fields, const json& of) {
  const json& policy = fields.object(of, "schedulingPolicy");
  if (!KubernetesFields::has(policy, "gang")) return std::nullopt;
  return fields.count(fields.object(policy, "gang"), "minCount", 1);
}

LivePodGroup read_group(KubernetesFields& fields, const json& object, std::string api) {
  const json& metadata = fields.object(object, "metadata");
  const json& spec = fields.object(object, "spec");
  LivePodGroup group{.api = std::move(api)};
  group.name = read_name(fields, object);
  group.name_space = read_namespace(fields, object);
  group.created = fields.instant(metadata, "creationTimestamp");
  group.owner = fields.owner(metadata);
  group.priority_class = fields.text(spec, "priorityClassName");
  group.priority = fields.integer(spec, "priority", std::numeric_limits<std::int32_t>::min(),
                                  std::numeric_limits<std::int32_t>::max());
  return group;
}

}  // namespace

LiveBatchJob read_batch_job(KubernetesFields& fields, const json& object) {
  LiveBatchJob job = read_common(fields, object, "Job");
  const json& spec = fields.object(object, "spec");
  const json& status = fields.object(object, "status");
  job.pod_sets.push_back(read_pod_set(fields, spec, "main", pods_of(fields, spec)));
  read_minimum(fields, object, job.pod_sets.front());
  job.time_limit_s = fields.seconds(spec, "activeDeadlineSeconds");
  job.active = {fields.count(status, "active", 0)};
  job.started = fields.instant(status, "startTime");
  if (job.active.front() > 0) job.stage = PodsStage::Running;
  end_by(fields, status, "Failed", job);
  end_by(fields, status, "Complete", job);
  if (const auto completed = fields.instant(status, "completionTime")) job.ended = completed;
  return job;
}

LiveBatchJob read_job_set(KubernetesFields& fields, const json& object) {
  LiveBatchJob job = read_common(fields, object, "JobSet");
  const json& spec = fields.object(object, "spec");
  const json& status = fields.object(object, "status");
  for (const json& each : fields.objects(spec, "replicatedJobs")) {
    const json& job_spec = fields.object(fields.object(each, "template"), "spec");
    const std::int64_t replicas = fields.count(each, "replicas", 1);
    const std::int64_t pods = kueue::multiply(pods_of(fields, job_spec), replicas);
    if (pods > kMostPodsTogether) fields.complain(each, "replicas", "more pods than a number holds");
    job.pod_sets.push_back(read_pod_set(fields, job_spec, fields.required_text(each, "name"),
                                        std::min(pods, kMostPodsTogether)));
    job.active.push_back(0);
    for (const json& replicated : fields.objects(status, "replicatedJobsStatus")) {
      if (fields.text(replicated, "name") != job.pod_sets.back().name || replicas == 0) continue;
      // The status counts Jobs, each with the same pods.
      const std::int64_t active = std::min(fields.count(replicated, "active", 0), replicas);
      job.active.back() = job.pod_sets.back().count / replicas * active;
      if (active > 0) job.stage = PodsStage::Running;
    }
  }
  const json& suspended = fields.condition(status, "Suspended");
  if (job.stage == PodsStage::Running) {
    job.started = fields.text(suspended, "status") == "False"
                      ? fields.instant(suspended, "lastTransitionTime")
                      : job.created;
  }
  end_by(fields, status, "Failed", job);
  end_by(fields, status, "Completed", job);
  return job;
}

LivePodGroup read_volcano_pod_group(KubernetesFields& fields, const json& object) {
  LivePodGroup group = read_group(fields, object, "volcano");
  const json& spec = fields.object(object, "spec");
  const json& status = fields.object(object, "status");
  group.minimum = fields.count(spec, "minMember", 1);
  const json& tasks = fields.object(spec, "minTaskMember");
  for (const auto& [task, value] : tasks.items())
    group.minimum_by_task[task] = fields.count(tasks, task, 0);
  group.queue = fields.text(spec, "queue");
  group.least = fields.amounts(spec, "minResources");
  const std::string phase = fields.text(status, "phase");
  if (phase == "Running" || phase == "Unknown") group.stage = PodsStage::Running;
  if (phase == "Pending" || phase == "Inqueue") group.stage = PodsStage::Waiting;
  if (phase == "Completed") group.stage = PodsStage::Ended;
  if (fields.has_condition(status, "Unschedulable"))
    group.reason = fields.text(fields.condition(status, "Unschedulable"), "reason");
  return group;
}

LivePodGroup read_pod_group(KubernetesFields& fields, const json& object) {
  LivePodGroup group = read_group(fields, object, "kubernetes");
  const json& spec = fields.object(object, "spec");
  const json& status = fields.object(object, "status");
  const auto gang = read_gang(fields, spec);
  group.is_gang = gang.has_value();
  group.minimum = gang.value_or(1);
  group.is_evicted_whole = fields.text(spec, "disruptionMode") == "PodGroup";
  const json& workload = fields.object(fields.object(spec, "podGroupTemplateRef"), "workload");
  group.gang_workload = fields.text(workload, "workloadName");
  const json& scheduled = fields.condition(status, "PodGroupScheduled");
  if (KubernetesFields::has(scheduled, "status")) {
    group.stage = fields.has_condition(status, "PodGroupScheduled") ? PodsStage::Running : PodsStage::Waiting;
    if (group.stage == PodsStage::Waiting) group.reason = fields.text(scheduled, "reason");
  }
  return group;
}

LiveGangWorkload read_gang_workload(KubernetesFields& fields, const json& object) {
  const json& spec = fields.object(object, "spec");
  LiveGangWorkload workload;
  workload.name = read_name(fields, object);
  workload.name_space = read_namespace(fields, object);
  workload.controller = read_controller(fields, spec);
  for (const json& each : fields.objects(spec, "podGroupTemplates"))
    workload.groups[fields.required_text(each, "name")] = read_gang(fields, each);
  return workload;
}

}  // namespace vtrain
