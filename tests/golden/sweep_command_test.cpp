/// `vtrain sweep`: the same rows on threads, ranks, in parts and after a kill.
#include <doctest/doctest.h>

#include <fmt/format.h>
#include <unistd.h>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/command_runner.hpp"
#include "tools/sweep/result_store.hpp"

namespace fs = std::filesystem;
using nlohmann::json;
using vtrain::open_results;
using vtrain::testing::CommandResult;
using vtrain::testing::run_command;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;

namespace {

/// Rows of the tables that a sweep determines, as text.
std::string rows_of(const fs::path& file) {
  const auto results = open_results(file);
  if (!results) FAIL(results.error().describe());
  std::string rows;
  for (const std::string table :
       {"runs ORDER BY run", "errors ORDER BY run", "inputs ORDER BY name", "options ORDER BY position"}) {
    auto query = results->prepare("SELECT * FROM " + table);
    REQUIRE(query.has_value());
    for (;;) {
      const auto stepped = query->step();
      REQUIRE(stepped.has_value());
      if (!*stepped) break;
      for (int column = 0; column < query->num_columns(); ++column)
        rows += query->is_null(column) ? "-|" : query->text(column) + "|";
      rows += "\n";
    }
  }
  return rows;
}

std::int64_t number_in(const fs::path& file, const std::string& sql) {
  const auto results = open_results(file);
  if (!results) FAIL(results.error().describe());
  return results->number(sql).value();
}

/// 36 runs: a combination of options, three seeds and three policies of different cost.
const std::string kGrid = R"({
  "spec_version": 1,
  "cluster": "4x8:a100",
  "policies": ["fifo", "deadline", "srtf"],
  "seeds": "1-3",
  "vary": {"load": [0.8, 1.1], "placement": ["count", "consolidate"]}
})";

/// Enough runs that a sweep takes a second or more.
std::string long_grid() {
  return R"({"spec_version": 1, "policies": ["fifo", "easy", "srtf", "edf"], "seeds": "1-120"})";
}

/// A command that starts ranks; empty, with a message, where there is no MPI.
std::string mpirun(int ranks) {
  const bool has_library = fs::exists(fs::path(VTRAIN_PROGRAM).parent_path() / "libvtrain_mpi.so");
  if (has_library && std::system("mpirun --version >/dev/null 2>&1") == 0)
    return fmt::format("mpirun {}--oversubscribe -n {} '{}' ", ::getuid() == 0 ? "--allow-run-as-root " : "",
                       ranks, VTRAIN_PROGRAM);
  MESSAGE("skipped: no MPI");
  return {};
}

}  // namespace

TEST_CASE("sweep: figures are those of a comparison") {
  const TemporaryFolder work;
  work.write("grid.json", kGrid);
  const json done = run_json("sweep grid.json", work);
  CHECK(done["runs"] == 36);
  CHECK(done["done"] == 36);
  CHECK(done["failed"] == 0);
  CHECK(done["results"] == "grid.sqlite");
  const json compared = run_json("compare --spec grid.json", work);
  REQUIRE(compared["combinations"].size() == 4);
  const auto results = open_results(work / "grid.sqlite");
  for (const json& combination : compared["combinations"]) {
    for (const json& policy : combination["seeds"]["policies"]) {
      const std::string where = fmt::format("load = {} AND placement = '{}' AND policy = '{}'",
                                            combination["values"]["load"].get<std::string>(),
                                            combination["values"]["placement"].get<std::string>(),
                                            policy["policy"].get<std::string>());
      CAPTURE(where);
      for (const std::string metric : {"avg_jct_s", "deadline_met", "makespan_s"}) {
        const json& values = policy["metrics"][metric]["values"];
        REQUIRE(values.size() == 3);
        for (std::size_t seed = 0; seed < 3; ++seed) {
          auto query = results->prepare(
              fmt::format("SELECT {} FROM runs WHERE {} AND seed = {}", metric, where, seed + 1));
          REQUIRE(query.has_value());
          REQUIRE(query->step().value());
          CHECK(query->real(0) == values[seed].get<double>());
        }
      }
    }
  }
}

