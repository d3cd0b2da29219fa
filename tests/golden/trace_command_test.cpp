/// `vtrain trace` through the real command line.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/command_runner.hpp"

namespace fs = std::filesystem;
using nlohmann::json;
using vtrain::testing::CommandResult;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;

TEST_CASE("trace info: one JSON document with the numbers of the trace") {
  const TemporaryFolder folder;
  folder.write(
      "jobs.csv",
      "job_id,tenant,submit_s,num_gpus,duration_s\na,x,0,8,3600\nb,y,1800,2,7200\nc,x,7200,8,3600\n");
  const CommandResult result = run_vtrain("trace info jobs.csv --cluster 2x10 --json", folder.path());
  REQUIRE(result.exit_code == 0);
  CHECK(result.err.empty());
  const json info = json::parse(result.out);
  CHECK(info["format"] == "vtrain");
  CHECK(info["jobs"] == 3);
  CHECK(info["span_s"] == 7200.0);
  CHECK(info["gpu_hours"].get<double>() == doctest::Approx(20));      // 8 + 4 + 8
  CHECK(info["offered_load"].get<double>() == doctest::Approx(0.5));  // 20 GPU-hours in 2 hours of 20 GPUs
  CHECK(info["duration_s"]["p50"] == 3600.0);
  CHECK(info["num_gpus"].size() == 2);
  CHECK(info["tenants"][0]["name"] == "x");
}

TEST_CASE("trace generate: the same options give the same file, which replays at the load asked for") {
  const TemporaryFolder folder;
  const std::string command = "trace generate --jobs 200 --cluster 4x8:a100 --load 0.7 --seed 3 --out ";
  REQUIRE(run_vtrain(command + "a.csv", folder.path()).exit_code == 0);
  REQUIRE(run_vtrain(command + "b.csv", folder.path()).exit_code == 0);
  CHECK(slurp(folder.path() / "a.csv") == slurp(folder.path() / "b.csv"));
  const json info = json::parse(run_vtrain("trace info a.csv --cluster 4x8 --json", folder.path()).out);
  CHECK(info["jobs"] == 200);
  CHECK(info["jobs_with_deadline"] == 200);
  CHECK(info["offered_load"].get<double>() == doctest::Approx(0.7).epsilon(1e-5));
}

TEST_CASE("trace: bad input exits 2, says where, and leaves no file behind") {
  const TemporaryFolder folder;
  folder.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s\na,0,1.5,60\n");
  const CommandResult info = run_vtrain("trace info jobs.csv", folder.path());
  CHECK(info.exit_code == 2);
  CHECK(info.out.empty());
  CHECK(info.err == "error: jobs.csv:2: num_gpus: expected a whole number of at least 1, found '1.5'\n");
  for (const std::string arguments :
       {"--load 0", "--shape helios", "--cluster 0x8", "--deadlines 2:1", "--jobs 0", "--jobs 5 --days 2",
        "--profile nowhere.json", "--tenants 0"}) {
    CAPTURE(arguments);
    const CommandResult generate = run_vtrain("trace generate --out new.csv " + arguments, folder.path());
    CHECK(generate.exit_code == 2);
    CHECK(generate.out.empty());
    CHECK_FALSE(generate.err.empty());
    CHECK_FALSE(fs::exists(folder.path() / "new.csv"));
  }
  CHECK(run_vtrain("trace generate --out absent/new.csv", folder.path()).exit_code == 2);
}
