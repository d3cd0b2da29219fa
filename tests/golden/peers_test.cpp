/// Known answers of other simulators, through the command line. Every job's start and end must equal theirs;
/// the predictor must be within 1 ns of the public vTrain release.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/io/csv.hpp"
#include "core/io/input.hpp"
#include "tests/support/command_runner.hpp"

namespace fs = std::filesystem;
using nlohmann::json;
using vtrain::CsvReader;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::shared_folder;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;

namespace {

struct StartAndEnd {
  double start = 0;
  double end = 0;
  friend bool operator==(const StartAndEnd&, const StartAndEnd&) = default;
};
using Schedule = std::map<std::string, StartAndEnd>;

Schedule read_schedule(const fs::path& file, std::string_view start, std::string_view end) {
  const std::string text = slurp(file);
  auto csv = CsvReader::open(text, file.string());
  REQUIRE(csv);
  const int id_column = csv->find_column("job_id");
  const int start_column = csv->find_column(start);
  const int end_column = csv->find_column(end);
  Schedule schedule;
  while (csv->next().value()) {
    schedule[std::string(csv->field(id_column))] = {csv->number(start_column, 0, 1e15).value(),
                                                    csv->number(end_column, 0, 1e15).value()};
  }
  return schedule;
}

/// Replays, and compares the schedule with the peer's, job by job.
void check_replay(const std::string& arguments, const Schedule& expected) {
  CAPTURE(arguments);
  const TemporaryFolder work;
  const auto result = run_vtrain("replay --deadlines none --json --out out " + arguments, work.path());
  REQUIRE_MESSAGE(result.exit_code == 0, result.err);
  const Schedule actual = read_schedule(work.path() / "out" / "jobs.csv", "start_s", "end_s");
  REQUIRE(actual.size() == expected.size());
  std::size_t mismatches = 0;
  for (const auto& [id, times] : expected)
    mismatches += actual.at(id) == times ? 0 : 1;
  CHECK(mismatches == 0);
}

/// The part of a file name between `prefix` and `suffix`; empty if they are absent.
std::string middle(const std::string& name, const std::string& prefix, const std::string& suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return {};
  return name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
}

/// Rows of a CSV file by `job_id`, each as a map from column to text.
std::map<std::string, std::map<std::string, std::string>> read_rows(const fs::path& file) {
  const std::string text = slurp(file);
  auto csv = CsvReader::open(text, file.string());
  REQUIRE(csv);
  std::map<std::string, std::map<std::string, std::string>> rows;
  while (csv->next().value()) {
    std::map<std::string, std::string> row;
    for (std::size_t i = 0; i < csv->columns().size(); ++i)
      row[csv->columns()[i]] = csv->field(static_cast<int>(i));
    rows[row.at("job_id")] = row;
  }
  return rows;
}

}  // namespace

TEST_CASE("peers: Tiresias' own schedules, every job of every case") {
  const fs::path folder = shared_folder("golden/tiresias");
  if (folder.empty()) return;
  const std::map<std::string, std::string> policies = {
      {"fifo", "fifo"},
      {"fjf", "fit-first"},
      {"sjf", "sjf"},
      {"shortest", "srtf"},
      {"shortest-gpu", "srsf"},
      {"dlas", "las:attained=time,timer=peer"},
      {"dlas-gpu", "las:attained=gpu-time,timer=peer"},
      {"dlas-gpu-gittins", "gittins:timer=peer,distribution=" + (folder / "yarn-gput1000.csv").string()},
  };
  const std::map<std::string, std::string> traces = {{"60_job-n2g8-", "60_job.csv --cluster 2x8"},
                                                     {"syn480-n8g8-", "syn480.csv --cluster 8x8"}};
  int cases = 0;
  for (const auto& entry : fs::directory_iterator(folder / "out")) {
    const std::string name = entry.path().filename().string();
    for (const auto& [prefix, trace] : traces) {
      for (const std::string placement : {"count", "yarn"}) {
        const std::string schedule = middle(name, prefix, "-" + placement + ".csv");
        if (!policies.contains(schedule)) continue;
        check_replay(fmt::format("--trace {}/{} --placement {} --policy '{}'", folder.string(), trace,
                                 placement, policies.at(schedule)),
                     read_schedule(entry.path(), "start_time", "end_time"));
        ++cases;
      }
    }
  }
  CHECK(cases >= 16);
}

