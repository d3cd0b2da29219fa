/// `vtrain size`: the smallest cluster that meets a goal, with the intervals of the seeds.
#include <doctest/doctest.h>

#include <fmt/format.h>
#include <algorithm>
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

/// Ten jobs of one node and an hour, all submitted at once, with a deadline `hours` later.
std::string ten_nodes(int hours) {
  std::string text = "job_id,submit_s,num_gpus,duration_s,deadline_s\n";
  for (int job = 0; job < 10; ++job)
    text += fmt::format("{},0,8,3600,{}\n", job, hours * 3600);
  return text;
}

/// The size of these nodes under a policy.
const json& size_of(const json& document, std::size_t policy, std::int64_t nodes) {
  for (const json& size : document["policies"][policy]["curves"][0]["sizes"]) {
    if (size["nodes"] == nodes) return size;
  }
  FAIL("no size " << nodes);
  return document;
}

}  // namespace

TEST_CASE("size: jobs that need known numbers of nodes get them") {
  const TemporaryFolder work;
  // In two hours a node runs two of the jobs: five nodes run all ten, four nodes eight of them, two nodes
  // four.
  work.write("jobs.csv", ten_nodes(2));
  const std::string trace = "size --trace jobs.csv --cluster 1-20x8 --policies fifo ";
  const auto answer = [&](const std::string& goal) {
    return run_json(trace + "--goal " + goal, work)["policies"][0];
  };
  CHECK(answer("deadlines=100%")["nodes"] == 5);
  CHECK(answer("deadlines=80%")["nodes"] == 4);
  CHECK(answer("deadlines=0.81")["nodes"] == 5);
  CHECK(answer("deadlines-by-gpu-hours=40%")["nodes"] == 2);
  // The last of ten jobs on n nodes waits ceil(10 / n) - 1 hours; the median one is the fifth.
  CHECK(answer("p95-wait=1h")["nodes"] == 5);
  CHECK(answer("p95-wait=59m")["nodes"] == 10);
  CHECK(answer("p50-wait=0")["nodes"] == 5);
  CHECK(answer("p95-jct=3h")["nodes"] == 4);
  const json five = run_json(trace + "--goal deadlines=100% --price 2.5/h", work)["policies"][0];
  CHECK(five["cluster"] == "5x8");
  CHECK(five["num_gpus"] == 40);
  CHECK(five["dollars_per_hour"] == 100);
  CHECK(five["curves"][0]["monotone"] == true);
  const CommandResult shown = run_vtrain(trace + "--goal deadlines=100%", work.path());
  CHECK_MESSAGE(
      shown.out.starts_with("Nodes of 8 GPUs for 100 % of the deadlines: 5 under fifo (40 GPUs).\n"),
      shown.out);
}

TEST_CASE("size: a goal that no size meets is said") {
  const TemporaryFolder work;
  work.write("jobs.csv", ten_nodes(2));
  const std::string command =
      "size --trace jobs.csv --cluster 1-3x8 --policies fifo,srtf --goal deadlines=90% ";
  const json document = run_json(command, work);
  CHECK(document["policies"][0]["nodes"].is_null());
  CHECK(size_of(document, 0, 3)["mean"] == doctest::Approx(0.6));
  const CommandResult shown = run_vtrain(command, work.path());
  CHECK(shown.exit_code == 0);
  CHECK_MESSAGE(
      unwrapped(shown.out).starts_with("fifo and srtf do not give 90 % of the deadlines with up to 3 "
                                       "nodes of 8 GPUs."),
      shown.out);
}

TEST_CASE("size: jobs that never run wait forever") {
  const TemporaryFolder work;
  // On one node the job of 16 GPUs is rejected, and the other one never waits.
  work.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s\na,0,8,3600\nb,7200,16,3600\n");
  const json document =
      run_json("size --trace jobs.csv --cluster 1-4x8 --policies fifo --goal p95-wait=1h", work);
  CHECK(document["policies"][0]["nodes"] == 2);
  CHECK(size_of(document, 0, 1)["mean"].is_null());
}

TEST_CASE("size: a curve that is not monotone is said") {
  const TemporaryFolder work;
  // Nodes of one GPU under FIFO. On two nodes d is too large and rejected; a and b start at once and c
  // follows: three of four are in time. On three nodes d holds all GPUs for ten hours, and only d is in time.
  // On four nodes a runs beside d; b follows a, a second too late.
  work.write("jobs.csv",
             "job_id,submit_s,num_gpus,duration_s,deadline_s\n"
             "d,0,3,36000,36000\na,1,1,3600,7200\nb,2,1,3600,7200\nc,3,1,3600,10800\n");
  const std::string command = "size --trace jobs.csv --cluster 1-4x1 --policies fifo --goal deadlines=75% ";
  const json document = run_json(command, work);
  CHECK(size_of(document, 0, 2)["mean"] == doctest::Approx(0.75));
  CHECK(size_of(document, 0, 3)["mean"] == doctest::Approx(0.25));
  CHECK(size_of(document, 0, 4)["mean"] == doctest::Approx(0.5));
  CHECK(document["policies"][0]["nodes"] == 2);
  const json& curve = document["policies"][0]["curves"][0];
  CHECK(curve["monotone"] == false);
  CHECK(curve["worse"] == json({{{"smaller", 2}, {"larger", 3}, {"misses_goal", true}}}));
  const CommandResult shown = run_vtrain(command, work.path());
  CHECK_MESSAGE(shown.out.find("Under fifo 2 nodes meet the goal,\nbut 3 do not.") != std::string::npos,
                shown.out);
}

