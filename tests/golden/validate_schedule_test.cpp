/// `vtrain validate-schedule`: simulated waits against those of a log, with answers computed by hand.
#include <doctest/doctest.h>

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
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

/// Four GPUs. Under FIFO, a runs from 0 to 1000, b from 1000 to 1600, c from 1000 to 1500, d from 1600 to
/// 1900, e from 1900 to 2100; f is too large, and g starts at once.
///
///     job  recorded wait  simulated  difference
///     a                0          0           0
///     b             1000        900        -100
///     c             1100        800        -300
///     d             1700       1300        -400
///     g                0          0           0
constexpr const char* kSevenJobs =
    "job_id,queue,tenant,submit_s,num_gpus,duration_s,original_start_s,status\n"
    "a,day,x,0,4,1000,0,completed\n"
    "b,day,y,100,2,600,1100,completed\n"
    "c,night,x,200,2,500,1300,completed\n"
    "d,night,y,300,4,300,2000,failed\n"
    "e,night,x,400,1,200,,cancelled\n"
    "f,day,x,500,8,100,1800,completed\n"
    "g,day,x,2400,1,100,2400,completed\n";

constexpr const char* kOnFour = "validate-schedule jobs.csv --cluster 1x4 ";

/// Forty jobs of one GPU and 100 s, two at a time, on a node of two GPUs. Job i is submitted at 10 i s and
/// starts at 100 (i / 2) s under FIFO: it waits 80 (i / 2) s. The log's waits are `factor` times as long.
std::string forty_jobs(double factor) {
  std::string text = "job_id,submit_s,num_gpus,duration_s,original_start_s\n";
  for (int i = 0; i < 40; ++i) {
    const int submit = 10 * i;
    const int wait = 80 * (i / 2);
    text += fmt::format("{},{},1,100,{}\n", i, submit, submit + factor * wait);
  }
  return text;
}

const json& by_name(const json& groups, const std::string& name) {
  for (const json& group : groups) {
    if (group["name"] == name) return group;
  }
  FAIL("no group " << name);
  return groups;
}

}  // namespace

TEST_CASE("validate-schedule: the figures of a small log are those computed by hand") {
  const TemporaryFolder work;
  work.write("jobs.csv", kSevenJobs);
  const json document = run_json(std::string(kOnFour) + "--policy fifo", work);
  REQUIRE(document["policies"].size() == 1);
  const json& fifo = document["policies"][0];
  CHECK(fifo["policy"] == "fifo");
  CHECK(fifo["jobs"] == 7);
  CHECK(fifo["compared"] == 5);
  CHECK(fifo["left_out"] == json::parse(R"({"cancelled_while_waiting": 1, "no_recorded_start": 0,
                                            "start_before_submission": 0, "rejected": 1, "never_started": 0})"));
  // Errors in ascending order: 0, 0, 100, 300, 400. The 90th percentile is the fifth, the median the third.
  CHECK(fifo["median_error_s"] == 100);
  CHECK(fifo["p90_error_s"] == 400);
  CHECK(fifo["mean_error_s"] == 160);
  CHECK(fifo["median_difference_s"] == -100);
  CHECK(fifo["mean_wait_s"] == 600);
  CHECK(fifo["recorded_mean_wait_s"] == 760);
  // Ranks a, b, c, d, g: recorded 0.5, 2, 3, 4, 0.5; simulated 0.5, 3, 2, 4, 0.5; their mean is 2.
  CHECK(fifo["rank_correlation"].get<double>() == doctest::Approx(8.5 / 9.5).epsilon(1e-12));
  // GPUs by hundred seconds, as jobs held them in the log and under FIFO: the submissions span 24 of them.
  //
  //     log   4444444444022444428044440   (f holds eight)
  //     FIFO  444444444444444244411000
  const std::vector<int> log = {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 0, 2, 2, 4, 4, 4, 4, 2, 8, 0, 4, 4, 4, 0};
  const std::vector<int> now = {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2, 4, 4, 4, 1, 1, 0, 0, 0};
  const json& use = document["utilization"];
  CHECK(use["interval_s"] == 100);
  REQUIRE(use["recorded"].size() == 24);
  REQUIRE(fifo["utilization"].size() == 24);
  int difference = 0;
  for (std::size_t i = 0; i < 24; ++i) {
    CAPTURE(i);
    CHECK(use["recorded"][i].get<double>() == log[i] / 4.0);
    CHECK(fifo["utilization"][i].get<double>() == now[i] / 4.0);
    difference += std::abs(log[i] - now[i]);
  }
  CHECK(difference == 28);
  CHECK(fifo["mean_utilization_difference"].get<double>() == doctest::Approx(28 / 96.0).epsilon(1e-12));
  CHECK(fifo["mean_utilization"].get<double>() == doctest::Approx(76 / 96.0).epsilon(1e-12));
  CHECK(use["recorded_mean"].get<double>() == doctest::Approx(82 / 96.0).epsilon(1e-12));
  CHECK(fifo["verdict"] == "few-jobs");
  CHECK(document["nearest"] == "fifo");

  CHECK(document["grouped_by"] == "queue");
  const json& day = by_name(fifo["by_queue"], "day");
  CHECK(day["jobs"] == 4);
  CHECK(day["compared"] == 3);
  CHECK(day["median_error_s"] == 0);
  CHECK(day["p90_error_s"] == 100);
  CHECK(day["median_difference_s"] == 0);
  CHECK(day["mean_wait_s"] == 300);
  CHECK(day["rank_correlation"] == 1);
  const json& night = by_name(fifo["by_queue"], "night");
  CHECK(night["compared"] == 2);
  CHECK(night["left_out"]["cancelled_while_waiting"] == 1);
  CHECK(night["median_error_s"] == 300);
  CHECK(night["p90_error_s"] == 400);
  CHECK(night["median_difference_s"] == -400);
  CHECK(night["rank_correlation"].is_null());
  CHECK(
      by_name(run_json(std::string(kOnFour) + "--policy fifo --by tenant", work)["policies"][0]["by_tenant"],
              "y")["mean_error_s"] == 250);
}

