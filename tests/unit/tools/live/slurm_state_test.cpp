/// Dumps of a real Slurm 22.05, against their right reading.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/shared_data.hpp"
#include "tools/live/read_state.hpp"

namespace vtrain {
namespace {

using nlohmann::json;

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json();
}
json or_null(const std::string& text) {
  return text.empty() ? json() : json(text);
}

json to_json(const DumpedJob& job) {
  json object = {{"job_id", std::stoi(job.id)},
                 {"name", job.name},
                 {"user", job.user},
                 {"account", job.account},
                 {"qos", job.qos},
                 {"partitions", job.partitions},
                 {"state", job.state},
                 {"reason", or_null(job.reason)},
                 {"reason_text", or_null(job.reason_text)},
                 {"num_nodes", job.nodes_wanted},
                 {"num_cpus", job.cpus},
                 {"gpus", job.gpus},
                 {"gpu_type", or_null(job.gpu_type)},
                 {"nodes", job.nodes},
                 {"time_limit_seconds", or_null(job.time_limit_s)},
                 {"submit", or_null(job.submit)},
                 {"start", or_null(job.start)},
                 {"start_estimate", or_null(job.start_estimate)},
                 {"end", or_null(job.end)},
                 {"priority", or_null(job.priority)}};
  if (!job.dependency.empty()) object["dependency"] = job.dependency;
  if (!job.comment.empty())
    object["comment"] = job.comment.substr(0, job.comment.find(' '));  // the right reading has a word
  if (job.array) {
    object["array"] = {{"job_id", std::stoi(job.array->job_id)},
                       {"tasks", job.array->tasks},
                       {"max_running", or_null(job.array->most_running)}};
  }
  if (job.part)
    object["heterogeneous"] = {{"job_id", std::stoi(job.part->job_id)}, {"offset", job.part->offset}};
  return object;
}

json to_json(const DumpedNode& node) {
  return {{"name", node.name},
          {"state", node.state},
          {"schedulable", node.takes_jobs},
          {"cpus", node.cpus},
          {"cpus_allocated", node.cpus_in_use},
          {"memory_mb", node.memory_mb},
          {"gpu_type", or_null(node.gpu_type)},
          {"gpus", node.gpus},
          {"gpus_allocated", node.gpus_in_use},
          {"reason", or_null(node.reason)}};
}

json to_json(const DumpedPartition& partition) {
  return {{"name", partition.name},
          {"state", partition.state},
          {"nodes", partition.nodes},
          {"max_time_seconds", or_null(partition.most_time_s)},
          {"max_nodes", or_null(partition.most_nodes)},
          {"priority_tier", partition.priority_tier},
          {"priority_job_factor", partition.priority_factor}};
}

json to_json(const DumpedReservation& reservation) {
  return {{"name", reservation.name},        {"start", reservation.start}, {"end", reservation.end},
          {"nodes", reservation.nodes},      {"flags", reservation.flags}, {"users", reservation.users},
          {"accounts", reservation.accounts}};
}

struct Live {
  std::filesystem::path folder{};
  json expected{};