TEST_CASE("peers: mean JCT and makespan of Tiresias' schedules") {
  const fs::path folder = shared_folder("golden/tiresias");
  if (folder.empty()) return;
  struct Case {
    std::string policy;
    std::string placement;
    double mean_jct_s[2];  ///< mean JCT of 60_job and of syn480, to 0.01 s
    double makespan_s[2];
  };
  const Case cases[] = {
      {"fifo", "count", {200.82, 85287.54}, {3335, 493347}},
      {"fifo", "yarn", {227.23, 98906.66}, {3357, 524125}},
      {"fit-first", "count", {190.68, 19472.42}, {3271, 411237}},
      {"fit-first", "yarn", {248.55, 21320.71}, {3271, 425880}},
      {"sjf", "count", {198.20, 20015.90}, {3271, 455620}},
      {"srtf", "count", {192.12, 9316.36}, {3271, 417279}},
      {"srsf", "count", {195.90, 9855.84}, {3315, 442409}},
      {"las:attained=time,timer=peer", "count", {190.68, 12918.65}, {3271, 421461}},
      {"las:attained=gpu-time,timer=peer", "count", {190.68, 16969.29}, {3271, 441089}},
      {"gittins:timer=peer,distribution=" + (folder / "yarn-gput1000.csv").string(),
       "count",
       {219.05, 13540.65},
       {3271, 418721}},
  };
  const std::string traces[] = {"60_job.csv --cluster 2x8", "syn480.csv --cluster 8x8"};
  for (int t = 0; t < 2; ++t) {
    for (const Case& expected : cases) {
      CAPTURE(traces[t]);
      CAPTURE(expected.policy);
      const json summary =
          run_json(fmt::format("replay --deadlines none --trace {}/{} --placement {} --policy '{}'",
                               folder.string(), traces[t], expected.placement, expected.policy));
      constexpr double kRounding = 0.005 + 1e-9;  // of two decimals
      CHECK(std::abs(summary.at("avg_jct_s").get<double>() - expected.mean_jct_s[t]) <= kRounding);
      CHECK(summary.at("makespan_s").get<double>() == expected.makespan_s[t]);
    }
  }
}

TEST_CASE("peers: Batsim's own schedules, every job of every case") {
  const fs::path folder = shared_folder("golden/batsim");
  if (folder.empty()) return;
  const std::map<std::string, std::string> policies = {
      {"fcfs_fast-fcfs", "fifo"},
      {"filler-fcfs", "fit-first"},
      {"easy_bf_fast-fcfs", "easy-fast"},
      {"easy_bf-fcfs", "easy:planning=hosts"},
      {"easy_bf-asc_walltime", "easy:order=asc-walltime,planning=hosts"},
      {"conservative_bf-fcfs", "conservative:planning=hosts"},
  };
  int cases = 0;
  for (const auto& entry : fs::directory_iterator(folder / "out")) {
    const std::string variant = middle(entry.path().filename().string(), "over-", "_jobs.csv");
    if (!policies.contains(variant)) continue;
    check_replay(fmt::format("--trace {}/syn480_over.json --cluster 64x1 --policy {}", folder.string(),
                             policies.at(variant)),
                 read_schedule(entry.path(), "starting_time", "finish_time"));
    ++cases;
  }
  CHECK(cases >= 6);
}

TEST_CASE("peers: textbook backfilling, every wait of every log") {
  const fs::path folder = shared_folder("golden/textbook");
  if (folder.empty()) return;
  int cases = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".swf") continue;
    const std::string log = entry.path().stem().string();
    const std::string text = slurp(entry.path());
    const std::size_t at = text.find("; MaxProcs:");
    REQUIRE(at != std::string::npos);
    const int num_gpus = std::stoi(text.substr(at + std::string_view("; MaxProcs:").size()));
    for (const std::string policy : {"easy", "conservative"}) {
      CAPTURE(log);
      CAPTURE(policy);
      const TemporaryFolder work;
      const auto result =
          run_vtrain(fmt::format("replay --trace {} --cluster {}x1 --policy {} --deadlines none --out out",
                                 entry.path().string(), num_gpus, policy),
                     work.path());
      REQUIRE_MESSAGE(result.exit_code == 0, result.err);
      const auto expected = read_rows(folder / (log + "-" + policy + ".csv"));
      const auto actual = read_rows(work.path() / "out" / "jobs.csv");
      REQUIRE(actual.size() == expected.size());
      int differing = 0;
      for (const auto& [id, row] : expected) {
        // A log's clock may start anywhere: waits are compared.
        const double wait = std::stod(row.at("start_s")) - std::stod(row.at("submit_s"));
        const auto& job = actual.at(id);
        differing += std::stod(job.at("start_s")) - std::stod(job.at("submit_s")) == wait ? 0 : 1;
      }
      CHECK(differing == 0);
      ++cases;
    }
  }
  CHECK(cases >= 8);
}

