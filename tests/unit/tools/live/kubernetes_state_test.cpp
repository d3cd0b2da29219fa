/// Jobs and nodes that are made of Kubernetes' objects, and objects that are wrong.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/unit/tools/live/kubernetes_support.hpp"

namespace vtrain {
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
  const std::string described = wrong.error().describe();
  CHECK(described.starts_with("1.json:2: items[1].spec.stopPolicy: expected one of"));
  CHECK(described.find("found 'Maybe'") != std::string::npos);
}

}  // namespace vtrain
