/// Figures of small replays that are computed by hand: tardiness, lost GPU-hours, goodput, cost.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tests/support/command_runner.hpp"
#include "tests/support/computed.hpp"

using nlohmann::json;
using vtrain::testing::about;
using vtrain::testing::CommandResult;
using vtrain::testing::kHour;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;

namespace {

/// On four GPUs under `srtf`, where a preemption costs 10 s:
///
///     a  0 to 20, then preempted for b and c; from 50 on 10 s of restarting and 80 s of work, to 140
///     b, c  20 to 50      d  200 to 250      e  too large      f  300 to 320, its time limit
///
/// GPU-seconds held: a 80 + 360 = 440, b 60, c 60, d 200, f 20, together 780; lost: 10 s x 4 = 40 of a.
/// Late: a by 35 s, c by 5 s. Neither e nor f has a tardiness.
constexpr std::string_view kSixJobs =
    "job_id,submit_s,num_gpus,duration_s,requested_s,deadline_s,tenant\n"
    "a,0,4,100,,105,x\nb,20,2,30,,60,y\nc,20,2,30,,45,y\nd,200,4,50,,260,x\ne,210,8,10,,400,y\n"
    "f,300,1,40,20,400,x\n";
const std::string kSrtf = "replay --trace jobs.csv --cluster 1x4:h100 --policy srtf --interruption-cost 10s ";

const json& group(const json& groups, const std::string& key, const std::string& name) {
  for (const json& each : groups) {
    if (each[key] == name) return each;
  }
  FAIL("no group ", name);
  return groups;
}

}  // namespace

TEST_CASE("metrics: tardiness, lost GPU-hours, goodput and cost of six jobs") {
  const TemporaryFolder work;
  work.write("jobs.csv", kSixJobs);
  const json all = run_json(kSrtf + "--price h100=3.6/h", work);
  CHECK(all["deadline_met"] == 2);
  CHECK(all["deadline_jobs"] == 6);
  // 2 x 30 + 4 x 50 of 400 + 60 + 60 + 200 + 80 + 40 GPU-seconds.
  CHECK(all["deadline_satisfactory_ratio_by_gpu_hours"] == about(260.0 / 840));
  CHECK(all["avg_tardiness_s"] == about((35 + 5) / 4.0));
  CHECK(all["p95_tardiness_s"] == about(35));  // the fourth of four: ceil(0.95 x 4)
  CHECK(all["total_lost_gpu_hours"] == about(40 / kHour));
  CHECK(all["useful_gpu_hours"] == about(740 / kHour));
  CHECK(all["runtime_goodput"] == about(740.0 / 780));
  CHECK(all["disruptions"]["goodput"] == about(740.0 / (4 * 320)));
  CHECK(all["disruptions"]["goodput"] ==
        about(all["gpu_utilization"].get<double>() * all["runtime_goodput"].get<double>()));
  CHECK(all["cost"] == about(0.78));  // $3.6 an hour is 0.1 cents a second
  CHECK(all["unpriced_jobs"] == 0);
  CHECK(all["scenario"]["price"] == "h100=3.6/h");
  // srtf turns nobody away, and promises nothing.
  CHECK(all["promises_given"] == 0);
  CHECK(all["promises_broken"] == 0);

  const json& x = group(all["by_tenant"], "tenant", "x");
  CHECK(x["avg_tardiness_s"] == about(17.5));
  CHECK(x["total_lost_gpu_hours"] == about(40 / kHour));
  CHECK(x["runtime_goodput"] == about(620.0 / 660));
  CHECK(x["cost"] == about(0.66));
  const json& y = group(all["by_tenant"], "tenant", "y");
  CHECK(y["avg_tardiness_s"] == about(2.5));
  CHECK(y["p95_tardiness_s"] == about(5));
  CHECK(y["total_lost_gpu_hours"] == 0);
  CHECK(y["runtime_goodput"] == 1);
  CHECK(y["cost"] == about(0.12));
}

