/// `vtrain eta` on Kubernetes' objects under `kueue`: answers worked out by hand.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/command_runner.hpp"

namespace vtrain::testing {
namespace {

using nlohmann::json;

/// 2026-05-04T10:30:00Z in seconds since 1970.
constexpr std::int64_t kNow = 1'777'890'600;
constexpr std::int64_t kMinute = 60;

json times(std::int64_t p50, std::int64_t p90) {
  return {{"p50", kNow + p50 * kMinute}, {"p90", kNow + p90 * kMinute}};
}

json list_of(const std::vector<json>& items) {
  return {{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}};
}

json object_of(const std::string& kind, const std::string& name, const json& spec) {
  return {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
          {"kind", kind},
          {"metadata", {{"name", name}, {"creationTimestamp", "2026-05-01T00:00:00Z"}}},
          {"spec", spec}};
}

json node_of(const std::string& name, int gpus, const std::string& product = "NVIDIA-H100") {
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata", {{"name", name}, {"labels", {{"nvidia.com/gpu.product", product}}}}},
          {"spec", json::object()},
          {"status",
           {{"allocatable", {{"cpu", "64"}, {"nvidia.com/gpu", std::to_string(gpus)}}},
            {"conditions", {{{"type", "Ready"}, {"status", "True"}}}}}}};
}

json flavor_of(const std::string& name, const std::string& product) {
  return object_of("ResourceFlavor", name, {{"nodeLabels", {{"nvidia.com/gpu.product", product}}}});
}

/// A queue with GPUs of each flavor.
json queue_of(const std::string& name, const std::vector<std::pair<std::string, int>>& quotas) {
  json flavors = json::array();
  for (const auto& [flavor, gpus] : quotas)
    flavors.push_back(
        {{"name", flavor},
         {"resources", {{{"name", "nvidia.com/gpu"}, {"nominalQuota", std::to_string(gpus)}}}}});
  return object_of("ClusterQueue", name,
                   {{"cohortName", "research"},
                    {"namespaceSelector", json::object()},
                    {"preemption", {{"reclaimWithinCohort", "Any"}}},
                    {"resourceGroups", {{{"coveredResources", {"nvidia.com/gpu"}}, {"flavors", flavors}}}}});
}

json local_queue(const std::string& name_space, const std::string& queue) {
  json object = object_of("LocalQueue", "train", {{"clusterQueue", queue}});
  object["metadata"]["namespace"] = name_space;
  return object;
}

/// A pending workload of pods with a GPU each, submitted some minutes after ten o'clock.
json workload_of(const std::string& name_space, const std::string& name, int minute, int pods, int limit_s) {
  const std::string at =
      "2026-05-04T10:" + std::string(minute < 10 ? "0" : "") + std::to_string(minute) + ":00Z";
  json object = object_of(
      "Workload", name,
      {{"queueName", "train"},
       {"maximumExecutionTimeSeconds", limit_s},
       {"podSets",
        {{{"name", "main"},
          {"count", pods},
          {"template",
           {{"spec", {{"containers", {{{"resources", {{"limits", {{"nvidia.com/gpu", "1"}}}}}}}}}}}}}}}});
  object["metadata"]["namespace"] = name_space;
  object["metadata"]["creationTimestamp"] = at;
  object["status"]["conditions"] = {{{"type", "QuotaReserved"},
                                     {"status", "False"},
                                     {"reason", "WaitingForQuota"},
                                     {"lastTransitionTime", "2026-05-04T10:30:00Z"}}};
  return object;
}

/// A workload that was admitted as soon as it was submitted.
json admitted(json workload, const std::string& queue, const std::string& flavor) {
  const json at = workload["metadata"]["creationTimestamp"];
  const int pods = workload["spec"]["podSets"][0]["count"];
  workload["status"] = {{"conditions",
                         {{{"type", "QuotaReserved"}, {"status", "True"}, {"lastTransitionTime", at}},
                          {{"type", "Admitted"}, {"status", "True"}, {"lastTransitionTime", at}}}},
                        {"admission",
                         {{"clusterQueue", queue},
                          {"podSetAssignments",
                           {{{"name", "main"},
                             {"count", pods},
                             {"flavors", {{"nvidia.com/gpu", flavor}}},
                             {"resourceUsage", {{"nvidia.com/gpu", std::to_string(pods)}}}}}}}}};
  return workload;
}

/// Two teams with 8 GPUs each, who lend to each other; 16 GPUs on two nodes.
void write_teams(const TemporaryFolder& work) {
  work.write("queues.json", list_of({queue_of("vision", {{"h100", 8}}), queue_of("nlp", {{"h100", 8}}),
                                     flavor_of("h100", "NVIDIA-H100"), local_queue("vision", "vision"),
                                     local_queue("nlp", "nlp")})
                                .dump(1));
  work.write("nodes.json", list_of({node_of("a", 8), node_of("b", 8)}).dump(1));
}

const json& job_named(const json& answer, const std::string& name) {
  for (const json& job : answer["jobs"]) {
    if (job["job"] == name) return job;
  }
  FAIL("no job " << name);
  return answer;
}

json stuck_of(const json& answer) {
  json all = json::object();
  for (const json& each : answer["stuck"])
    all[each["job"].get<std::string>()] = each["reason"];
  return all;
}

constexpr const char* kFiles = "eta --now workloads.json queues.json nodes.json --samples 10 --policy kueue ";

}  // namespace

