#include "tools/sweep/result_store.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <set>

#include "core/base/rng.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tools/sweep/result_columns.hpp"

using vtrain::Database;
using vtrain::Error;
using vtrain::ErrorKind;
using vtrain::FinishedRun;
using vtrain::Grid;
using vtrain::metric_columns;
using vtrain::MetricUnit;
using vtrain::open_results;
using vtrain::parse_sweep_spec;
using vtrain::ResultStore;
using vtrain::Shard;
using vtrain::StoredSweep;
using vtrain::testing::TemporaryFolder;

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

Grid grid_of(const std::string& seeds) {
  const auto spec = parse_sweep_spec(
      R"({"spec_version": 1, "policies": ["fifo", "elasticflow"], "seeds": ")" + seeds +
          R"(", "vary": {"prediction-error": ["none", "lognormal:0.1"], "load": [0.7, 1.1]}})",
      "grid.json");
  if (!spec) FAIL(spec.error().describe());
  return spec->grid;
}

StoredSweep sweep_of(const Grid& grid) {
  return {.spec = grid.text(), .program = "1.2.3"};
}

ResultStore open(const TemporaryFolder& work, const Grid& grid) {
  auto store = ResultStore::open(work / "r.sqlite", grid, sweep_of(grid), false);
  if (!store) FAIL(store.error().describe());
  return *std::move(store);
}

Error refusal(const TemporaryFolder& work, const Grid& grid, const StoredSweep& sweep) {
  const auto store = ResultStore::open(work / "r.sqlite", grid, sweep, false);
  REQUIRE_FALSE(store.has_value());
  return store.error();
}

/// Metrics of the size that real ones have: counts, and numbers with all digits.
FinishedRun random_run(std::int64_t run, vtrain::RandomStream& rng) {
  FinishedRun finished{.run = run};
  for (const auto& column : metric_columns()) {
    const double number = rng.uniform();
    finished.metrics.push_back(is_whole(*column.metric) ? std::floor(number * 1000) : number * 1000);
  }
  return finished;
}

}  // namespace

TEST_CASE("result columns: each has a name of its own, apart from those of the grid") {
  std::set<std::string> names = {"run", "key", "policy", "seed", "load", "placement", "cluster", "price"};
  for (const auto& column : metric_columns()) {
    CAPTURE(column.name);
    CHECK(names.insert(column.name).second);
    CHECK(column.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos);
  }
  CHECK(names.contains("deadline_satisfactory_ratio"));
  CHECK(names.contains("jain_over_tenants"));
}

TEST_CASE("result store: what was committed is there, and can be read by name") {
  const TemporaryFolder work;
  const Grid grid = grid_of("1-3");
  {
    ResultStore store = open(work, grid);
    FinishedRun run{.run = 4, .metrics = std::vector<double>(metric_columns().size(), kNone)};
    run.metrics[0] = 580;  // jobs
    REQUIRE(store.add(run).has_value());
    REQUIRE(store.add({.run = 23, .error = "broke"}).has_value());
    REQUIRE(store.commit().has_value());
    REQUIRE(store.add({.run = 5, .error = "not committed"}).has_value());
  }
  {
    const ResultStore store = open(work, grid);
    const auto finished = store.finished();
    REQUIRE(finished.has_value());
    for (std::int64_t i = 1; i <= grid.num_runs(); ++i)
      CHECK((*finished)[i] == (i == 4 || i == 23));
    CHECK(store.num_errors() == 1);
  }
  const auto results = open_results(work / "r.sqlite");
  REQUIRE(results.has_value());
  // Run 4: position 3, the second seed under the second policy, and the first value of each option.
  CHECK(results->number("SELECT run FROM runs WHERE policy = 'elasticflow' AND seed = 2 AND load = 0.7 AND "
                        "prediction_error = 'none' AND jobs = 580 AND avg_jct_s IS NULL") == 4);
  CHECK(results->text("SELECT typeof(load) || typeof(prediction_error) || typeof(jobs) FROM runs") ==
        "realtextinteger");
  CHECK(results->text("SELECT message FROM errors WHERE load = 1.1 AND prediction_error = 'lognormal:0.1'") ==
        "broke");
  CHECK(results->number("SELECT runs FROM sweep") == 24);
  CHECK(results->text("SELECT name FROM options WHERE option = 'prediction-error'") == "prediction_error");
  CHECK(results->text("SELECT better FROM metrics WHERE name = 'avg_jct_s'") == "lower");
}