TEST_CASE("size: values are those of a comparison on that cluster, and the jobs do not change with it") {
  const TemporaryFolder work;
  const std::string jobs = "--reference 2x8:a100 --policies easy,deadline --seeds 1-3 ";
  const json document = run_json("size --goal deadlines=70% --cluster 1-4x8:h100 " + jobs, work);
  for (std::size_t policy = 0; policy < 2; ++policy) {
    const json& answer = document["policies"][policy];
    REQUIRE(answer["nodes"].is_number());
    const json& size = size_of(document, policy, answer["nodes"]);
    const json compared =
        run_json("compare --cluster " + answer["cluster"].get<std::string>() + " " + jobs, work);
    const json& mean = compared["seeds"]["policies"][policy]["metrics"]["deadline_satisfactory_ratio"];
    CHECK(size["values"] == mean["values"]);
    CHECK(size["low"] == mean["low"]);
    CHECK(size["low"].get<double>() >= 0.7);
    if (answer["nodes"] > 1) {
      const json& smaller = size_of(document, policy, answer["nodes"].get<std::int64_t>() - 1);
      CHECK(smaller["low"].get<double>() < 0.7);
    }
  }
  const auto jobs_on = [&](const std::string& cluster) {
    REQUIRE(
        run_vtrain("replay --policy fifo --reference 4x8:a100 --out run --cluster " + cluster, work.path())
            .exit_code == 0);
    const std::string table = slurp(work / "run/jobs.csv");
    return std::count(table.begin(), table.end(), '\n');
  };
  CHECK(jobs_on("2x8:h100") == jobs_on("9x8:h100"));
  // A reference that is the cluster changes nothing.
  CHECK(run_json("compare --cluster 4x8:a100 --reference 4x8:a100 --seed 2", work)["runs"] ==
        run_json("compare --cluster 4x8:a100 --seed 2", work)["runs"]);
}

TEST_CASE("size: results do not depend on threads, and a run's file repeats them") {
  const TemporaryFolder work;
  const std::string command =
      "size --goal deadlines=60% --cluster 2-9x8:a100 --reference 4x8:a100 --policies srtf,deadline --seeds "
      "1-3 "
      "--price a100=2/h ";
  REQUIRE(run_vtrain(command + "--threads 1 --out one", work.path()).exit_code == 0);
  REQUIRE(run_vtrain(command + "--threads 3 --out three", work.path()).exit_code == 0);
  REQUIRE(run_vtrain("size --spec one/run.json --out again", work.path()).exit_code == 0);
  for (const char* const file : {"size.csv", "variations.csv"}) {
    CAPTURE(file);
    const std::string table = slurp(work / "one" / file);
    CHECK(table.size() > 100);
    CHECK(slurp(work / "three" / file) == table);
    CHECK(slurp(work / "again" / file) == table);
  }
  CHECK(slurp(work / "one/size.csv").starts_with("policy,cluster,nodes,num_gpus,dollars_per_hour,"));
  CHECK(slurp(work / "one/report.html").find("<polyline") != std::string::npos);
}

TEST_CASE("size: mixes of types are searched, and the cheapest is named") {
  const TemporaryFolder work;
  work.write("jobs.csv", ten_nodes(2));
  // Five nodes of any type suffice; those of b cost a half.
  const json document = run_json(
      "size --trace jobs.csv --cluster 1-9x8:h100+0,2,4x8:a100 --policies fifo --goal deadlines=100% "
      "--price h100=2/h,a100=1/h",
      work);
  const json& fifo = document["policies"][0];
  REQUIRE(fifo["curves"].size() == 3);
  CHECK(fifo["curves"][0]["nodes"] == 5);
  CHECK(fifo["curves"][1]["nodes"] == 3);
  CHECK(fifo["curves"][2]["nodes"] == 1);
  CHECK(fifo["cluster"] == "1x8:h100+4x8:a100");
  CHECK(fifo["dollars_per_hour"] == 8 * 2 + 32);
}

TEST_CASE("size: questions that cannot be answered are refused by name") {
  const TemporaryFolder work;
  work.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s\na,0,1,10\n");
  const auto refused = [&](const std::string& arguments, const std::string& message) {
    CAPTURE(arguments);
    const CommandResult result = run_vtrain("size " + arguments, work.path());
    CHECK(result.exit_code == 2);
    CHECK_MESSAGE(unwrapped(result.err).find(message) != std::string::npos, result.err);
  };
  refused("", "--goal: missing");
  refused("--goal deadline=95%", "did you mean 'deadlines'?");
  refused("--goal deadlines=195%", "--goal: expected a share such as 95% or 0.95, found '195%'");
  refused("--goal p95-wait=1", "--goal: expected a time such as 30m or 1h, found '1'");
  refused("--goal deadlines=95% --cluster 16-4x8:h100",
          "--cluster: expected a range of clusters such as 4-64x8:h100");
  refused("--goal deadlines=95% --cluster 4-8x8:h100+axb", "--cluster: expected a range of clusters");
  refused("--goal deadlines=95% --trace jobs.csv", "--cluster: missing");
  refused("--goal deadlines=95% --trace jobs.csv --cluster 1-2x8", "no job has a deadline");
  refused("--goal p95-wait=1h --trace jobs.csv --cluster 1-2x8 --load 1", "--load: needs --reference");
}