TEST_CASE("validate-schedule: the first screen") {
  const TemporaryFolder work;
  work.write("jobs.csv", kSevenJobs);
  // Under fit-first job e runs from 1500 to 1700 and d from 1700 on: an error of 300, and 140 in the mean.
  const CommandResult shown = run_vtrain(std::string(kOnFour) + "--policies fifo,fit-first", work.path());
  CHECK(shown.exit_code == 0);
  CHECK_MESSAGE(
      shown.out.starts_with(
          "fit-first starts half of the jobs within 1 m 40 s of their recorded starts; one in ten is "
          "off by 5 m\n00 s or more. Mean wait 10 m 20 s, recorded 12 m 40 s. 5 jobs are too few to "
          "judge it by.\n"),
      shown.out);
  const CommandResult alone = run_vtrain(std::string(kOnFour) + "--policy fifo", work.path());
  CHECK_MESSAGE(
      alone.out.starts_with(
          "fifo starts half of the jobs within 1 m 40 s of their recorded starts; one in ten is off "
          "by 6 m 40 s\nor more. Too hopeful: mean wait 10 m 00 s, recorded 12 m 40 s. "),
      alone.out);
  for (const char* const line :
       {"left out  2 of 7 jobs: 1 cancelled while waiting, 1 rejected in the simulation",
        "fifo          5  1 m 40 s  6 m 40 s   −1 m 40 s       0.89  10 m 00 s  12 m 40 s   29.2 %  "
        "few-jobs"})
    CHECK_MESSAGE(shown.out.find(line) != std::string::npos, shown.out);
}

TEST_CASE("validate-schedule: a replay of the log itself has no error") {
  const TemporaryFolder work;
  work.write("jobs.csv", forty_jobs(1.5));
  const json document = run_json("validate-schedule jobs.csv --cluster 1x2 --policies recorded,fifo", work);
  const json& recorded = document["policies"][0];
  CHECK(recorded["compared"] == 40);
  CHECK(recorded["p90_error_s"] == 0);
  CHECK(recorded["rank_correlation"] == 1);
  CHECK(recorded["mean_utilization_difference"] == 0);
  CHECK(recorded["utilization"] == document["utilization"]["recorded"]);
  // It is no scheduler that could stand for the real one.
  CHECK(document["nearest"] == "fifo");
}