TEST_CASE("result store: files of something else are refused, and stay as they are") {
  const TemporaryFolder work;
  const Grid grid = grid_of("1-3");
  { const ResultStore store = open(work, grid); }
  const Grid other = grid_of("1-4");
  Error error = refusal(work, other, sweep_of(other));
  CHECK(error.file == (work / "r.sqlite").string());
  CHECK(error.message.find("seeds: this spec has \"1-4\", the file \"1-3\"") != std::string::npos);
  StoredSweep sweep = sweep_of(grid);
  sweep.program = "1.2.4";
  CHECK(refusal(work, grid, sweep).message.find("made by vtrain 1.2.3, this is 1.2.4") != std::string::npos);
  sweep = sweep_of(grid);
  sweep.shard = {2, 3};
  CHECK(refusal(work, grid, sweep).field == "shard");
  const auto edit = [&work](const std::string& sql) {
    REQUIRE(Database::open(work / "r.sqlite", Database::Access::Write)->run(sql).has_value());
  };
  edit("UPDATE metrics SET name = 'x' WHERE name = 'resizes'");
  CHECK(refusal(work, grid, sweep_of(grid)).message.find("had no metric 'resizes'") != std::string::npos);
  edit("UPDATE metrics SET name = 'resizes' WHERE name = 'x'");
  { const ResultStore store = open(work, grid); }
  REQUIRE(
      Database::open(work / "r.sqlite", Database::Access::Write)->run("PRAGMA user_version = 7").has_value());
  error = refusal(work, grid, sweep_of(grid));
  CHECK(error.field == "user_version");
  CHECK(error.message == "expected 1, the version that this program reads, found '7'");
  CHECK(open_results(work / "r.sqlite").error().field == "user_version");
  work.write("r.sqlite", "not a database, but longer than the sixteen bytes of its header");
  CHECK(refusal(work, grid, sweep_of(grid)).message.find("expected an SQLite database") != std::string::npos);
  CHECK(std::filesystem::file_size(work / "r.sqlite") == 63);
  std::filesystem::remove(work / "r.sqlite");
  REQUIRE(Database::open(work / "r.sqlite", Database::Access::Write)->run("CREATE TABLE t (a)").has_value());
  CHECK(refusal(work, grid, sweep_of(grid)).message.find("expected the results of a sweep") !=
        std::string::npos);
  CHECK(ResultStore::open(work / "r.sqlite", grid, sweep_of(grid), true).has_value());
  CHECK(open_results(work / "absent.sqlite").error().kind == ErrorKind::NotFound);
}

TEST_CASE("result store: one writer at a time") {
  const TemporaryFolder work;
  const Grid grid = grid_of("1");
  {
    const ResultStore store = open(work, grid);
    CHECK(refusal(work, grid, sweep_of(grid)).message.find("another sweep is writing") == 0);
  }
  { const ResultStore again = open(work, grid); }
  CHECK_FALSE(std::filesystem::exists(work / "r.sqlite-lock"));
  CHECK_FALSE(std::filesystem::exists(work / "r.sqlite-wal"));
}

TEST_CASE("result store: a file that changes between runs is an error") {
  const TemporaryFolder work;
  const Grid grid = grid_of("1");
  {
    ResultStore store = open(work, grid);
    CHECK(store.add_input({.name = "jobs.csv", .path = "", .sha256 = "aa"}).has_value());
    CHECK(store.add_input({.name = "jobs.csv", .path = "", .sha256 = "aa"}).has_value());
    REQUIRE(store.commit().has_value());
  }
  ResultStore store = open(work, grid);
  const auto changed = store.add_input({.name = "jobs.csv", .path = "", .sha256 = "bb"});
  REQUIRE_FALSE(changed.has_value());
  CHECK(changed.error().message.find("expected sha256 aa, found bb") != std::string::npos);
}

TEST_CASE("result store: parts become one file, and contradictions are refused") {
  const TemporaryFolder work;
  const Grid grid = grid_of("1-3");
  vtrain::RandomStream rng(1);
  const FinishedRun first = random_run(1, rng);
  FinishedRun second = random_run(2, rng);
  const auto write = [&](const char* name, const std::vector<FinishedRun>& runs) {
    auto store = ResultStore::open(work / name, grid, sweep_of(grid), false);
    REQUIRE(store.has_value());
    for (const FinishedRun& run : runs)
      REQUIRE(store->add(run).has_value());
    REQUIRE(store->close().has_value());
  };
  write("a", {second, {.run = 3, .error = "broke"}});
  write("b", {first, second, random_run(3, rng)});
  second.metrics[1] += 1;
  write("c", {second});
  ResultStore store = open(work, grid);
  CHECK(store.add_all_of(work / "a").has_value());
  CHECK(store.num_errors() == 1);
  CHECK(store.add_all_of(work / "b").has_value());
  CHECK(store.num_errors() == 0);
  const auto contradiction = store.add_all_of(work / "c");
  REQUIRE_FALSE(contradiction.has_value());
  CHECK(contradiction.error().message == "run 2 has other results than in the files before");
  CHECK(open_results(work / "r.sqlite")->number("SELECT count(*) FROM runs") == 3);
}

TEST_CASE("result store: a run takes less than 500 bytes") {
  const TemporaryFolder work;
  const Grid grid = grid_of("1-10000");
  vtrain::RandomStream rng(1);
  {
    ResultStore store = open(work, grid);
    for (std::int64_t run = 1; run <= 20'000; ++run)
      REQUIRE(store.add(random_run(run, rng)).has_value());
    REQUIRE(store.close().has_value());
  }
  const double bytes = static_cast<double>(std::filesystem::file_size(work / "r.sqlite")) / 20'000;
  MESSAGE(bytes << " bytes a run, of which all metrics exist");
  CHECK(bytes < 500);
}

TEST_CASE("shard: a part and the number of parts") {
  CHECK(Shard::parse("2/8") == Shard{2, 8});
  for (const char* const wrong : {"0/8", "9/8", "8", "a/b", "1/0", ""})
    CHECK(Shard::parse(wrong).error().field == "--shard");
  CHECK(Shard{2, 3}.holds(4));
  CHECK_FALSE(Shard{2, 3}.holds(5));
}
