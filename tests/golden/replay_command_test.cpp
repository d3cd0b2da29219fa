/// `vtrain replay` and `vtrain compare` through the real command line.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "tests/support/command_runner.hpp"

namespace fs = std::filesystem;
using nlohmann::json;
using vtrain::testing::CommandResult;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;

namespace {

constexpr std::string_view kJobs = "job_id,submit_s,num_gpus,duration_s\na,0,1,10\nb,5,2,20\n";

}  // namespace

TEST_CASE("replay: the command of run.json can be pasted into a shell") {
  const TemporaryFolder work;
  work.write("it's.csv", kJobs);
  REQUIRE(run_vtrain("replay --trace \"it's.csv\" --cluster 1x8 --out out", work.path()).exit_code == 0);
  CHECK(json::parse(slurp(work / "out/run.json"))["command"] ==
        "vtrain replay --trace 'it'\\''s.csv' --cluster 1x8 --out out");
}

TEST_CASE("output: what cannot be written is said") {
  const TemporaryFolder work;
  const CommandResult result = run_vtrain("policies >&- 2> message; echo $?", work.path());
  CHECK(result.out == "1\n");
  CHECK(slurp(work / "message") == "error: cannot write to standard output: Bad file descriptor\n");
}

TEST_CASE("output: file names that are no UTF-8 stand in JSON with replacement characters") {
  const TemporaryFolder work;
  work.write("jobs\xff.csv", kJobs);
  CHECK(run_json("trace info 'jobs\xff.csv'", work)["trace"] == "jobs\xef\xbf\xbd.csv");
}
