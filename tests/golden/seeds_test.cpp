/// `vtrain compare --seeds`: means with intervals, differences paired by seed, days of a trace drawn anew.
#include <doctest/doctest.h>

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/support/command_runner.hpp"

using nlohmann::json;
using vtrain::testing::CommandResult;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;
using vtrain::testing::unwrapped;

namespace {

/// Jobs of 14 days, ten a day; on odd days they are twice as long.
std::string fortnight() {
  std::string text = "job_id,submit_s,num_gpus,duration_s\n";
  for (int day = 0; day < 14; ++day) {
    for (int job = 0; job < 10; ++job)
      text += fmt::format("{}-{},{},{},{}\n", day, job, day * 86'400 + job * 7'000, 1 + job % 8,
                          3'600 * (1 + day % 2));
  }
  return text;
}

/// Values of a metric by seed under a policy.
std::vector<double> values(const json& document, std::size_t policy, const std::string& metric) {
  return document["seeds"]["policies"][policy]["metrics"][metric]["values"].get<std::vector<double>>();
}

}  // namespace

TEST_CASE("seeds: each value is that of a replay with its seed, and the intervals follow from them") {
  const TemporaryFolder work;
  const json compared = run_json("compare --policies fifo,srtf --seeds 3,8", work);
  CHECK(compared["seeds"]["seeds"] == json({3, 8}));
  CHECK(compared["seeds"]["compared_with"] == "srtf");
  std::vector<std::vector<double>> by_policy;
  for (std::size_t policy = 0; policy < 2; ++policy) {
    const std::string name = policy == 0 ? "fifo" : "srtf";
    CHECK(compared["seeds"]["policies"][policy]["policy"] == name);
    const std::vector<double> found = values(compared, policy, "deadline_satisfactory_ratio");
    REQUIRE(found.size() == 2);
    by_policy.push_back(found);
    for (std::size_t i = 0; i < 2; ++i) {
      const json alone = run_json(fmt::format("replay --policy {} --seed {}", name, i == 0 ? 3 : 8), work);
      CHECK(alone["deadline_satisfactory_ratio"].get<double>() == found[i]);
    }
    // t(0.975) of Student's distribution with one degree of freedom is 12.7062.
    const json& mean = compared["seeds"]["policies"][policy]["metrics"]["deadline_satisfactory_ratio"];
    const double half = 12.70620474 * std::abs(found[0] - found[1]) / 2;
    CHECK(mean["mean"].get<double>() == doctest::Approx((found[0] + found[1]) / 2));
    CHECK(mean["low"].get<double>() == doctest::Approx((found[0] + found[1]) / 2 - half));
    CHECK(mean["high"].get<double>() == doctest::Approx((found[0] + found[1]) / 2 + half));
  }
  const json& difference = compared["seeds"]["policies"][0]["difference"]["deadline_satisfactory_ratio"];
  const double first = by_policy[0][0] - by_policy[1][0];
  const double second = by_policy[0][1] - by_policy[1][1];
  CHECK(difference["mean"].get<double>() == doctest::Approx((first + second) / 2));
  CHECK(difference["high"].get<double>() ==
        doctest::Approx((first + second) / 2 + 12.70620474 * std::abs(first - second) / 2));
  CHECK_FALSE(compared["seeds"]["policies"][1].contains("difference"));
}

TEST_CASE("seeds: the results do not depend on threads, and a run's file repeats them") {
  const TemporaryFolder work;
  work.write("jobs.csv", fortnight());
  const std::string command = "compare --trace jobs.csv --cluster 2x8 --policies fifo,srtf,las --seeds 1-6 ";
  REQUIRE(run_vtrain(command + "--threads 1 --out one", work.path()).exit_code == 0);
  REQUIRE(run_vtrain(command + "--threads 3 --out three", work.path()).exit_code == 0);
  REQUIRE(run_vtrain("compare --spec one/run.json --out again", work.path()).exit_code == 0);
  const std::string table = slurp(work / "one/seeds.csv");
  CHECK(table.starts_with("seed,policy,jobs,"));
  CHECK(std::count(table.begin(), table.end(), '\n') == 1 + 6 * 3);
  CHECK(slurp(work / "three/seeds.csv") == table);
  CHECK(slurp(work / "again/seeds.csv") == table);
}

TEST_CASE("seeds: days of a trace are drawn anew, and the trace itself is what is written") {
  const TemporaryFolder work;
  work.write("jobs.csv", fortnight());
  const std::string command = "compare --trace jobs.csv --cluster 2x8 --policies fifo,srtf ";
  const json plain = run_json(command, work);
  CHECK_FALSE(plain.contains("seeds"));
  const json drawn = run_json(command + "--seeds 1-12", work);
  CHECK(drawn["runs"] == plain["runs"]);
  CHECK(drawn["seeds"]["resampled"] == "days");
  // Long days are 0 to 14 of the 14: the GPU-hours differ, about those of the trace.
  const std::vector<double> hours = values(drawn, 0, "useful_gpu_hours");
  CHECK(std::set<double>(hours.begin(), hours.end()).size() > 3);
  const json one =
      run_json("replay --trace jobs.csv --cluster 2x8 --policy fifo --resample days --seed 5", work);
  CHECK(one["avg_jct_s"].get<double>() == values(drawn, 0, "avg_jct_s")[4]);
  const json same = run_json(command + "--seeds 1-3 --resample none", work);
  CHECK(same["seeds"]["policies"][0]["metrics"]["avg_jct_s"]["low"] ==
        same["seeds"]["policies"][0]["metrics"]["avg_jct_s"]["high"]);
}

TEST_CASE("seeds: the answer calls a difference clear only where it is larger than the noise") {
  const TemporaryFolder work;
  work.write("jobs.csv", fortnight());
  const auto answer = [&](const std::string& cluster) {
    const CommandResult shown = run_vtrain(
        "compare --trace jobs.csv --seeds 1-8 --policies fifo,srtf --cluster " + cluster, work.path());
    REQUIRE_MESSAGE(shown.exit_code == 0, shown.err);
    return unwrapped(shown.out.substr(0, shown.out.find("\n\n")));
  };
  // Nobody waits, and the lengths of the days alone make noise.
  const std::string alike = answer("8x8");
  CHECK_MESSAGE(alike.starts_with("Over 8 seeds, no clear difference between fifo and srtf: "), alike);
  const std::string clear = answer("1x8 --load 1.5");
  CHECK_MESSAGE(clear.starts_with("Over 8 seeds, srtf has an average JCT of "), clear);
  CHECK_MESSAGE(clear.find(" less than fifo.") != std::string::npos, clear);
}

TEST_CASE("seeds: a baseline is replayed, too, and the others are compared with it") {
  const TemporaryFolder work;
  const CommandResult shown =
      run_vtrain("compare --policies srtf,easy --baseline fifo --seed 1", work.path());
  REQUIRE_MESSAGE(shown.exit_code == 0, shown.err);
  CHECK(shown.out.find("\nagainst fifo ") != std::string::npos);
  CHECK(shown.out.find("\nfifo ") != std::string::npos);
  const json runs = run_json("compare --policies srtf,easy --baseline fifo --seed 1", work);
  REQUIRE(runs["runs"].size() == 3);
  const auto met = [&](std::size_t i) {
    return runs["runs"][i]["deadline_satisfactory_ratio"].get<double>();
  };
  CHECK(runs["seeds"]["policies"][0]["difference"]["deadline_satisfactory_ratio"]["mean"].get<double>() ==
        doctest::Approx(met(0) - met(2)));
  CHECK(runs["seeds"]["policies"][0]["difference"]["deadline_satisfactory_ratio"]["low"].is_null());
}

TEST_CASE("seeds: seeds that cannot be replayed are refused by name") {
  const TemporaryFolder work;
  work.write("jobs.csv", fortnight());
  const auto refused = [&](const std::string& arguments, const std::string& message) {
    CAPTURE(arguments);
    const CommandResult result = run_vtrain("compare " + arguments, work.path());
    CHECK(result.exit_code == 2);
    CHECK_MESSAGE(result.err.find(message) != std::string::npos, result.err);
  };
  refused("--seeds 5-1", "--seeds: expected seeds such as 1-20 or 1,4,9 (up to 10,000), found '5-1'");
  refused("--seeds 1,2,1", "--seeds: seed 1 is named twice");
  refused("--seeds 1-99999", "up to 10,000");
  refused("--seeds x", "found 'x'");
  refused("--seeds 1-3 --seed 4", "--seed");
  refused("--baseline nope", "nope");
  refused("--trace jobs.csv --cluster 2x8 --resample weeks --seeds 1-3 --policies fifo,nosuch", "nosuch");
  work.write("short.csv", "job_id,submit_s,num_gpus,duration_s\na,0,1,10\nb,100,1,10\n");
  refused("--trace short.csv --cluster 1x8 --resample days",
          "--resample: expected a trace of at least two days");
}

TEST_CASE("vary: every combination has the values of its own comparison") {
  const TemporaryFolder work;
  const std::string more = "--policies easy,srtf --seeds 2,5 ";
  const CommandResult shown = run_vtrain(
      "compare --vary load=0.8,1.2 --vary placement=count,consolidate --out varied " + more, work.path());
  REQUIRE_MESSAGE(shown.exit_code == 0, shown.err);
  CHECK(shown.out.starts_with("Of 4 combinations, "));
  const json varied =
      run_json("compare --vary load=0.8,1.2 --vary placement=count,consolidate " + more, work);
  CHECK(varied["vary"] == json({"load", "placement"}));
  REQUIRE(varied["combinations"].size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    const std::string load = i < 2 ? "0.8" : "1.2";
    const std::string placement = i % 2 == 0 ? "count" : "consolidate";
    const json& combination = varied["combinations"][i];
    CHECK(combination["values"] == json({{"load", load}, {"placement", placement}}));
    const json alone =
        run_json(fmt::format("compare --load {} --placement {} {}", load, placement, more), work);
    CHECK(combination["seeds"] == alone["seeds"]);
  }
  const std::string table = slurp(work / "varied/variations.csv");
  CHECK(table.starts_with("load,placement,seed,policy,jobs,"));
  CHECK(std::count(table.begin(), table.end(), '\n') == 1 + 4 * 2 * 2);
  REQUIRE(run_vtrain("compare --spec varied/run.json --out again", work.path()).exit_code == 0);
  CHECK(slurp(work / "again/variations.csv") == table);
  CHECK(slurp(work / "varied/report.html").find("load 1.2, placement consolidate") != std::string::npos);
}

TEST_CASE("vary: what cannot vary is refused by name") {
  const TemporaryFolder work;
  const auto refused = [&](const std::string& arguments, const std::string& message) {
    CAPTURE(arguments);
    const CommandResult result = run_vtrain("compare --policies fifo --vary " + arguments, work.path());
    CHECK(result.exit_code == 2);
    CHECK_MESSAGE(result.err.find(message) != std::string::npos, result.err);
  };
  refused("plcement=count", "--vary: 'plcement' cannot vary; did you mean 'placement'?");
  refused("load", "--vary: expected OPTION=VALUE,VALUE,..., found 'load'");
  refused("load=1,1", "--vary: '1' is named twice in 'load=1,1'");
  refused("load=1,,2", "--vary: an empty value in 'load=1,,2'");
  refused("load=1 --vary load=2", "--vary: 'load' varies twice");
  refused("load=high", "--load: expected a number from 0 to 1000, found 'high'");
  refused("placement=counts", "counts");
  refused("seed=1-2000", "--seed");
}

TEST_CASE("load: a trace is submitted as fast as the load asks for") {
  const TemporaryFolder work;
  work.write("jobs.csv", fortnight());
  const auto load = [&](const std::string& arguments) {
    return run_json("replay --trace jobs.csv --cluster 2x8 --policy fifo " + arguments,
                    work)["scenario"]["offered_load"]
        .get<double>();
  };
  CHECK(load("--load 0.75") == doctest::Approx(0.75).epsilon(1e-6));
  CHECK(load("--load 1.5") == doctest::Approx(2 * load("--load 0.75")).epsilon(1e-6));
  CHECK(run_json("replay --policy fifo --load 0.6", work)["scenario"]["offered_load"].get<double>() ==
        doctest::Approx(0.6).epsilon(0.01));
}