  LiveState read(const std::vector<std::string>& names) const {
    std::vector<std::string> files;
    for (const std::string& name : names)
      files.push_back((folder / name).string());
    auto state = read_live_state(files);
    REQUIRE_MESSAGE(state, state.error().describe());
    return *std::move(state);
  }
};

std::optional<Live> shared_live() {
  const std::filesystem::path folder = std::filesystem::path(VTRAIN_SHARED_DIR) / "golden/slurm/live";
  if (!have(folder)) return std::nullopt;
  std::ifstream expected(folder / "expected.json");
  return Live{folder, json::parse(expected)};
}

/// Compares every job with the right reading, but for some keys.
void check_jobs(const Live& live, const LiveState& state, std::size_t count,
                const std::vector<std::string>& but = {}) {
  std::size_t num_found = 0;
  for (const DumpedJob& job : state.jobs) {
    json found = to_json(job);
    for (json expected : live.expected["jobs"]) {
      if (expected["job_id"] != found["job_id"]) continue;
      ++num_found;
      // The accounts have no start of a job that was cancelled before it ran.
      if (!but.empty() && job.state == "CANCELLED") {
        expected.erase("start");
        found.erase("start");
      }
      for (const std::string& key : but) {
        expected.erase(key);
        found.erase(key);
      }
      CAPTURE(job.id);
      CHECK(json::diff(expected, found).dump() == "[]");
    }
  }
  CHECK(num_found == count);
  CHECK(state.jobs.size() == count);
}

TEST_CASE("live: jobs of scontrol and squeue --json are read alike") {
  const auto live = shared_live();
  if (!live) return;
  check_jobs(*live, live->read({"scontrol-jobs.txt"}), 48);
  check_jobs(*live, live->read({"scontrol-jobs-multiline.txt"}), 48);
  check_jobs(*live, live->read({"squeue.json"}), 48);
}

TEST_CASE("live: tables of squeue and sacct have what their columns tell") {
  const auto live = shared_live();
  if (!live) return;
  // squeue lists no jobs that have ended.
  const LiveState queue = live->read({"squeue-all.txt"});
  check_jobs(*live, queue, 40, {"array", "comment"});
  for (const DumpedJob& job : queue.jobs) {
    if (job.id == "9") CHECK(job.array.value_or(DumpedArray{}).tasks == "2-9%2");
    if (job.id == "16") CHECK(job.array.value_or(DumpedArray{}).tasks == "1");
  }
  // The accounts know nothing of estimates, reasons, dependencies and types.
  const std::vector<std::string> unknown = {"priority", "reason",     "reason_text", "start_estimate",
                                            "gpu_type", "dependency", "array",       "comment"};
  check_jobs(*live, live->read({"sacct.json"}), 41, unknown);
  check_jobs(*live, live->read({"sacct.txt"}), 41, unknown);
  CHECK(live->read({"sacct-allocations.txt"}).jobs.size() == 41);
}

TEST_CASE("live: nodes, partitions and reservations") {
  const auto live = shared_live();
  if (!live) return;
  const LiveState state = live->read(
      {"scontrol-nodes.txt", "scontrol-partitions.txt", "scontrol-reservations.txt", "squeue.json"});
  const auto all = [](const auto& list) {
    json array = json::array();
    for (const auto& each : list)
      array.push_back(to_json(each));
    return array;
  };
  CHECK(all(state.nodes) == live->expected["nodes"]);
  CHECK(all(state.partitions) == live->expected["partitions"]);
  CHECK(all(state.reservations) == live->expected["reservations"]);
  CHECK(state.remarks.empty());
  CHECK(all(live->read({"sinfo.json"}).nodes) == live->expected["nodes"]);
}

TEST_CASE("live: newer JSON has numbers as objects and states as lists") {
  // As the documentation of 23.02 and later shows it; not tried against a real one.
  const auto file = std::filesystem::temp_directory_path() / "vtrain_live_newer.json";
  std::ofstream(file) << R"({"jobs": [{"job_id": 7, "job_state": ["PENDING"], "name": "x", "partition": "gpu",
    "time_limit": {"set": true, "infinite": false, "number": 90}, "submit_time": {"set": true, "infinite": false,
    "number": 1795598042}, "start_time": {"set": false, "infinite": false, "number": 0}, "state_reason": "Priority",
    "priority": {"set": true, "infinite": false, "number": 17}, "tres_req_str": "cpu=8,node=2,gres/gpu:h100=16,gres/gpu=16"}]})";
  const std::string name = file.string();
  const auto state = read_live_state({&name, 1});
  REQUIRE_MESSAGE(state, state.error().describe());
  REQUIRE(state->jobs.size() == 1);
  const DumpedJob& job = state->jobs.front();
  CHECK(job.is_pending());
  CHECK(job.gpus == 16);
  CHECK(job.gpu_type == "h100");
  CHECK(job.nodes_wanted == 2);
  CHECK(job.time_limit_s == 5400);
  CHECK(job.submit == 1795598042);
  CHECK(!job.start_estimate);
  CHECK(job.priority == 17);
  std::filesystem::remove(file);
}

TEST_CASE("live: dumps that are cut, foreign or contradict themselves are refused with their place") {
  const auto problem_of = [](const std::string& text) {
    const auto file = std::filesystem::temp_directory_path() / "vtrain_live_bad.txt";
    std::ofstream(file) << text;
    const std::string name = file.string();
    const auto state = read_live_state({&name, 1});
    std::filesystem::remove(file);
    std::string problem = state ? "" : state.error().describe();
    if (problem.starts_with(name)) problem.erase(0, name.size());
    return problem;
  };
  CHECK(problem_of("").find("an empty file") != std::string::npos);
  CHECK(problem_of("{\"jobs\": [").starts_with(":"));
  CHECK(problem_of("JOBID PARTITION NAME\n1 a b\n").find("expected `scontrol show job") != std::string::npos);
  CHECK(problem_of("JobId=1 JobName=a\n").starts_with(":1: JobState: missing"));
  CHECK(problem_of("JobId=1 JobState=PENDING SubmitTime=yesterday\n")
            .starts_with(":1: SubmitTime: expected a time"));
  CHECK(problem_of("JobId=1 JobState=PENDING NumNodes=-2\n").starts_with(":1: NumNodes:"));
  CHECK(problem_of("JobId=1 JobState=PENDING\nJobId=1 JobState=RUNNING\n").find("two jobs have the id '1'") !=
        std::string::npos);
  CHECK(problem_of("JobId=1 JobState=PENDING\nNodeName=a State=IDLE\n").starts_with(":2:"));
  CHECK(problem_of("JOBID|STATE|NAME\n1|PENDING\n").starts_with(":2: expected 3 columns"));
}

TEST_CASE("live: contradictions between jobs and nodes are counted") {
  const auto folder = std::filesystem::temp_directory_path();
  std::ofstream(folder / "vtrain_live_nodes.txt")
      << "NodeName=a CPUTot=8 Gres=gpu:a100:4 AllocTRES=gres/gpu=6 State=MIXED\n";
  std::ofstream(folder / "vtrain_live_jobs.txt")
      << "JobId=1 JobState=RUNNING NodeList=a TRES=gres/gpu=8 StartTime=2026-11-25T09:14:02\n"
         "JobId=2 JobState=RUNNING NodeList=b TRES=gres/gpu=1\n";
  const std::vector<std::string> files = {(folder / "vtrain_live_nodes.txt").string(),
                                          (folder / "vtrain_live_jobs.txt").string()};
  const auto state = read_live_state(files);
  REQUIRE(state);
  CHECK(state->remarks == decltype(state->remarks){{"nodes on which more GPUs are in use than there are", 1},
                                                   {"running jobs on nodes that no file has", 1},
                                                   {"running jobs with more GPUs than their nodes have", 1},
                                                   {"running jobs without a start", 1}});
  for (const std::string& file : files)
    std::filesystem::remove(file);
}

}  // namespace
}  // namespace vtrain
