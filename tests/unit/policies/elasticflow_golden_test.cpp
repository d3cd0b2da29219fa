// The schedules of ElasticFlow's own simulator, job by job.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/csv.hpp"
#include "core/file.hpp"
#include "policies/registry.hpp"
#include "sched/metrics.hpp"
#include "sched/simulator.hpp"

namespace vtrain {
namespace {

namespace fs = std::filesystem;

const fs::path kSchedules = fs::path(VTRAIN_SHARED_DIR) / "golden" / "schedules";

/// Rows of a CSV file as maps from column to text.
std::vector<std::map<std::string, std::string>> read_rows(const fs::path& path) {
  const auto text = read_file(path.string());
  REQUIRE(text);
  auto rows = CsvReader::open(*text, path.string());
  REQUIRE(rows);
  std::vector<std::map<std::string, std::string>> result;
  while (*rows->next()) {
    auto& row = result.emplace_back();
    for (std::size_t i = 0; i < rows->columns().size(); ++i)
      row[rows->columns()[i]] = rows->field(static_cast<int>(i));
  }
  return result;
}

/// Levels by model and global batch.
std::map<std::string, ThroughputLevels> read_levels(const fs::path& folder) {
  std::map<std::string, ThroughputLevels> result;
  for (const auto& entry : fs::directory_iterator(folder)) {
    for (const auto& row : read_rows(entry.path())) {
      std::map<int, double> speeds;
      for (const auto& [column, text] : row) {
        if (column == "global_batch_size" || text.empty() || text == "nan") continue;
        speeds[std::stoi(column)] = std::stod(text);
      }
      std::vector<ThroughputLevels::Level> levels;
      for (const auto& [gpus, speed] : speeds)
        levels.push_back({GpuCount(gpus), speed});
      result.emplace(entry.path().stem().string() + "/" + row.at("global_batch_size"),
                     ThroughputLevels(levels));
    }
  }
  return result;
}

SimTime at(const std::string& seconds) {
  return SimTime(std::chrono::seconds(std::stoll(seconds)));
}

Workload read_workload(const fs::path& folder) {
  Workload workload;
  const auto levels = read_levels(folder / "throughputs");
  for (const auto& row : read_rows(folder / "trace.csv")) {
    Job job;
    job.name = workload.keep(row.at("job_id"));
    job.submit = at(row.at("submit_time"));
    job.duration = std::chrono::seconds(std::stoll(row.at("duration")));
    const bool best_effort = row.contains("best_effort") && row.at("best_effort") == "1";
    if (!best_effort) job.deadline = at(row.at("ddl"));
    job.num_gpus = GpuCount(std::stoi(row.at("num_gpu")));
    job.max_gpus = GpuCount(std::stoi(row.at("max_gpu")));
    job.iterations = std::stoll(row.at("iteration"));
    job.curve = CurveId(static_cast<std::uint32_t>(workload.curves.size()));
    workload.curves.push_back(levels.at(row.at("model_name") + "/" + row.at("batch_size")));
    workload.jobs.push_back(job);
  }
  workload.sort_by_submission();
  return workload;
}

void check_case(const std::string& name, const std::string& spec) {
  const fs::path folder = kSchedules / name;
  if (!fs::exists(folder / "expected_jobs.csv")) {
    MESSAGE("skipped: " << folder.string() << " absent");
    return;
  }
  CAPTURE(name);
  const Workload workload = read_workload(folder);
  const auto nodes = read_rows(folder / "cluster.csv").front();
  const auto cluster = ClusterSpec::parse(nodes.at("num_node_p_switch") + "x" + nodes.at("num_gpu_p_node"));
  REQUIRE(cluster);
  auto policy = make_policy(spec);
  REQUIRE(policy);
  const auto result = simulate(workload, *cluster, **policy, {.policy_name = spec});
  REQUIRE_MESSAGE(result, result.error().describe());
  std::map<std::string, std::map<std::string, std::string>> expected;
  for (const auto& row : read_rows(folder / "expected_jobs.csv"))
    expected[row.at("job_id")] = row;
  REQUIRE(expected.size() == workload.jobs.size());
  int differing = 0;
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const Job& job = workload.jobs[i];
    const JobOutcome& outcome = result->outcomes[i];
    const auto& row = expected.at(std::string(job.name));
    const bool rejected = row.at("status") == "rejected";
    bool same = rejected == (outcome.state == JobState::Rejected);
    if (same && !rejected) {
      same = outcome.state == JobState::Completed && outcome.start == at(row.at("start")) &&
             outcome.end == at(row.at("end"));
    }
    same = same && deadline_met(job, outcome) == (row.at("deadline_met") == "1");
    if (same) continue;
    if (++differing <= 5) {
      MESSAGE(name << " job " << std::string(job.name) << ": expected " << row.at("status") << " "
                   << row.at("start") << " " << row.at("end") << " met " << row.at("deadline_met")
                   << ", found " << static_cast<int>(outcome.state) << " " << to_seconds(outcome.start) << " "
                   << to_seconds(outcome.end) << " finished " << to_seconds(outcome.finished));
    }
  }
  CHECK(differing == 0);
}

}  // namespace

TEST_CASE("elasticflow: las with its preset gives the schedules of ElasticFlow's simulator") {
  for (const char* name : {"ef_micro_dlas", "ef_dlas_vpollux", "ef_dlas_philly32"})
    check_case(name, "las:preset=elasticflow");
}

TEST_CASE("elasticflow: edf with its preset gives the schedules of ElasticFlow's simulator") {
  for (const char* name : {"ef_micro_edf", "ef_edf_vpollux", "ef_edf_philly32"})
    check_case(name, "edf:preset=elasticflow");
}

TEST_CASE("elasticflow: without overhead the artifact's schedules, to the second") {
  const std::string spec = "elasticflow:admission=batch,greedy=largest,overhead=none,slot=";
  check_case("ef_micro_elastic_noovh", spec + "60s");
  check_case("ef_elastic_gen100_noovh", spec + "240s");
  check_case("ef_elastic_vpollux_noovh", spec + "60s");
}

TEST_CASE("elasticflow: with the overhead table the artifact's schedules as shipped, to the second") {
  const std::string spec = "elasticflow:admission=batch,greedy=largest,overhead=table,slot=60s";
  for (const char* name : {"ef_micro_elastic", "ef_elastic_vpollux", "ef_elastic_philly32"})
    check_case(name, spec);
}

}  // namespace vtrain
