/// `--prediction-error`: jobs that run longer or shorter than policies know.
#include <doctest/doctest.h>

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/strings.hpp"
#include "tests/support/command_runner.hpp"

using nlohmann::json;
using vtrain::split;
using vtrain::testing::CommandResult;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;
using vtrain::testing::unwrapped;

namespace {

/// A cluster on which curves have few points.
const std::string kSmall = "--cluster 4x8:a100 ";

/// Rows of a table by column name.
std::vector<std::map<std::string, std::string>> rows_of(const std::string& table) {
  std::vector<std::map<std::string, std::string>> rows;
  std::vector<std::string> columns;
  for (const std::string_view line : split(table, '\n')) {
    if (line.empty()) continue;
    const auto cells = split(line, ',');
    if (columns.empty()) {
      columns.assign(cells.begin(), cells.end());
      continue;
    }
    rows.emplace_back();
    for (std::size_t i = 0; i < columns.size(); ++i)
      rows.back()[columns[i]] = std::string(cells[i]);
  }
  return rows;
}

std::string jobs_of(const std::string& arguments, const TemporaryFolder& work) {
  const CommandResult done = run_vtrain("replay --out run " + arguments, work.path());
  REQUIRE_MESSAGE(done.exit_code == 0, done.err);
  return slurp(work / "run/jobs.csv");
}

}  // namespace

TEST_CASE("prediction error: a job runs for the predicted time x its factor") {
  const TemporaryFolder work;
  const std::string table = jobs_of("--policy fifo --placement count --prediction-error lognormal:0.3", work);
  double sum = 0;
  double squares = 0;
  const auto rows = rows_of(table);
  REQUIRE(rows.size() > 300);
  for (const auto& row : rows) {
    const double factor = std::stod(row.at("time_factor"));
    const double ran = std::stod(row.at("end_s")) - std::stod(row.at("start_s"));
    CHECK(ran == doctest::Approx(std::stod(row.at("duration_s")) * factor).epsilon(1e-9));
    sum += std::log(factor);
    squares += std::log(factor) * std::log(factor);
  }
  // Half of the variance is that of plans, of which there are few: five standard errors of a mean of 20
  // plans.
  const auto number = static_cast<double>(rows.size());
  CHECK(std::abs(sum / number) < 5 * 0.3 / std::sqrt(2.0) / std::sqrt(20.0));
  CHECK(std::sqrt(squares / number) > 0.15);
  CHECK(std::sqrt(squares / number) < 0.5);
}

TEST_CASE("prediction error: factors are the same under every policy and on any number of threads") {
  const TemporaryFolder work;
  const auto factors = [&](const std::string& policy) {
    std::map<std::string, std::string> found;
    for (const auto& row : rows_of(jobs_of(kSmall + "--prediction-error empirical --policy " + policy, work)))
      found[row.at("job_id")] = row.at("time_factor");
    return found;
  };
  const auto first = factors("fifo");
  CHECK(factors("deadline") == first);
  CHECK(factors("elasticflow") == first);
  const std::string command =
      "compare --prediction-error lognormal:0.1 --seeds 1-2 --policies edf,deadline " + kSmall;
  CHECK(run_json(command + "--threads 1", work) == run_json(command + "--threads 3", work));
}

TEST_CASE("prediction error: none, and errors too small to count, leave the schedule as it is") {
  const TemporaryFolder work;
  for (const std::string policy : {"fifo", "easy", "srtf", "edf", "edf-admission", "las"}) {
    CAPTURE(policy);
    const std::string plain = jobs_of(kSmall + "--policy " + policy, work);
    CHECK(jobs_of(kSmall + "--prediction-error none --policy " + policy, work) == plain);
    const auto expected = rows_of(plain);
    const auto found =
        rows_of(jobs_of(kSmall + "--prediction-error lognormal:1e-12 --policy " + policy, work));
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      for (const auto& [column, cell] : expected[i])
        CHECK_MESSAGE(found[i].at(column) == cell, column);
    }
  }
  // Policies that plan ends are told them instead: they differ by ticks of the clock.
  for (const std::string policy : {"deadline", "elasticflow"}) {
    CAPTURE(policy);
    const json plain = run_json("replay " + kSmall + "--policy " + policy, work);
    const json tiny =
        run_json("replay " + kSmall + "--prediction-error lognormal:1e-12 --policy " + policy, work);
    CHECK(std::abs(tiny["deadline_met"].get<int>() - plain["deadline_met"].get<int>()) <= 2);
    CHECK(tiny["promises_broken"] == 0);
    CHECK(tiny["avg_jct_s"].get<double>() == doctest::Approx(plain["avg_jct_s"].get<double>()).epsilon(0.01));
  }
}

TEST_CASE("prediction error: promises break, and the run says what it assumed") {
  const TemporaryFolder work;
  const json wide = run_json("replay " + kSmall + "--policy deadline --prediction-error lognormal:0.2", work);
  CHECK(wide["promises_broken"].get<int>() > 0);
  CHECK(wide["promises_kept"].get<int>() > wide["promises_broken"].get<int>());
  CHECK(wide["assumptions"].dump().find("--prediction-error lognormal:0.2") != std::string::npos);
  const CommandResult other = run_vtrain(
      "replay " + kSmall + "--policy elasticflow-las --prediction-error lognormal:0.2", work.path());
  CHECK(unwrapped(other.out).find("under elasticflow-las jobs run as predicted") != std::string::npos);
}

TEST_CASE("prediction error: it varies, and a spec repeats it") {
  const TemporaryFolder work;
  const json varied =
      run_json("compare --policies easy --seeds 2 --vary prediction-error=none,lognormal:0.5", work);
  const json alone = run_json("compare --policies easy --seeds 2 --prediction-error lognormal:0.5", work);
  CHECK(varied["combinations"][1]["seeds"]["policies"][0]["metrics"]["avg_jct_s"]["mean"] ==
        alone["runs"][0]["avg_jct_s"]);
  CHECK(varied["combinations"][0]["seeds"] != varied["combinations"][1]["seeds"]);
  const std::string table = jobs_of("--policy easy --prediction-error lognormal:0.5", work);
  REQUIRE(run_vtrain("replay --spec run/run.json --out again", work.path()).exit_code == 0);
  CHECK(slurp(work / "again/jobs.csv") == table);
}

TEST_CASE("prediction error: rules that are none are refused") {
  const TemporaryFolder work;
  for (const std::string rule : {"lognormal", "lognormal:x", "lognormal:3", "gauss:0.1"}) {
    const CommandResult result = run_vtrain("replay --policy fifo --prediction-error " + rule, work.path());
    CHECK(result.exit_code == 2);
    CHECK_MESSAGE(
        unwrapped(result.err)
                .find("--prediction-error: expected none, empirical or lognormal:SIGMA (0 to 2), found '" +
                      rule + "'") != std::string::npos,
        result.err);
  }
}