TEST_CASE("metrics: groups by size, and the columns of jobs.csv") {
  const TemporaryFolder work;
  work.write("jobs.csv", kSixJobs);
  const CommandResult result =
      run_vtrain(kSrtf + "--price 3.6/h --by size --spreadsheet-safe --out out", work.path());
  REQUIRE_MESSAGE(result.exit_code == 0, result.err);
  CHECK(result.out.find("$0.780\n") != std::string::npos);
  const json sizes = json::parse(slurp(work / "out/summary.json"))["by_size"];
  REQUIRE(sizes.size() == 4);
  CHECK(sizes[0]["avg_tardiness_s"].is_null());  // f failed
  CHECK(sizes[0]["cost"] == about(0.02));
  CHECK(sizes[1]["cost"] == about(0.12));
  CHECK(sizes[2]["p95_tardiness_s"] == about(35));
  CHECK(sizes[2]["runtime_goodput"] == about(600.0 / 640));
  CHECK(sizes[3]["runtime_goodput"].is_null());  // e held nothing
  CHECK(sizes[3]["cost"] == 0);
  const std::string jobs = slurp(work / "out/jobs.csv");
  CHECK(jobs.find(",gpu_seconds,tardiness_s,promise,cost\n") != std::string::npos);
  CHECK(jobs.find(",440,35,,0.44\n") != std::string::npos);  // a
  CHECK(jobs.find(",60,0,,0.06\n") != std::string::npos);    // b
  CHECK(jobs.find(",0,,,0\n") != std::string::npos);         // e
  CHECK(jobs.find(",20,,,0.02\n") != std::string::npos);     // f
}

TEST_CASE("metrics: losses of a failure add up") {
  // Checkpoints take 5 s after 30 s of work. Node 0 fails at 60: work from 35 on is lost. The job restarts on
  // node 1 in 10 s, has 70 s of work left with two checkpoints, and ends at 150.
  const TemporaryFolder work;
  work.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s,deadline_s\ng,0,4,100,110\n");
  work.write("outages.csv", "node,begin_s,end_s,kind\n0,60,1000,failure\n");
  const json run = run_json(
      "replay --trace jobs.csv --cluster 2x4:h100 --policy fifo --placement yarn --outages outages.csv "
      "--checkpoints 30s --checkpoint-cost 5s --interruption-cost 10s --price 1",
      work);
  const json& lost = run["disruptions"]["lost_gpu_hours"];
  CHECK(lost["lost_work"] == about(100 / kHour));
  CHECK(lost["checkpoint"] == about(60 / kHour));
  CHECK(lost["failure_restart"] == about(40 / kHour));
  CHECK(run["total_lost_gpu_hours"] == about(200 / kHour));
  CHECK(run["useful_gpu_hours"] == about(400 / kHour));
  CHECK(run["useful_gpu_hours"] == run["disruptions"]["useful_gpu_hours"]);
  CHECK(run["avg_tardiness_s"] == about(40));
  CHECK(run["cost"] == about(600 / kHour));
}