TEST_CASE("kueue eta: workloads start when quota is free, their own and what others lend") {
  const TemporaryFolder work;
  write_teams(work);
  json off = workload_of("vision", "off", 5, 1, 60);
  off["spec"]["active"] = false;
  json lost = workload_of("vision", "lost", 5, 1, 60);
  lost["spec"]["queueName"] = "nowhere";
  work.write("workloads.json",
             list_of({admitted(workload_of("vision", "runs", 0, 8, 3600), "vision", "h100"),
                      admitted(workload_of("vision", "borrows", 10, 4, 7200), "vision", "h100"),
                      workload_of("vision", "big", 20, 8, 1800), workload_of("vision", "small", 25, 4, 3600),
                      workload_of("vision", "huge", 2, 17, 60), off, lost})
                 .dump(1));
  const json answer = run_json(kFiles, work);
  CHECK(answer["now"] == kNow);
  CHECK(answer["cluster"] == "2 x 8 NVIDIA-H100, 16 GPUs");
  REQUIRE(answer["jobs"].size() == 2);
  // 12 of 16 GPUs are held: `small` fits, `big` waits until `runs` ends at 11:00 at the latest.
  const json& big = job_named(answer, "vision/big");
  CHECK(big["start"] == times(30, 30));
  CHECK(big["end"] == times(60, 60));
  CHECK(big["blocked"]["scheduler"] == "WaitingForQuota");
  CHECK(big["blocked"]["policy"] == "WaitingForQuota: 8 nvidia.com/gpu asked, 0 in h100 are free");
  CHECK(big["ahead"] == json::array({"vision/small"}));
  CHECK(big["run_time_from"] == "time limit");
  const json& small = job_named(answer, "vision/small");
  CHECK(small["start"] == times(0, 0));
  CHECK(small["end"] == times(60, 60));
  CHECK(stuck_of(answer) ==
        json{{"vision/off", "deactivated (spec.active is false)"},
             {"vision/lost",
              "its LocalQueue vision/nowhere does not exist, is stopped, or has no ClusterQueue"},
             {"vision/huge", "ExceedsMaxQuota: 17 nvidia.com/gpu asked, at most 16 in h100"}});
  CHECK(run_json(std::string(kFiles) + "--threads 1", work) ==
        run_json(std::string(kFiles) + "--threads 3", work));

  const auto text = run_vtrain(kFiles, work.path());
  CHECK(text.exit_code == 0);
  CHECK(text.out.find("WaitingForQuota: 8 nvidia.com/gpu asked") != std::string::npos);
  CHECK(text.out.find("3 jobs can't start until somebody acts.") != std::string::npos);
}