TEST_CASE("peers: mean JCT and makespan of Batsim's schedules with time limits 1 s above the durations") {
  const fs::path folder = shared_folder("golden/tiresias");
  if (folder.empty()) return;
  std::string trace = "job_id,submit_s,num_gpus,duration_s,requested_s\n";
  for (const auto& [id, row] : read_rows(folder / "syn480.csv")) {
    trace += fmt::format("{},{},{},{},{}\n", id, row.at("submit_time"), row.at("num_gpu"), row.at("duration"),
                         std::stoll(row.at("duration")) + 1);
  }
  struct Case {
    std::string policy;
    double mean_jct_s;  ///< mean JCT, seconds, to two decimals
    double makespan_s;
  };
  for (const auto& [policy, mean_jct_s, makespan_s] :
       {Case{"easy-fast", 25804.32, 416540}, Case{"easy:planning=hosts", 24965.15, 421128},
        Case{"easy:order=asc-walltime,planning=hosts", 11643.60, 424745},
        Case{"conservative:planning=hosts", 23904.86, 410665}}) {
    CAPTURE(policy);
    const TemporaryFolder work;
    work.write("jobs.csv", trace);
    const json summary =
        run_json("replay --trace jobs.csv --deadlines none --cluster 8x8 --policy " + policy, work);
    CHECK(std::round(summary.at("avg_jct_s").get<double>() * 100) / 100 ==
          doctest::Approx(mean_jct_s).epsilon(1e-12));
    CHECK(summary.at("makespan_s").get<double>() == makespan_s);
  }
}

namespace {

/// Replays a case of ElasticFlow's simulator and compares state, start, end and deadline of every job.
void check_elasticflow(const std::string& name, const std::string& policy) {
  const fs::path folder = shared_folder("golden/schedules/" + name);
  if (folder.empty()) return;
  if (!fs::exists(folder / "expected_jobs.csv")) {
    MESSAGE("skipped: " << folder.string() << " has no known answer");
    return;
  }
  CAPTURE(name);
  const json cluster = json::parse(slurp(folder / "case.json")).at("cluster");
  const TemporaryFolder work;
  const auto result = run_vtrain(
      fmt::format(
          "replay --trace {0}/trace.csv --format elasticflow --throughputs {0}/throughputs --cluster {1}x{2} "
          "--placement count --interruption-cost none --policy '{3}' --out out",
          folder.string(), cluster.at("nodes").get<int>(), cluster.at("gpus_per_node").get<int>(), policy),
      work.path());
  REQUIRE_MESSAGE(result.exit_code == 0, result.err);
  const auto expected = read_rows(folder / "expected_jobs.csv");
  const auto actual = read_rows(work.path() / "out" / "jobs.csv");
  CHECK(actual.size() == expected.size());
  int differing = 0;
  for (const auto& [id, row] : expected) {
    const auto& job = actual.at(id);
    const bool rejected = row.at("status") == "rejected";
    const bool same = job.at("state") == row.at("status") &&
                      (rejected || (std::stod(job.at("start_s")) == std::stod(row.at("start")) &&
                                    std::stod(job.at("end_s")) == std::stod(row.at("end")))) &&
                      (job.at("deadline_met") == "true") == (row.at("deadline_met") == "1");
    if (same) continue;
    if (++differing <= 5) {
      MESSAGE("job " << id << ": expected " << row.at("status") << " " << row.at("start") << " "
                     << row.at("end") << " met " << row.at("deadline_met") << ", found " << job.at("state")
                     << " " << job.at("start_s") << " " << job.at("end_s") << " met "
                     << job.at("deadline_met"));
    }
  }
  CHECK(differing == 0);
}

}  // namespace

TEST_CASE("peers: ElasticFlow's own schedules of las and edf, every job of every case") {
  for (const char* name : {"ef_micro_dlas", "ef_dlas_vpollux", "ef_dlas_philly32"})
    check_elasticflow(name, "elasticflow-las");
  for (const char* name : {"ef_micro_edf", "ef_edf_vpollux", "ef_edf_philly32"})
    check_elasticflow(name, "elasticflow-edf");
}

TEST_CASE("peers: ElasticFlow's own elastic schedules, every job of every case") {
  const std::string spec = "elasticflow:admission=batch,greedy=largest,overhead=";
  check_elasticflow("ef_micro_elastic_noovh", spec + "none,slot=60s");
  check_elasticflow("ef_elastic_gen100_noovh", spec + "none,slot=240s");
  check_elasticflow("ef_elastic_vpollux_noovh", spec + "none,slot=60s");
  for (const char* name : {"ef_micro_elastic", "ef_elastic_vpollux", "ef_elastic_philly32"})
    check_elasticflow(name, spec + "table,slot=60s");
}

