/// Priorities and schedules of a real Slurm 22.05, through the real command line.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/strings.hpp"
#include "core/io/csv.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/shared_data.hpp"

using nlohmann::json;
using vtrain::testing::run_vtrain;
using vtrain::testing::shared_folder;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;

namespace {

/// Words of each line.
std::vector<std::vector<std::string>> words_of(const std::filesystem::path& file) {
  std::vector<std::vector<std::string>> rows;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream text(line);
    std::vector<std::string> words;
    for (std::string word; text >> word;)
      words.push_back(word);
    rows.push_back(std::move(words));
  }
  return rows;
}

/// Sub-folders, sorted.
std::vector<std::filesystem::path> cases_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> list;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_directory()) list.push_back(entry.path());
  }
  std::sort(list.begin(), list.end());
  return list;
}

/// A segment of a job: name with its task, number of the segment.
using Segment = std::pair<std::string, std::size_t>;

/// Starts of all segments in a run's timeline, in seconds.
std::map<Segment, double> starts_in(const std::filesystem::path& timeline) {
  const json document = json::parse(slurp(timeline));
  std::map<std::string, std::set<double>> by_job;
  for (const json& event : document.is_object() ? document["traceEvents"] : document) {
    if (event.value("ph", "") == "X" && event["cat"] == "job")
      by_job[event["name"]].insert(event["ts"].get<double>() / 1e6);
  }
  std::map<Segment, double> starts;
  for (const auto& [job, times] : by_job) {
    std::size_t number = 0;
    for (const double time : times)
      starts[{job, number++}] = time;
  }
  return starts;
}

/// Starts of all segments that `sacct` told; jobs that never started are left out.
std::map<Segment, double> starts_expected(const std::filesystem::path& file) {
  const std::string text = slurp(file);
  auto rows = *vtrain::CsvReader::open(text, file.string());
  const int name = rows.find_column("name");
  const int task = rows.find_column("task");
  const int segment = rows.find_column("segment");
  const int start = rows.find_column("start");
  std::map<Segment, double> starts;
  while (*rows.next()) {
    if (rows.field(start).empty()) continue;
    std::string job(rows.field(name));
    if (!rows.field(task).empty()) job += "_" + std::string(rows.field(task));
    starts[{job, std::stoul(std::string(rows.field(segment)))}] = std::stod(std::string(rows.field(start)));
  }
  return starts;
}

/// Pairs that start in the opposite order.
std::string opposite_pairs(const std::map<Segment, double>& expected,
                           const std::map<Segment, double>& found) {
  std::string pairs;
  for (const auto& [first, first_start] : expected) {
    for (const auto& [second, second_start] : expected) {
      const auto a = found.find(first);
      const auto b = found.find(second);
      if (a == found.end() || b == found.end()) continue;
      if (first_start < second_start && a->second > b->second)
        pairs += first.first + " " + second.first + "; ";
    }
  }
  return pairs;
}

}  // namespace

TEST_CASE("slurm: factors and priorities of frozen queues are those of sprio") {
  const auto folder = shared_folder("golden/slurm/priority");
  if (folder.empty()) return;
  const TemporaryFolder work;
  for (const auto& each : cases_in(folder)) {
    INFO(each.filename().string());
    const auto result = run_vtrain("decide " + each.string() + " --policy slurm", work.path());
    REQUIRE_MESSAGE(result.exit_code == 0, result.err);
    std::map<std::pair<std::string, std::string>, json> rows;
    const json document = json::parse(result.out);
    for (const json& row : document["jobs"])
      rows[{row["job_id"], row["partition"]}] = row;
    const auto priorities = words_of(each / "sprio.txt");
    CHECK(rows.size() == priorities.size() - 1);
    // JOBID PARTITION USER PRIORITY SITE AGE ASSOC FAIRSHARE JOBSIZE PARTITION QOS NICE
    for (std::size_t i = 1; i < priorities.size(); ++i) {
      const auto& words = priorities[i];
      INFO("job " << words[0] << " in " << words[1]);
      const json& row = rows[{words[0], words[1]}];
      CHECK(row["priority"].dump() == words[3]);
      CHECK(row["nice"].dump() == words[11]);
    }
    const double fair_share =
        slurp(each / "slurm.conf").find("DEPTH_OBLIVIOUS") == std::string::npos ? 1e-6 : 3e-5;
    constexpr std::pair<const char*, std::size_t> kColumns[] = {
        {"age", 4}, {"assoc", 5}, {"fair_share", 6}, {"job_size", 7}, {"partition", 8}, {"qos", 9}};
    for (const auto& words : words_of(each / "sprio-normalised.txt")) {
      if (words.front() == "JOBID") continue;
      const json& factors = rows[{words[0], words[1]}]["factors"];
      for (const auto& [name, column] : kColumns) {
        INFO("job " << words[0] << ", " << name);
        const double tolerance = std::string(name) == "fair_share" ? fair_share : 1e-6;
        CHECK(std::abs(factors[name].get<double>() - std::stod(words[column])) <= tolerance);
      }
    }
    // The whole column of weighted resources, rounded to integers: cpu=31,mem=0,gres/gpu=1000
    if (!std::filesystem::exists(each / "sprio-wide.txt")) continue;
    for (const auto& words : words_of(each / "sprio-wide.txt")) {
      const std::vector<std::string_view> fields = vtrain::split(words.front(), '|');
      if (fields.front() == "JOBID" || fields.back().empty()) continue;
      const json& weighted = rows[{std::string(fields[0]), std::string(fields[1])}]["weighted"]["tres"];
      for (const std::string_view part : vtrain::split(fields.back(), ',')) {
        const auto [name, value] = vtrain::split_once(part, '=');
        INFO("job " << fields[0] << ", " << name);
        CHECK(std::abs(weighted[std::string(name)].get<double>() - std::stod(std::string(*value))) <=
              0.5000001);
      }
    }
  }
}