TEST_CASE("sweep: rows are the same on threads, in parts and on ranks") {
  const TemporaryFolder work;
  work.write("grid.json", kGrid);
  const auto sweep = [&](const std::string& arguments) {
    const CommandResult result = run_vtrain("sweep grid.json " + arguments, work.path());
    CHECK_MESSAGE(result.exit_code == 0, result.err);
  };
  sweep("--threads 1 --out one");
  const std::string rows = rows_of(work / "one");
  CHECK(number_in(work / "one", "SELECT count(*) FROM runs") == 36);
  sweep("--threads 2 --out two");
  CHECK(rows_of(work / "two") == rows);
  for (int part = 1; part <= 3; ++part)
    sweep(fmt::format("--shard {}/3", part));
  CHECK(number_in(work / "grid-1-of-3.sqlite", "SELECT count(*) FROM runs") == 12);
  const json merged =
      run_json("sweep merge all grid-1-of-3.sqlite grid-3-of-3.sqlite grid-2-of-3.sqlite", work);
  CHECK(merged["done"] == 36);
  CHECK(rows_of(work / "all") == rows);
  // Two parts, and the rest by a sweep that goes on.
  CHECK(run_json("sweep merge --force all grid-1-of-3.sqlite grid-2-of-3.sqlite", work)["done"] == 24);
  CHECK(run_json("sweep grid.json --out all", work)["done"] == 12);
  CHECK(rows_of(work / "all") == rows);
  const std::string ranks = mpirun(3);
  if (ranks.empty()) return;
  const CommandResult result = run_command(ranks + "sweep grid.json --out three", work.path());
  CHECK_MESSAGE(result.exit_code == 0, result.err);
  CHECK(result.out.find("36 runs of 36: 0 before, 36 now") == 0);
  CHECK(rows_of(work / "three") == rows);
}

TEST_CASE("sweep: one that is killed goes on and repeats nothing") {
  const TemporaryFolder work;
  const TemporaryFolder cache;
  work.write("grid.json", long_grid());
  REQUIRE(run_vtrain("sweep grid.json --out whole", work.path(), cache.path()).exit_code == 0);
  const std::string rows = rows_of(work / "whole");
  const std::string start = "XDG_CACHE_HOME='" + cache.path().string() + "' ";
  const std::string ranks = mpirun(3);
  for (const std::string& command : {std::string("'" VTRAIN_PROGRAM "' "), ranks}) {
    if (command.empty()) continue;
    CAPTURE(command);
    fs::remove(work / "killed");
    // The process of the whole sweep, or a rank that works.
    const std::string victim = command == ranks ? "$(pgrep -P $pid | tail -1)" : "$pid";
    work.write(
        "kill.sh",
        start + command + "sweep grid.json --out killed &\npid=$!\n" +
            "until [ $(stat -c %s killed-wal 2>/dev/null || echo 0) -ge 60000 ]; do sleep 0.01; done\n" +
            "kill -9 " + victim + "\nwait\n");
    run_command("timeout 60 sh kill.sh", work.path());
    const std::int64_t before = number_in(work / "killed", "SELECT count(*) FROM runs");
    CHECK(before > 0);
    CHECK(before < 480);
    const json done = run_json("sweep grid.json --out killed", work);
    CHECK(done["before"] == before);
    CHECK(done["done"] == 480 - before);
    CHECK(rows_of(work / "killed") == rows);
  }
}

TEST_CASE("sweep: a list of runs, and an estimate of their time") {
  const TemporaryFolder work;
  work.write("grid.json", kGrid);
  const json listed = run_json("sweep grid.json --dry-run --shard 1/2", work);
  CHECK(listed["runs"] == 18);
  CHECK(listed["list"].size() == 18);
  CHECK(listed["list"][0] ==
        json::parse(R"({"run": 1, "seed": 1, "policy": "fifo", "load": "0.8", "placement": "count"})"));
  CHECK(listed["estimated_wall_s"].get<double>() > 0);
  CHECK_FALSE(fs::exists(work / "grid-1-of-2.sqlite"));
  run_json("sweep grid.json --shard 1/2", work);
  CHECK(run_json("sweep grid.json --dry-run --shard 1/2", work)["left"] == 0);
}