TEST_CASE("peers: a job that asks for more than its max_gpu asks for max_gpu, and is counted") {
  const TemporaryFolder work;
  work.write("trace.csv",
             "job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu,duration,max_gpu\n"
             "0,0,100,bert,1000,64,8,60,2\n"
             "1,0,100,bert,1000,64,2,100,2\n");
  fs::create_directory(work.path() / "throughputs");
  work.write("throughputs/bert.csv", "global_batch_size,1,2\n64,0.5,1\n");
  // 100 iterations at 1 iteration/s on 2 GPUs.
  const auto with_tables =
      run_vtrain("replay --trace trace.csv --cluster 1x8 --policy fifo --out out", work.path());
  REQUIRE_MESSAGE(with_tables.exit_code == 0, with_tables.err);
  CHECK(with_tables.out.find("1 job requests more GPUs than max_gpu: max_gpu is used") != std::string::npos);
  const auto jobs = read_rows(work.path() / "out" / "jobs.csv");
  CHECK(jobs.at("0").at("num_gpus") == "2");
  CHECK(jobs.at("0").at("end_s") == "100");
  fs::remove_all(work.path() / "throughputs");
  const auto without = run_vtrain("replay --trace trace.csv --cluster 1x8 --policy fifo", work.path());
  REQUIRE_MESSAGE(without.exit_code == 0, without.err);
  CHECK(vtrain::testing::unwrapped(without.out).find("the durations of 1 are those on num_gpu GPUs") !=
        std::string::npos);
}

TEST_CASE("peers: the public vTrain release, every configuration") {
  const fs::path golden = shared_folder("golden/vtrain");
  const fs::path tables = shared_folder("data/vtrain/a100");
  if (golden.empty() || tables.empty()) return;
  const json document =
      json::parse(vtrain::read_file(golden / "golden.json.gz", vtrain::InputKind::Trace).value());
  const TemporaryFolder work;
  fs::create_directory(work.path() / "configs");
  const json& cases = document.at("cases");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    json config = cases[i].at("config");
    // As the answers were made: most published files name a number of GPUs that their plan does not have.
    if (cases[i].at("num_gpus_patched").get<bool>()) config["num_gpus"] = nullptr;
    work.write(fmt::format("configs/{:04}.json", i), config.dump(2));
  }
  const std::string folders =
      fmt::format(" --traces {}/traces --collectives {}", golden.string(), tables.string());
  const auto result = run_vtrain("predict configs --semantics vtrain --json" + folders, work.path());
  REQUIRE_MESSAGE(result.exit_code == 0, result.err);
  const json predictions = json::parse(result.out);
  REQUIRE(predictions.size() == cases.size());
  constexpr double kToleranceNs = 1.0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(cases[i].at("name"));
    const json& stages = predictions[i].at("stages");
    CHECK(std::abs(predictions[i].at("iteration_time_ns").get<double>() -
                   cases[i].at("iteration_time_ns").get<double>()) <= kToleranceNs);
    CHECK(std::abs(predictions[i].at("communication_end_ns").get<double>() -
                   cases[i].at("comm_end_ns").get<double>()) <= kToleranceNs);
    CHECK(predictions[i].at("communication_sum_ns").get<double>() ==
          doctest::Approx(cases[i].at("comm_sum_ns").get<double>()).epsilon(1e-12));
    REQUIRE(stages.size() == cases[i].at("gpu_end_ns").size());
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
      CHECK(std::abs(stages[stage].at("end_ns").get<double>() -
                     cases[i].at("gpu_end_ns")[stage].get<double>()) <= kToleranceNs);
      CHECK(stages[stage].at("compute_ns").get<double>() ==
            cases[i].at("gpu_compute_ns")[stage].get<double>());
    }
  }
}

TEST_CASE("peers: zero micro-batches, on which the reference crashes, is a clear error") {
  const fs::path golden = shared_folder("golden/vtrain");
  const fs::path tables = shared_folder("data/vtrain/a100");
  if (golden.empty() || tables.empty()) return;
  const TemporaryFolder work;
  // 2 sequences for each of 4 replicas, in micro-batches of 8: none is whole, although 8 divides the global
  // batch.
  work.write(
      "none.json",
      R"({"num_gpus": 8, "tensor_parallel_size": 1, "data_parallel_size": 4, "pipeline_parallel_size": 2,
    "global_batch_size": 8, "micro_batch_size": 8, "num_layers": 4, "hidden_size": 1024, "num_attention_heads": 16,
    "max_length": 1024, "trace_path": "."})");
  const auto result =
      run_vtrain(fmt::format("predict none.json --semantics vtrain --traces {}/traces --collectives {}",
                             golden.string(), tables.string()),
                 work.path());
  CHECK(result.exit_code == 2);
  CHECK(result.out == "");
  CHECK(result.err.find("none.json") != std::string::npos);
  CHECK(result.err.find("micro") != std::string::npos);
}