TEST_CASE("kueue eta: a team takes back what it lent, and its victim waits") {
  const TemporaryFolder work;
  write_teams(work);
  work.write("workloads.json",
             list_of({admitted(workload_of("vision", "runs", 0, 8, 3600), "vision", "h100"),
                      admitted(workload_of("vision", "borrows", 10, 8, 7200), "vision", "h100"),
                      workload_of("nlp", "own", 20, 8, 1800), workload_of("nlp", "next", 25, 8, 600)})
                 .dump(1));
  const json answer = run_json(kFiles, work);
  // `own` is within nlp's quota, so the workload of vision that got its quota last is evicted at once. `next`
  // follows it at 11:00, when `runs` ends as well and `borrows` comes back.
  CHECK(job_named(answer, "nlp/own")["start"] == times(0, 0));
  CHECK(job_named(answer, "nlp/own")["end"] == times(30, 30));
  CHECK(job_named(answer, "nlp/next")["start"] == times(30, 30));
  CHECK(job_named(answer, "nlp/next")["end"] == times(40, 40));
}

TEST_CASE(
    "kueue eta: an admission tells the flavor of a running workload, a selector that of a pending one") {
  const TemporaryFolder work;
  work.write("queues.json",
             list_of({queue_of("vision", {{"h100", 8}, {"a100", 8}}), local_queue("vision", "vision"),
                      flavor_of("h100", "NVIDIA-H100"), flavor_of("a100", "NVIDIA-A100")})
                 .dump(1));
  work.write("nodes.json", list_of({node_of("a", 8), node_of("b", 8, "NVIDIA-A100")}).dump(1));
  json picky = workload_of("vision", "picky", 20, 8, 1800);
  picky["spec"]["podSets"][0]["template"]["spec"]["nodeSelector"] = {
      {"nvidia.com/gpu.product", "NVIDIA-A100"}};
  work.write("workloads.json", list_of({admitted(workload_of("vision", "runs", 0, 8, 3600), "vision", "a100"),
                                        picky, workload_of("vision", "any", 25, 8, 1800)})
                                   .dump(1));
  const json answer = run_json(kFiles, work);
  // The A100s are held until 11:00. `any` came later, and takes the H100s.
  CHECK(job_named(answer, "vision/any")["start"] == times(0, 0));
  CHECK(job_named(answer, "vision/picky")["start"] == times(30, 30));
  CHECK(job_named(answer, "vision/picky")["blocked"]["policy"] ==
        "WaitingForQuota: 8 nvidia.com/gpu asked, 0 in a100 are free");
}

TEST_CASE("kueue eta: quota of the queue's other resources counts, and Jobs without Workload as well") {
  const TemporaryFolder work;
  json queue = queue_of("vision", {{"h100", 8}});
  queue["spec"]["resourceGroups"][0]["coveredResources"] = {"cpu", "nvidia.com/gpu"};
  json& resources = queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"];
  resources.insert(resources.begin(), json{{"name", "cpu"}, {"nominalQuota", "16"}});
  work.write("queues.json",
             list_of({queue, local_queue("vision", "vision"), flavor_of("h100", "NVIDIA-H100")}).dump(1));
  work.write("nodes.json", list_of({node_of("a", 8)}).dump(1));
  const auto job = [](const std::string& name, int pods, bool runs, const std::string& at) {
    json pod = {{"containers", {{{"resources", {{"limits", {{"nvidia.com/gpu", 1}, {"cpu", 4}}}}}}}}};
    json object = {{"apiVersion", "batch/v1"},
                   {"kind", "Job"},
                   {"metadata",
                    {{"name", name},
                     {"namespace", "vision"},
                     {"creationTimestamp", at},
                     {"labels", {{"kueue.x-k8s.io/queue-name", "train"}}}}},
                   {"spec",
                    {{"parallelism", pods},
                     {"suspend", !runs},
                     {"activeDeadlineSeconds", 3600},
                     {"template", {{"spec", pod}}}}},
                   {"status", json::object()}};
    if (runs) object["status"] = {{"active", pods}, {"startTime", at}};
    return object;
  };
  work.write("workloads.json", list_of({job("runs", 3, true, "2026-05-04T10:00:00Z"),
                                        job("waits", 2, false, "2026-05-04T10:30:00Z")})
                                   .dump(1));
  const json answer = run_json(kFiles, work);
  // 12 of 16 cores are held; five GPUs are free, but only 4 cores of quota.
  const json& waits = job_named(answer, "vision/job/waits");
  CHECK(waits["start"] == times(30, 30));
  CHECK(waits["blocked"]["policy"] == "WaitingForQuota: 8 cpu asked, 4 in h100 are free");
}

