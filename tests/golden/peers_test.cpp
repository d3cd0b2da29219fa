/// Known answers of other simulators, through the command line. Every job's start and end must be theirs
/// exactly; the predictor must be within 1 ns of the public vTrain release.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/csv.hpp"
#include "core/file.hpp"
#include "tests/support/command_runner.hpp"

namespace fs = std::filesystem;
using nlohmann::json;
using vtrain::CsvReader;
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

/// Replays and compares with the peer's schedule, job by job.
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

/// The part of a file name that remains when `prefix` and `suffix` are taken off; empty when they are not
/// there.
std::string middle(const std::string& name, const std::string& prefix, const std::string& suffix) {
  if (!name.starts_with(prefix) || !name.ends_with(suffix)) return {};
  return name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
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

TEST_CASE("peers: Batsim's own schedules, every job of every case") {
  const fs::path folder = shared_folder("golden/batsim");
  if (folder.empty()) return;
  const std::map<std::string, std::string> policies = {
      {"fcfs_fast-fcfs", "fifo"},
      {"filler-fcfs", "fit-first"},
      {"easy_bf_fast-fcfs", "easy-fast"},
      {"easy_bf-fcfs", "easy"},
      {"easy_bf-asc_walltime", "easy:order=asc-walltime"},
      {"conservative_bf-fcfs", "conservative"},
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

TEST_CASE("peers: the public vTrain release, every configuration") {
  const fs::path golden = shared_folder("golden/vtrain");
  const fs::path tables = shared_folder("data/vtrain/a100");
  if (golden.empty() || tables.empty()) return;
  const json document = json::parse(vtrain::read_file(golden / "golden.json.gz").value());
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
