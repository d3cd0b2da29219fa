/// Kubernetes' objects as `kubectl get -o json` prints them, against their right reading.
#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "policies/tenants/kueue/cache.hpp"
#include "policies/tenants/kueue/labels.hpp"
#include "tests/support/shared_data.hpp"
#include "tools/live/kubernetes_dump.hpp"
#include "tools/live/read_state.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The state of some texts, each a dump of its own.
Result<LiveState> state_of(const std::vector<std::string>& texts) {
  LiveState state;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (auto added = add_dump(texts[i], fmt::format("{}.json", i), state); !added) return fail(added.error());
  }
  if (auto made = finish_kubernetes(state); !made) return fail(made.error());
  return state;
}

template <class Value>
json or_null(const std::optional<Value>& value) {
  return value ? json(*value) : json();
}
json or_null(const std::string& text) {
  return text.empty() ? json() : json(text);
}

/// An instant as the right reading writes it.
json instant_text(const std::optional<std::int64_t>& seconds) {
  if (!seconds) return {};
  const std::chrono::sys_seconds time{std::chrono::seconds(*seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
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
      INFO(file << ": " << entry["kind"].dump() << " " << entry["name"].dump());
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

namespace {

/// A Workload of one pod set of `pods` with a GPU each; `more` are fields of the spec, `status` is its
/// status.
std::string workload_text(const std::string& name, int pods, const std::string& more = "",
                          const std::string& status = "{}", const std::string& metadata = "") {
  return R"({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": {"name": ")" + name +
         R"(", "namespace": "a", "creationTimestamp": "2026-05-04T09:00:00Z")" + metadata +
         R"(}, "spec": {"queueName": "q", "podSets": [{"name": "main", "count": )" + std::to_string(pods) +
         R"(, "template": {"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}]}}}])" +
         more + R"(}, "status": )" + status + "}";
}

std::string list_text(const std::string& items) {
  return R"({"apiVersion": "v1", "kind": "List", "items": [)" + items + "]}";
}

std::string batch_job_text(const std::string& name, const std::string& spec, const std::string& status,
                           const std::string& metadata = "") {
  return R"({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": ")" + name +
         R"(", "namespace": "a", "creationTimestamp": "2026-05-04T08:00:00Z")" + metadata +
         R"(}, "spec": {"template": {"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "2"}}}]}})" +
         spec + R"(}, "status": )" + status + "}";
}

/// The error of one dump, without the name of its file.
std::string problem_of(const std::string& text) {
  const auto state = state_of({text});
  std::string problem = state ? "" : state.error().describe();
  if (problem.starts_with("0.json")) problem.erase(0, 6);
  return problem;
}

const DumpedJob& job_of(const LiveState& state, const std::string& id) {
  for (const DumpedJob& job : state.jobs) {
    if (job.id == id) return job;
  }
  FAIL("no job " << id);
  return state.jobs.front();
}

}  // namespace

TEST_CASE("kubernetes: a Workload and its Job are one job, in any order of the files") {
  const std::string owner =
      R"(, "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "train",
    "controller": true}])";
  const std::string reserved =
      R"({"conditions": [{"type": "QuotaReserved", "status": "True", "lastTransitionTime": "2026-05-04T09:10:00Z"},
          {"type": "Admitted", "status": "True", "lastTransitionTime": "2026-05-04T09:11:00Z"}],
          "accumulatedPastExecutionTimeSeconds": 600,
          "admission": {"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "count": 4,
            "flavors": {"nvidia.com/gpu": "h100"}, "resourceUsage": {"nvidia.com/gpu": "4"}}]}})";
  const std::string workload = workload_text(
      "job-train-1a2b3", 4, R"(, "priority": -3, "maximumExecutionTimeSeconds": 7200)", reserved, owner);
  const std::string jobs = list_text(
      batch_job_text(
          "train", R"(, "parallelism": 4, "suspend": false)",
          R"({"active": 4, "startTime": "2026-05-04T09:11:05Z"})",
          R"(, "labels": {"kueue.x-k8s.io/queue-name": "q"}, "annotations": {"vtrain.dev/model": "llama3-8b"})") +
      "," + batch_job_text("plain", "", R"({"active": 1, "startTime": "2026-05-04T08:30:00Z"})") + "," +
      batch_job_text("waits", R"(, "suspend": true)", "{}") + "," +
      batch_job_text("old", R"(, "activeDeadlineSeconds": 60)",
                     R"({"startTime": "2026-05-04T08:30:00Z", "completionTime": "2026-05-04T08:40:00Z",
                         "conditions": [{"type": "Complete", "status": "True"}]})") +
      "," + batch_job_text("part", "", "{}", R"(, "ownerReferences": [{"kind": "JobSet", "name": "set"}])"));
  for (const auto& files : {std::vector{workload, jobs}, std::vector{jobs, workload}}) {
    const auto state = state_of(files);
    REQUIRE_MESSAGE(state, state.error().describe());
    CHECK(state->jobs.size() == 4);
    const DumpedJob& job = job_of(*state, "a/job-train-1a2b3");
    CHECK(job.kind == "Workload");
    CHECK(job.name == "train");
    CHECK(job.user == "a");
    CHECK(job.partitions == std::vector<std::string>{"a/q"});
    CHECK(job.is_running());
    CHECK(job.gpus == 4);
    CHECK(job.priority == -3);
    CHECK(job.model == "llama3-8b");
    // 7200 s less the 600 s of an earlier admission.
    CHECK(job.time_limit_s == 6600);
    CHECK(instant_text(job.submit) == "2026-05-04T09:00:00Z");
    CHECK(instant_text(job.start) == "2026-05-04T09:11:00Z");
    const DumpedJob& plain = job_of(*state, "a/job/plain");
    CHECK(plain.is_running());
    CHECK(plain.gpus == 2);
    CHECK(instant_text(plain.start) == "2026-05-04T08:30:00Z");
    const DumpedJob& waits = job_of(*state, "a/job/waits");
    CHECK(waits.is_pending());
    CHECK(waits.reason == "JobSuspended");
    const DumpedJob& old = job_of(*state, "a/job/old");
    CHECK(old.state == "COMPLETED");
    CHECK(*old.end - *old.start == 600);
    CHECK(old.time_limit_s == 60);
    CHECK(state->remarks == decltype(state->remarks){{"jobs that are part of another count with it", 1}});
    CHECK(instant_text(state->kubernetes.latest) == "2026-05-04T09:11:00Z");
  }
}

