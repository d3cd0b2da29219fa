/// `vtrain validate-schedule` on real logs: figures computed again, and those of the documentation.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "core/io/csv.hpp"
#include "tests/support/command_runner.hpp"

namespace fs = std::filesystem;
using nlohmann::json;
using vtrain::testing::CommandResult;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::shared_folder;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;

namespace {

/// A job of a log in the Standard Workload Format, and its simulated schedule.
struct LoggedJob {
  double submit_s = 0;
  double recorded_wait_s = 0;
  double run_time_s = 0;
  double num_gpus = 0;
  double wait_s = 0;
  double simulated_run_time_s = 0;
};

/// Jobs of a log with a run time, and their schedule from a table of jobs.
std::vector<LoggedJob> read_swf(const std::string& log, const std::string& table) {
  struct Interval {
    double start = 0;
    double end = 0;
  };
  std::map<std::string, Interval, std::less<>> simulated;
  auto rows = vtrain::CsvReader::open(table, "jobs.csv");
  REQUIRE(rows);
  const auto seconds = [&](const char* column) {
    return std::stod(std::string(rows->field(rows->require_column(column).value())));
  };
  while (rows->next().value())
    simulated[std::string(rows->field(0))] = {seconds("start_s"), seconds("end_s")};
  std::vector<LoggedJob> jobs;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name;
    LoggedJob job;
    if (!(fields >> name >> job.submit_s >> job.recorded_wait_s >> job.run_time_s >> job.num_gpus)) continue;
    if (job.run_time_s <= 0) continue;
    const auto schedule = simulated.find(name);
    REQUIRE(schedule != simulated.end());
    job.wait_s = schedule->second.start - job.submit_s;
    job.simulated_run_time_s = schedule->second.end - schedule->second.start;
    jobs.push_back(job);
  }
  return jobs;
}

/// Spearman's correlation of both waits, by counting for each job those that waited less, or as long.
double counted_correlation(const std::vector<LoggedJob>& jobs) {
  const auto deviation = [&](double LoggedJob::*wait, const LoggedJob& of) {
    double less = 0;
    double equal = 0;
    for (const LoggedJob& job : jobs) {
      less += job.*wait < of.*wait ? 1 : 0;
      equal += job.*wait == of.*wait ? 1 : 0;
    }
    return less + equal / 2 - static_cast<double>(jobs.size()) / 2;
  };
  double product = 0;
  double square_a = 0;
  double square_b = 0;
  for (const LoggedJob& job : jobs) {
    const double a = deviation(&LoggedJob::recorded_wait_s, job);
    const double b = deviation(&LoggedJob::wait_s, job);
    product += a * b;
    square_a += a * a;
    square_b += b * b;
  }
  return product / std::sqrt(square_a * square_b);
}

/// A row of the terminal's table as one of a page: cells are two blanks or more apart.
std::string with_bars(const std::string& line) {
  std::string row;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::size_t next = line.find_first_not_of(' ', i);
    if (next == std::string::npos) break;
    if (next - i >= 2) {
      row += " | ";
      i = next;
    }
    row += line[i];
  }
  return row;
}

}  // namespace