TEST_CASE("sweep: two on one file, other files, other specs and a full disk are refused by name") {
  const TemporaryFolder work;
  work.write("grid.json", kGrid);
  work.write("other.json", R"({"spec_version": 1, "policies": ["fifo"], "seeds": "1-3"})");
  const auto refused = [&](const std::string& arguments, const std::string& message) {
    CAPTURE(arguments);
    const CommandResult result = run_vtrain("sweep " + arguments, work.path());
    CHECK(result.exit_code == 2);
    CHECK(result.out.empty());
    CHECK_MESSAGE(result.err.find(message) != std::string::npos, result.err);
  };
  refused("", "SPEC: missing");
  refused("absent.json", "absent.json");
  refused("grid.json --shard 3/2", "--shard: expected a part such as 1/8 to 8/8, found '3/2'");
  run_json("sweep grid.json --out r", work);
  const std::string rows = rows_of(work / "r");
  refused("other.json --out r",
          "r: spec: has the results of another sweep: cluster: this spec has \"\", the file \"4x8:a100\"");
  refused("grid.json --shard 1/2 --out r", "part 1/1, not 1/2");
  work.write("notes.txt", "Notes of mine, which are longer than a page of nothing at all.");
  refused("grid.json --out notes.txt", "notes.txt: expected an SQLite database, found another file");
  CHECK(slurp(work / "notes.txt").starts_with("Notes of mine"));
  refused("merge r r", "r");
  refused("merge new r absent", "absent: no such file");
  refused("merge grid.json r", "grid.json: exists");
  CHECK(slurp(work / "grid.json") == kGrid);
  work.write("typing.json",
             "{\"spec_version\": 1, \"policies\": [\"fifo\"],\n\"vary\": {\"plcement\": [\"count\"]}}");
  refused("typing.json", "typing.json:2: vary.plcement: 'plcement' cannot vary; did you mean 'placement'?");
  work.write(
      "wrong.json",
      "{\"spec_version\": 1, \"policies\": [\"fifo\"],\n\"vary\": {\"placement\": [\"count\", \"cnt\"]}}");
  refused("wrong.json", "cnt");
  CHECK(rows_of(work / "r") == rows);

  // A lock beside the file shows that a sweep writes.
  const CommandResult locked = run_command(
      "flock --exclusive r-lock sh -c \"'" VTRAIN_PROGRAM "' sweep grid.json --out r\"", work.path());
  CHECK(locked.exit_code == 2);
  CHECK(locked.err.find("r: another sweep is writing to this file") != std::string::npos);
}

TEST_CASE("sweep: on a full disk nothing is lost that was finished") {
  const TemporaryFolder work;
  work.write("grid.json", long_grid());
  // A file that may grow no further is as a full disk.
  const CommandResult full =
      run_command("bash -c \"ulimit -f 100; '" VTRAIN_PROGRAM "' sweep grid.json --out r\"", work.path());
  CHECK(full.exit_code == 1);
  CHECK_MESSAGE(full.err.find("r: cannot write: ") != std::string::npos, full.err);
  const std::int64_t before = number_in(work / "r", "SELECT count(*) FROM runs");
  CHECK(before < 480);
  CHECK(run_json("sweep grid.json --out r", work)["before"] == before);
  CHECK(number_in(work / "r", "SELECT count(*) FROM runs") == 480);
}

TEST_CASE("sweep: an input that changes while a sweep goes on is an error") {
  const TemporaryFolder work;
  work.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s\na,0,1,10\nb,60,1,10\n");
  work.write("grid.json", R"({"spec_version": 1, "trace": {"files": ["jobs.csv"]}, "cluster": "1x8",
      "policies": ["fifo"], "vary": {"load": [0.5, 1]}})");
  run_json("sweep grid.json --shard 1/2 --out r", work);
  work.write("jobs.csv", "job_id,submit_s,num_gpus,duration_s\na,0,1,20\nb,60,1,10\n");
  run_json("sweep grid.json --shard 2/2 --out s", work);
  const CommandResult merged = run_vtrain("sweep merge t r s", work.path());
  CHECK(merged.exit_code == 2);
  CHECK(merged.err.find("s: inputs: its runs have read another file jobs.csv") != std::string::npos);
  CHECK_FALSE(fs::exists(work / "t"));
}

TEST_CASE("sweep: outside of Slurm its script says what to do, and it is a script of a shell") {
  const TemporaryFolder work;
  const CommandResult script = run_vtrain("sweep grid.json --slurm-template", work.path());
  CHECK(script.exit_code == 0);
  work.write("sweep.sh", script.out);
  CHECK(run_command("bash -n sweep.sh", work.path()).exit_code == 0);
  const CommandResult outside = run_command("env -u SLURM_JOB_ID bash sweep.sh", work.path());
  CHECK(outside.exit_code == 2);
  CHECK(outside.out.empty());
  CHECK(outside.err.find("submit it to Slurm: sbatch sweep.sh") != std::string::npos);
}