TEST_CASE("kubernetes: what is not understood, or known already, is counted") {
  const std::string other =
      R"({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "x"}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}, {"apiVersion": "v1", "kind": "Pod"})";
  const auto state = state_of({list_text(workload_text("w", 1) + "," + other), workload_text("w", 2)});
  REQUIRE_MESSAGE(state, state.error().describe());
  CHECK(job_of(*state, "a/w").gpus == 1);
  CHECK(state->remarks ==
        decltype(state->remarks){{"objects of the kind PyTorchJob, kubeflow.org, are not read", 1},
                                 {"objects of the kind Pod are not read", 2},
                                 {"objects that several files have: the first is taken", 1}});
  // Lists of the API have no kind in their items.
  const auto raw = state_of({R"({"apiVersion": "v1", "kind": "NodeList", "items": [{"metadata": {"name": "n"},
    "status": {"allocatable": {"nvidia.com/gpu": "8"}, "conditions": [{"type": "Ready", "status": "Unknown"}]}}]})"});
  REQUIRE_MESSAGE(raw, raw.error().describe());
  REQUIRE(raw->nodes.size() == 1);
  CHECK(raw->nodes.front().gpus == 8);
  CHECK(!raw->nodes.front().takes_jobs);
  CHECK(raw->nodes.front().reason == "not ready");
}

TEST_CASE(
    "kubernetes: pods ask for the larger of containers and init containers, with sidecars and overhead") {
  const auto state = state_of({R"({"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload", "metadata":
    {"name": "w", "creationTimestamp": "2026-05-04T09:00:00.25+02:00"}, "spec": {"podSets": [{"count": 2, "template": {"spec": {
      "initContainers": [{"resources": {"requests": {"cpu": "1"}}, "restartPolicy": "Always"},
                         {"resources": {"requests": {"cpu": "3", "memory": "1Gi"}}}],
      "containers": [{"resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": "8", "amd.com/gpu": 2}}},
                     {"resources": {"requests": {"cpu": 1, "memory": "1e9"}}}],
      "overhead": {"cpu": "250m"}}}}]}})"});
  REQUIRE_MESSAGE(state, state.error().describe());
  const kueue::PodSet& set = state->kubernetes.workloads.front().workload.pod_sets.front();
  CHECK(set.name == "main");
  // The first init container runs beside all others: 1 + 3 cores at first, then 1 + 0.5 + 1.
  CHECK(set.requests == std::vector<std::pair<std::string, kueue::Amount>>{
                            {"amd.com/gpu", 2}, {"cpu", 4250}, {"memory", 1 << 30}});
  CHECK(state->jobs.front().id == "default/w");
  CHECK(state->jobs.front().gpus == 4);
  CHECK(instant_text(state->jobs.front().submit) == "2026-05-04T07:00:00Z");
}