TEST_CASE("validate-schedule: the figures of a real log, computed again from the log and from jobs.csv") {
  const fs::path log = shared_folder("data/traces/swf") / "sdsc_sp2_sample.swf";
  if (!fs::exists(log)) return;
  const TemporaryFolder work;
  const std::string inputs = log.string() + " --cluster 16x8 ";
  REQUIRE(run_vtrain("replay --trace " + inputs + "--policy easy --out run", work.path()).exit_code == 0);
  const std::vector<LoggedJob> jobs = read_swf(slurp(log), slurp(work / "run/jobs.csv"));
  REQUIRE(jobs.size() == 4606);
  const auto sum_of = [&](auto value) {
    double sum = 0;
    for (const LoggedJob& job : jobs)
      sum += value(job);
    return sum;
  };
  const auto count = static_cast<double>(jobs.size());
  std::vector<double> errors;
  for (const LoggedJob& job : jobs)
    errors.push_back(std::abs(job.wait_s - job.recorded_wait_s));
  std::ranges::sort(errors);

  const json document = run_json("validate-schedule " + inputs + "--policy easy", work);
  const json& easy = document["policies"][0];
  CHECK(easy["compared"] == 4606);
  CHECK(easy["median_error_s"] == errors[2303 - 1]);
  CHECK(easy["p90_error_s"] == errors[4146 - 1]);  // 0.9 x 4606 = 4145.4
  CHECK(easy["mean_error_s"] ==
        sum_of([](const LoggedJob& job) { return std::abs(job.wait_s - job.recorded_wait_s); }) / count);
  CHECK(easy["mean_wait_s"] == sum_of([](const LoggedJob& job) { return job.wait_s; }) / count);
  // The log's own mean wait.
  CHECK(easy["recorded_mean_wait_s"].get<double>() == doctest::Approx(7080.470690).epsilon(1e-10));
  CHECK(easy["rank_correlation"].get<double>() == doctest::Approx(counted_correlation(jobs)).epsilon(1e-12));

  // The GPUs in use, hour by hour.
  const double first = jobs.front().submit_s;
  const double last = jobs.back().submit_s;
  const json& use = document["utilization"];
  CHECK(use["interval_s"] == 3600);
  const auto hours = static_cast<std::size_t>(std::ceil((last - first) / 3600));
  REQUIRE(use["recorded"].size() == hours);
  double off = 0;
  for (std::size_t hour = 0; hour < hours; ++hour) {
    const double begin = first + 3600 * static_cast<double>(hour);
    const double end = std::min(begin + 3600, last);
    const auto held = [&](const LoggedJob& job, double start, double run_time) {
      return job.num_gpus * std::max(0.0, std::min(start + run_time, end) - std::max(start, begin));
    };
    const double recorded = sum_of(
        [&](const LoggedJob& job) { return held(job, job.submit_s + job.recorded_wait_s, job.run_time_s); });
    const double simulated = sum_of(
        [&](const LoggedJob& job) { return held(job, job.submit_s + job.wait_s, job.simulated_run_time_s); });
    const double area = 128 * (end - begin);
    CAPTURE(hour);
    CHECK(use["recorded"][hour].get<double>() == doctest::Approx(recorded / area).epsilon(1e-12));
    CHECK(easy["utilization"][hour].get<double>() == doctest::Approx(simulated / area).epsilon(1e-12));
    off += std::abs(recorded - simulated) / 128;
  }
  CHECK(easy["mean_utilization_difference"].get<double>() ==
        doctest::Approx(off / (last - first)).epsilon(1e-12));
}

TEST_CASE("validate-schedule: the log of a real slurmctld, and the figures of docs/validate-schedule.md") {
  const TemporaryFolder work;
  fs::create_directory_symlink(fs::path(VTRAIN_PROJECT_DIR) / "docs", work / "docs");
  const std::string page = slurp(fs::path(VTRAIN_PROJECT_DIR) / "docs/validate-schedule.md");
  const auto check_rows = [&](const std::string& log, const std::string& arguments,
                              std::size_t num_policies) {
    const CommandResult shown = run_vtrain("validate-schedule " + arguments, work.path());
    REQUIRE_MESSAGE(shown.exit_code == 0, shown.err);
    std::istringstream lines(shown.out.substr(shown.out.find("\npolicy ") + 1));
    std::string line;
    std::getline(lines, line);
    for (std::size_t i = 0; i < num_policies; ++i) {
      std::getline(lines, line);
      const std::string row = "| " + log + " | " + with_bars(line) + " |";
      CHECK_MESSAGE(page.find(row) != std::string::npos, row);
    }
  };
  const std::string slurm =
      "docs/slurm_log/sacct.txt --cluster docs/slurm_log/slurm.conf --policies "
      "slurm:folder=docs/slurm_log,pass_at=45s,fifo,easy";
  check_rows("Slurm", slurm, 3);
  const json document = run_json("validate-schedule " + slurm, work);
  CHECK(document["policies"][0]["verdict"] == "close");
  CHECK(document["policies"][0]["compared"] == 57);
  CHECK(document["skipped_rows"] == 3);
  CHECK(document["nearest"] == "slurm:folder=docs/slurm_log,pass_at=45s");
  const fs::path traces = shared_folder("data/traces");
  if (traces.empty()) return;
  check_rows("SDSC SP2", (traces / "swf/sdsc_sp2_sample.swf").string() + " --cluster 16x8", 4);
  const fs::path openb = traces / "alibaba-openb-2023";
  check_rows("openb",
             (openb / "openb_pod_list_default.csv.gz").string() + " --cluster " +
                 (openb / "openb_node_list_gpu_node.csv.gz").string() + " --placement fgd",
             4);
}