TEST_CASE("slurm: replays start jobs in the order and at the times of a real cluster") {
  const auto folder = shared_folder("golden/slurm/schedules");
  if (folder.empty()) return;
  for (const auto& each : cases_in(folder)) {
    INFO(each.filename().string());
    const TemporaryFolder work;
    const auto result = run_vtrain(
        "replay --deadlines none --timeline always --out run --trace " + (each / "trace.csv").string() +
            " --cluster " + (each / "slurm.conf").string() + " --policy slurm:folder=" + each.string(),
        work.path());
    REQUIRE_MESSAGE(result.exit_code == 0, result.err);
    const auto found = starts_in(work / "run/timeline.json");
    const auto expected = starts_expected(each / "expected.csv");
    CHECK(opposite_pairs(expected, found).empty());
    for (const auto& [segment, start] : expected) {
      INFO("job " << segment.first << ", segment " << segment.second);
      const auto at = found.find(segment);
      REQUIRE(at != found.end());
      // Starts after a requeue differ by up to 5 s between two runs of the cluster itself.
      const double tolerance = each.filename().string().find("preempt") != std::string::npos ? 5 : 2;
      CHECK(std::abs(std::floor(at->second + 1e-9) - start) <= tolerance);
    }
  }
}

TEST_CASE("slurm: a job without a user is of the user and the account of its tenant's name") {
  TemporaryFolder work;
  // One node. Both users may use one GPU at a time, whatever account.
  std::ofstream(work.path() / "slurm.conf") << "SelectType=select/cons_tres\n"
                                               "GresTypes=gpu\n"
                                               "AccountingStorageTRES=gres/gpu\n"
                                               "AccountingStorageEnforce=associations,limits,qos\n"
                                               "PriorityType=priority/multifactor\n"
                                               "NodeName=n0 CPUs=64 Gres=gpu:a100:8\n"
                                               "PartitionName=gpu Nodes=ALL Default=YES MaxTime=60 QOS=gpu\n";
  std::ofstream(work.path() / "associations-dump.cfg")
      << "Cluster - 'small':Fairshare=1:QOS='normal'\nParent - 'root'\n"
         "Account - 'vision':Description='v':Organization='v':Fairshare=1\n"
         "Account - 'speech':Description='s':Organization='s':Fairshare=1\n"
         "Parent - 'vision'\nUser - 'vision':DefaultAccount='vision':Fairshare=1\n"
         "Parent - 'speech'\nUser - 'speech':DefaultAccount='speech':Fairshare=1\n";
  std::ofstream(work.path() / "qos.txt") << "Name|Priority|MaxTRESPU\nnormal|0|\ngpu|0|gres/gpu=1\n";
  std::ofstream(work.path() / "trace.csv") << "job_id,tenant,submit_s,num_gpus,duration_s\n"
                                              "v1,vision,0,1,100\nv2,vision,0,1,100\ns1,speech,0,1,100\n";
  const auto replay = [&work](const std::string& trace) {
    return run_vtrain(
        "replay --trace " + trace + " --cluster slurm.conf --policy slurm:folder=. --deadlines none --json",
        work.path());
  };
  const auto result = replay("trace.csv");
  REQUIRE_MESSAGE(result.exit_code == 0, result.err);
  const json document = json::parse(result.out);
  // v2 waits for v1, and nobody waits for another tenant.
  CHECK(document["completed"] == 3);
  CHECK(document["makespan_s"].get<double>() > 200);
  CHECK(document["makespan_s"].get<double>() < 235);
  CHECK(result.out.find("3 jobs without a user: their tenants are user and account") != std::string::npos);

  std::ofstream(work.path() / "stranger.csv") << "job_id,tenant,submit_s,num_gpus,duration_s\n"
                                                 "v1,vision,0,1,100\nx1,sound,0,1,100\n";
  const auto refused = replay("stranger.csv");
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.find("stranger.csv:3: account: job 'x1': expected an account that has the user, as "
                         "slurm.conf enforces associations, found 'sound/sound'") != std::string::npos);
}