TEST_CASE("metrics: costs by GPU type, and what a missing price means") {
  // c gets the GPUs of the first type for an hour, and a those after it; b runs on the others for half an
  // hour.
  const TemporaryFolder work;
  work.write(
      "jobs.csv",
      "job_id,submit_s,num_gpus,gpu_type,duration_s\nc,0,4,,3600\na,10,4,a100,3600\nb,10,4,h100,1800\n");
  const std::string replay = "replay --trace jobs.csv --cluster 1x4:a100+1x4:h100 --policy fit-first ";
  for (const char* const placement : {"count", "yarn"}) {
    CAPTURE(placement);
    const std::string here = replay + "--by type --placement " + placement + " ";
    const json run = run_json(here + "--price a100=1/h,H100=2.5/h", work);
    CHECK(run["cost"] == about(4 + 4 + 5));
    CHECK(run["unpriced_jobs"] == 0);
    CHECK(group(run["by_type"], "type", "a100")["cost"] == about(4));
    CHECK(group(run["by_type"], "type", "h100")["cost"] == about(5));
    CHECK(run_json(here + "--price 1/h --price h100=2.5", work)["cost"] == about(13));

    const json partly = run_json(here + "--price h100=2.5/h", work);
    CHECK(partly["cost"].is_null());
    CHECK(partly["unpriced_jobs"] == 2);
    CHECK(group(partly["by_type"], "type", "h100")["cost"] == about(5));
    CHECK(group(partly["by_type"], "type", "a100")["cost"].is_null());
    CHECK(partly["assumptions"].dump().find(
              "no price of GPUs of a100: the cost of jobs on them is unknown") != std::string::npos);
    const std::string text = run_vtrain(here + "--price h100=2.5/h", work.path()).out;
    CHECK(text.find("fit-first: cost unknown, as 2 jobs held GPUs without a price (a100)\n") !=
          std::string::npos);
  }

  // Under count a gang may have GPUs of both types: 4 x $1 + 4 x $2.5. Where no job requests a type, its
  // types are not known.
  const std::string prices = replay + "--price a100=1/h,h100=2.5/h";
  work.write("jobs.csv", "job_id,submit_s,num_gpus,gpu_type,duration_s\nc,0,8,,3600\nb,5000,4,h100,3600\n");
  CHECK(run_json(prices, work)["cost"] == about(14 + 10));
  work.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s\nc,0,8,3600\n");
  const json unknown = run_json(prices, work);
  CHECK(unknown["cost"].is_null());
  CHECK(unknown["unpriced_jobs"] == 1);
  CHECK(run_vtrain(prices, work.path())
            .out.find("cost unknown, as 1 job held GPUs of a type that placement count does not tell\n") !=
        std::string::npos);
  CHECK(run_json(replay + "--price 2/h", work)["cost"] == about(16));
}

TEST_CASE("metrics: a spec keeps prices") {
  const TemporaryFolder work;
  work.write("jobs.csv", kSixJobs);
  REQUIRE(run_vtrain(kSrtf + "--price h100=3.6/h --out first", work.path()).exit_code == 0);
  REQUIRE(run_vtrain("replay --spec first/run.json --out second", work.path()).exit_code == 0);
  CHECK(slurp(work / "first/summary.json") == slurp(work / "second/summary.json"));
  CHECK(slurp(work / "first/jobs.csv") == slurp(work / "second/jobs.csv"));
  std::string spec = slurp(work / "first/run.json");
  spec.replace(spec.find("h100", spec.find("\"price\": [")), 4, "v100");
  work.write("first/wrong.json", spec);
  const CommandResult wrong = run_vtrain("replay --spec first/wrong.json", work.path());
  CHECK(wrong.exit_code == 2);
  CHECK(wrong.err.find("wrong.json:") != std::string::npos);
  CHECK(wrong.err.find("price: expected a GPU type of the cluster, which has 'h100'") != std::string::npos);
}

TEST_CASE("metrics: promises of policies with admission are kept or broken") {
  // Under edf-admission b is admitted at 20, as a would end at 110 after it. The preemption costs a a minute
  // of restarting, so that it ends at 170, 30 s late. c cannot be in time, and is rejected.
  const TemporaryFolder work;
  work.write("jobs.csv",
             "job_id,submit_s,num_gpus,duration_s,deadline_s\na,0,4,100,140\nb,20,4,10,50\nc,25,4,50,60\n");
  const std::string replay = "replay --trace jobs.csv --cluster 1x4 --interruption-cost 60s --policy ";
  const json run = run_json(replay + "edf-admission", work);
  CHECK(run["promises_given"] == 2);
  CHECK(run["promises_kept"] == 1);
  CHECK(run["promises_broken"] == 1);
  CHECK(run["avg_tardiness_s"] == about(15));
  CHECK(run_json(replay + "edf", work)["promises_given"] == 0);
  const CommandResult told = run_vtrain(replay + "edf-admission --out out", work.path());
  CHECK(told.out.find("edf-admission: promised to meet 2 deadlines, kept 1, broke 1\n") != std::string::npos);
  const std::string jobs = slurp(work / "out/jobs.csv");
  CHECK(jobs.find(",30,broken,\n") != std::string::npos);
  CHECK(jobs.find(",0,kept,\n") != std::string::npos);
  CHECK(slurp(work / "out/report.html").find("Promises given, kept, broken") != std::string::npos);
}