TEST_CASE("kueue eta: stopped queues, evictions that are under way, and quota without GPUs") {
  const TemporaryFolder work;
  json stopped = queue_of("vision", {{"h100", 8}});
  stopped["spec"]["stopPolicy"] = "Hold";
  work.write("queues.json",
             list_of({stopped, queue_of("nlp", {{"h100", 80}}), flavor_of("h100", "NVIDIA-H100"),
                      local_queue("vision", "vision"), local_queue("nlp", "nlp")})
                 .dump(1));
  work.write("nodes.json", list_of({node_of("a", 8)}).dump(1));
  json evicting = admitted(workload_of("nlp", "evicting", 0, 8, 1800), "nlp", "h100");
  evicting["status"]["conditions"].push_back({{"type", "Evicted"},
                                              {"status", "True"},
                                              {"reason", "PodsReadyTimeout"},
                                              {"lastTransitionTime", "2026-05-04T10:30:00Z"}});
  evicting["status"]["requeueState"] = {{"requeueAt", "2026-05-04T10:40:00Z"}};
  work.write("workloads.json",
             list_of({workload_of("vision", "waits", 5, 1, 60), evicting,
                      workload_of("nlp", "first", 5, 8, 1200), workload_of("nlp", "second", 6, 8, 600)})
                 .dump(1));
  const json answer = run_json(kFiles, work);
  CHECK(stuck_of(answer) == json{{"vision/waits", "its ClusterQueue vision is stopped"}});
  // All have quota, one after the other has GPUs; the evicted one may come back at 10:40.
  CHECK(job_named(answer, "nlp/first")["start"] == times(0, 0));
  CHECK(job_named(answer, "nlp/second")["start"] == times(20, 20));
  CHECK(job_named(answer, "nlp/second")["blocked"]["policy"] ==
        "it holds quota, and its nodes have no room for it");
  CHECK(job_named(answer, "nlp/evicting")["start"] == times(30, 30));
}

TEST_CASE("kueue eta: without queues the policy cannot answer, others can") {
  const TemporaryFolder work;
  write_teams(work);
  work.write("workloads.json", list_of({admitted(workload_of("vision", "runs", 0, 8, 3600), "vision", "h100"),
                                        workload_of("vision", "waits", 10, 16, 7200)})
                                   .dump(1));
  const auto refused = run_vtrain("eta --now workloads.json nodes.json --policy kueue", work.path());
  CHECK(refused.exit_code == 2);
  CHECK(refused.out.empty());
  CHECK(refused.err.find("--now: expected a ClusterQueue in the files") != std::string::npos);
  const json answer = run_json("eta --now workloads.json nodes.json --policy easy --samples 10", work);
  CHECK(job_named(answer, "vision/waits")["start"] == times(30, 30));
  work.write("cut.json", R"({"apiVersion": "v1", "kind": "List", "items": [)");
  const auto cut = run_vtrain("eta --now cut.json --policy kueue", work.path());
  CHECK(cut.exit_code == 2);
  CHECK(cut.err.find("cut.json:1:") != std::string::npos);
}

TEST_CASE("kueue eta: the objects of a real cluster are answered together") {
  const auto folder = shared_folder("golden/kueue/objects");
  if (folder.empty() || !std::filesystem::exists(folder)) {
    MESSAGE("skipped: no objects of Kueue");
    return;
  }
  std::string files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename() != "expected.json") files += " '" + entry.path().string() + "'";
  }
  const TemporaryFolder work;
  const json answer = run_json("eta --samples 5 --policy kueue --now" + files, work);
  CHECK(answer["jobs"].size() + answer["stuck"].size() >= 5);
}

}  // namespace vtrain::testing