TEST_CASE("kubernetes: a workload whose queues have status and whose nodes are gone") {
  const std::string held =
      R"({"conditions": [{"type": "QuotaReserved", "status": "True", "lastTransitionTime": "2026-05-04T09:10:00Z"},
          {"type": "Admitted", "status": "True", "lastTransitionTime": "2026-05-04T09:11:00Z"}],
          "admission": {"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "count": 12,
            "flavors": {"nvidia.com/gpu": "h100"}, "resourceUsage": {"nvidia.com/gpu": "12"}}]}})";
  const std::string node = R"({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "NAME", "labels":
    {"nvidia.com/gpu.product": "NVIDIA-H100"}}, "spec": {"unschedulable": OFF}, "status": {"allocatable": {"nvidia.com/gpu": "4"}}})";
  const auto with = [&node](const std::string& name, const std::string& off) {
    std::string text = node;
    text.replace(text.find("NAME"), 4, name);
    return text.replace(text.find("OFF"), 3, off);
  };
  const std::string flavor = R"({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata":
    {"name": "h100"}, "spec": {"nodeLabels": {"nvidia.com/gpu.product": "NVIDIA-H100"}}})";
  const std::string queue = R"({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata":
    {"name": "cq"}, "spec": {}, "status": {"flavorsReservation": [{"name": "h100", "resources":
    [{"name": "nvidia.com/gpu", "total": "20"}]}]}})";
  const auto state = state_of({list_text(workload_text("w", 12, "", held) + "," + with("on", "false") + "," +
                                         with("off", "true") + "," + flavor + "," + queue)});
  REQUIRE_MESSAGE(state, state.error().describe());
  CHECK(job_of(*state, "a/w").gpu_type == "NVIDIA-H100");
  REQUIRE(state->nodes.size() == 3);
  CHECK(state->nodes[1].gpus_in_use == 4);
  CHECK(state->nodes[2].gpus == 4);
  CHECK(state->nodes[2].gpu_type == "nvidia-h100");
  CHECK(state->remarks.at("GPUs of running jobs that no node in the files has") == 4);
  CHECK(state->remarks.at("GPUs of running jobs that are taken to be on nodes that take no jobs") == 4);
  CHECK(state->remarks.at("queues that report another usage than that of the workloads in the files") == 1);
}

TEST_CASE("kubernetes: bad input is refused with line and field") {
  CHECK(problem_of(R"({"kind": "List", "apiVersion": "v1", "items": [{)").starts_with(":1:"));
  CHECK(problem_of(R"({"kind": "List", "apiVersion": "v1"})").find("items: missing") != std::string::npos);
  CHECK(problem_of(list_text("{}")).find("items[0].kind: missing") != std::string::npos);
  CHECK(problem_of(list_text("3")).find("items: expected a list of objects") != std::string::npos);
  CHECK(problem_of(list_text(workload_text("w", 1) + ",\n" + workload_text("w", 1)))
            .starts_with(":2: items[1].metadata.name: the Workload 'a/w' stands twice"));
  CHECK(problem_of(workload_text("", 1)).find("metadata.name: expected a text that is not empty") !=
        std::string::npos);
  CHECK(problem_of(workload_text("w", -1)).find("spec.podSets[0].count: expected") != std::string::npos);
  CHECK(problem_of(workload_text("w", 2'000'000'000)).find("spec.podSets[0].count: expected") !=
        std::string::npos);
  CHECK(problem_of(workload_text("w", 1, R"(, "priority": "high")")).find("spec.priority: expected") !=
        std::string::npos);
  CHECK(problem_of(workload_text("w", 1, R"(, "active": "no")"))
            .find("spec.active: expected true or false, found 'no'") != std::string::npos);
  CHECK(problem_of(workload_text("w", 1, R"(, "maximumExecutionTimeSeconds": -5)"))
            .find("spec.maximumExecutionTimeSeconds: expected") != std::string::npos);
  CHECK(problem_of(workload_text("w", 1, "", R"({"conditions": {}})"))
            .find("status.conditions: expected a list of objects, found 'an object'") != std::string::npos);
  CHECK(problem_of(
            workload_text(
                "w", 1, "",
                R"({"conditions": [{"type": "Finished", "status": "True", "lastTransitionTime": "today"}]})"))
            .find("status.conditions[0].lastTransitionTime: expected a time as 2026-11-25T09:16:18Z, found "
                  "'today'") != std::string::npos);
  CHECK(problem_of(
            workload_text("w", 1, "", R"({"conditions": [{"type": "QuotaReserved", "status": "True"}]})"))
            .find("status.admission: missing, although QuotaReserved is True") != std::string::npos);
  CHECK(problem_of(workload_text("w", 1, "", R"({"reclaimablePods": [{"name": "x", "count": 1}]})"))
            .find("status.reclaimablePods[0].name: expected the name of a pod set, found 'x'") !=
        std::string::npos);
  CHECK(problem_of(batch_job_text("j", R"(, "parallelism": 1.5)", "{}")).find("spec.parallelism: expected") !=
        std::string::npos);
  CHECK(problem_of(R"({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status":
    {"allocatable": {"nvidia.com/gpu": "-8"}}})")
            .find("nvidia.com/gpu: expected a quantity of 0 or more, such as 500m or 3Gi, found '-8'") !=
        std::string::npos);
  CHECK(problem_of(R"({"apiVersion": "kueue.x-k8s.io/v1", "kind": "Workload", "metadata": {"name": "n"}})")
            .find("apiVersion: expected one of") != std::string::npos);
  // Of objects that are read together, the file and place of the one that is wrong.
  const std::string queue =
      R"({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "a"},
    "spec": {"stopPolicy": "Maybe"}})";
  const auto wrong = state_of({workload_text("w", 1), list_text(workload_text("v", 1) + ",\n" + queue)});
  REQUIRE(!wrong);
  CHECK(wrong.error().describe().starts_with(
      "1.json:2: items[1].spec.stopPolicy: expected one of None, Hold and HoldAndDrain, found 'Maybe'"));
}

}  // namespace vtrain
