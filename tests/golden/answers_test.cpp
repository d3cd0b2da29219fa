/// What a person reads first: costs, headline, stars and hints of `vtrain compare` and `vtrain replay`.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/command_runner.hpp"

using nlohmann::json;
using vtrain::testing::CommandResult;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;
using vtrain::testing::unwrapped;

namespace {

/// A long job that a short one stops under `srtf`: for 2 s at t = 100 s. gpt3-1.3b has some 1.3e9 parameters.
std::string two_jobs(const std::string& model) {
  return "job_id,submit_s,num_gpus,duration_s,model,global_batch,iterations\n"
         "long,0,8,1000," +
         model + "\nshort,100,8,2,,,\n";
}

constexpr const char* kSrtf = "replay --trace jobs.csv --cluster 1x8:a100 --policy srtf";

}  // namespace

TEST_CASE("answers: a job of a known model pays for a checkpoint by default, others nothing") {
  const TemporaryFolder work;
  const auto makespan = [&](const std::string& model, const std::string& more) {
    work.write("jobs.csv", two_jobs(model));
    return run_json(kSrtf + more, work)["makespan_s"].get<double>();
  };
  const double free = 1002;
  const double paid = makespan("gpt3-1.3b,64,1000", " --interruption-cost 10s");
  CHECK(paid == free + 10);
  // 14 bytes of 1.3e9 parameters are saved and loaded at 1 GB/s.
  const double by_default = makespan("gpt3-1.3b,64,1000", " --checkpoint-bandwidth 1GB/s");
  CHECK(by_default > free + 2 * 14 * 1.2);
  CHECK(by_default < free + 2 * 14 * 1.5);
  CHECK(makespan("gpt3-1.3b,64,1000", "") == doctest::Approx(free + (by_default - free) / 10));
  CHECK(makespan("gpt3-1.3b,64,1000", " --interruption-cost none") == free);
  CHECK(makespan("no-such-model,64,1000", "") == free);
  CHECK(makespan(",,", "") == free);
  // Only the default lets jobs go free whose model is not known.
  work.write("jobs.csv", two_jobs("no-such-model,64,1000"));
  CHECK(run_vtrain(std::string(kSrtf) + " --interruption-cost checkpoint", work.path()).exit_code == 2);
}

TEST_CASE(
    "answers: what preemption and resizing cost is on the first screen, in run.json and in the report") {
  const TemporaryFolder work;
  const auto told = [&](const std::string& model, const std::string& more, const std::string& sentence) {
    work.write("jobs.csv", two_jobs(model));
    const CommandResult shown = run_vtrain(std::string(kSrtf) + " --out out" + more, work.path());
    REQUIRE_MESSAGE(shown.exit_code == 0, shown.err);
    CAPTURE(shown.out);
    CHECK(unwrapped(shown.out).find(sentence) != std::string::npos);
    const json run = json::parse(slurp(work / "out/run.json"));
    CHECK(run["assumptions"].dump().find(sentence) != std::string::npos);
    const std::string report = slurp(work / "out/report.html");
    const std::string first_screen = report.substr(0, report.find("<table"));
    CHECK(first_screen.find(sentence) != std::string::npos);
    return shown;
  };
  told(
      "gpt3-1.3b,64,1000", "",
      "preemption and resizing cost a job saving and loading a checkpoint, 14 bytes a parameter at 10GB/s: ");
  told("gpt3-1.3b,64,1000", "", "; nothing for 1 job without a known model");
  told(",,", "",
       "preemption and resizing are free: no job has a known model (--interruption-cost sets a cost)");
  told("gpt3-1.3b,64,1000", " --interruption-cost none",
       "preemption and resizing are free (--interruption-cost none)");
  told("gpt3-1.3b,64,1000", " --interruption-cost 30s", "preemption and resizing cost a job 30 s");
  // Nothing is said where nothing is preempted or resized, and an option without effect is named.
  const CommandResult fifo = run_vtrain("replay --trace jobs.csv --cluster 1x8 --policy fifo", work.path());
  CHECK(fifo.out.find("resizing") == std::string::npos);
  CHECK(told(",,", " --checkpoint-bandwidth 1GB/s", "preemption and resizing are free")
            .err.find("--checkpoint-bandwidth: without effect") != std::string::npos);
}

TEST_CASE("answers: a policy with costs of its own runs beside those that pay by default, which is said") {
  const TemporaryFolder work;
  const std::string policies =
      "compare --policies srtf,elasticflow:overhead=table,elasticflow-las --timeline never";
  const CommandResult shown = run_vtrain(policies, work.path());
  REQUIRE_MESSAGE(shown.exit_code == 0, shown.err);
  CHECK(unwrapped(shown.out).find("under elasticflow:overhead=table, elasticflow-las they cost what the "
                                  "simulator that is reproduced says") != std::string::npos);
  CHECK(run_vtrain(policies + " --interruption-cost checkpoint", work.path()).exit_code == 2);
}

TEST_CASE("answers: resizes stand in the table, in JSON by tenant and in the headline") {
  const TemporaryFolder work;
  const CommandResult shown = run_vtrain("compare --policies fifo,elasticflow --out out", work.path());
  REQUIRE_MESSAGE(shown.exit_code == 0, shown.err);
  const json summary = json::parse(slurp(work / "out/elasticflow/summary.json"));
  CHECK(summary["resizes"].get<int>() > 1000);
  CHECK(summary["by_tenant"][0]["resizes"].get<int>() > 100);
  CHECK(json::parse(slurp(work / "out/fifo/summary.json"))["resizes"] == 0);
  CHECK(shown.out.find("  resizes\n") != std::string::npos);
  const std::string report = slurp(work / "out/report.html");
  CHECK(report.substr(0, report.find("<table")).find(" resizes and ") != std::string::npos);
  CHECK(report.find(">Resizes</th>") != std::string::npos);
  // Rigid policies leave the column out.
  CHECK(run_vtrain("compare --policies fifo,srtf", work.path()).out.find("resizes\n") == std::string::npos);
}