TEST_CASE("validate-schedule: verdicts follow from the mean waits and the order of waits") {
  const TemporaryFolder work;
  const auto verdict_on = [&](const std::string& jobs) {
    work.write("jobs.csv", jobs);
    const json document = run_json("validate-schedule jobs.csv --cluster 1x2 --policy fifo", work);
    return document["policies"][0]["verdict"].get<std::string>();
  };
  CHECK(verdict_on(forty_jobs(1)) == "close");
  const CommandResult exact =
      run_vtrain("validate-schedule jobs.csv --cluster 1x2 --policy fifo", work.path());
  CHECK_MESSAGE(
      exact.out.starts_with("fifo starts nine in ten jobs at their recorded starts. Mean wait 12 m 40 s, "
                            "recorded 12 m 40 s."),
      exact.out);
  CHECK(verdict_on(forty_jobs(1.2)) == "close");
  CHECK(verdict_on(forty_jobs(0.7)) == "rough");
  CHECK(verdict_on(forty_jobs(1.9)) == "rough");
  CHECK(verdict_on(forty_jobs(2.1)) == "far");
  CHECK(verdict_on(forty_jobs(0)) == "far");
  // The mean is right, the order is not: each job waits as long as its mirror image.
  std::string mirrored = "job_id,submit_s,num_gpus,duration_s,original_start_s\n";
  std::string idle = mirrored;
  for (int i = 0; i < 40; ++i) {
    mirrored += fmt::format("{},{},1,100,{}\n", i, 10 * i, 10 * i + 80 * ((39 - i) / 2));
    idle += fmt::format("{},{},1,100,{}\n", i, 100 * i, 100 * i + 0.5);
  }
  CHECK(verdict_on(mirrored) == "far");
  // Half a second of a hundred: next to nobody waits, in the log or under FIFO.
  CHECK(verdict_on(idle) == "no-waits");
}

TEST_CASE("validate-schedule: files, the same on any number of threads, and a run that repeats") {
  const TemporaryFolder work;
  work.write("jobs.csv", kSevenJobs);
  const std::string command = std::string(kOnFour) + "--policies fifo,fit-first,easy ";
  REQUIRE(run_vtrain(command + "--threads 1 --out one", work.path()).exit_code == 0);
  REQUIRE(run_vtrain(command + "--threads 3 --out three", work.path()).exit_code == 0);
  REQUIRE(run_vtrain("validate-schedule --spec one/run.json --out again", work.path()).exit_code == 0);
  for (const char* const file : {"validation.csv", "waits.csv", "utilization.csv"}) {
    CAPTURE(file);
    const std::string table = slurp(work / "one" / file);
    CHECK(table.size() > 100);
    CHECK(slurp(work / "three" / file) == table);
    CHECK(slurp(work / "again" / file) == table);
  }
  const std::string waits = slurp(work / "one/waits.csv");
  CHECK_MESSAGE(waits.starts_with("policy,job_id,queue,tenant,num_gpus,submit_s,recorded_wait_s,wait_s,"
                                  "difference_s,left_out\n"
                                  "fifo,a,day,x,4,0,0,0,0,\n"
                                  "fifo,b,day,y,2,100,1000,900,-100,\n"
                                  "fifo,c,night,x,2,200,1100,800,-300,\n"
                                  "fifo,d,night,y,4,300,1700,1300,-400,\n"
                                  "fifo,e,night,x,1,400,,1500,,cancelled_while_waiting\n"
                                  "fifo,f,day,x,8,500,1300,,,rejected\n"
                                  "fifo,g,day,x,1,2400,0,0,0,\n"
                                  "fit-first,a,"),
                waits);
  CHECK(slurp(work / "one/utilization.csv")
            .starts_with("policy,begin_s,recorded,simulated\nfifo,0,1,1\nfifo,100,1,1\n"));
  const std::string figures = slurp(work / "one/validation.csv");
  CHECK_MESSAGE(figures.find("\nfifo,all,,7,5,1,0,0,1,0,100,400,160,-100,0.894") != std::string::npos,
                figures);
  const std::string page = slurp(work / "one/report.html");
  CHECK(page.find("<polyline") != std::string::npos);
  CHECK(page.find("fit-first starts half of the jobs within") != std::string::npos);
}

TEST_CASE("validate-schedule: questions that cannot be answered are refused by name") {
  const TemporaryFolder work;
  work.write("jobs.csv", kSevenJobs);
  work.write("without.csv", "job_id,submit_s,num_gpus,duration_s\na,0,1,10\n");
  const auto refused = [&](const std::string& arguments, const std::string& message) {
    CAPTURE(arguments);
    const CommandResult result = run_vtrain("validate-schedule " + arguments, work.path());
    CHECK(result.exit_code == 2);
    CHECK_MESSAGE(unwrapped(result.err).find(message) != std::string::npos, result.err);
  };
  refused("without.csv --cluster 1x4 --policy fifo",
          "without.csv: expected a trace that says when its jobs started, found no recorded start");
  refused("", "trace");
  refused("jobs.csv", "--cluster: missing");
  refused("jobs.csv --cluster 1x4 --policy fofi", "did you mean 'fifo'?");
  refused("jobs.csv --cluster 1x4 --by model", "--by");
  work.write("spec.json", R"({"spec": {"spec_version": 1, "trace": {"files": ["jobs.csv"]}, "cluster": "1x4",
                              "policies": ["fifo"], "transformations": {"load": 1.0}}})");
  refused("--spec spec.json", "load");
}
