/// `vtrain report`: tables of a sweep's results and of folders of runs, and the SQL that gives them.
#include <doctest/doctest.h>

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/base/strings.hpp"
#include "core/io/csv.hpp"
#include "tests/support/command_runner.hpp"
#include "tools/database/sqlite.hpp"

using nlohmann::json;
using vtrain::Database;
using vtrain::testing::CommandResult;
using vtrain::testing::names_in;
using vtrain::testing::run_json;
using vtrain::testing::run_vtrain;
using vtrain::testing::slurp;
using vtrain::testing::TemporaryFolder;
using vtrain::testing::unwrapped;

namespace {

namespace fs = std::filesystem;

constexpr const char* kGrid =
    R"({"spec_version": 1, "policies": ["fifo", "srtf", "deadline"], "seeds": "1-3", )"
    R"("vary": {"load": [0.5, 1.1], "placement": ["count", "consolidate"]}})";

std::string output_of(const std::string& arguments, const TemporaryFolder& work) {
  const CommandResult result = run_vtrain(arguments, work.path());
  REQUIRE_MESSAGE(result.exit_code == 0, arguments << ": " << result.err);
  return result.out;
}

void refused(const std::string& arguments, const TemporaryFolder& work, const std::string& why) {
  const CommandResult result = run_vtrain(arguments, work.path());
  CAPTURE(arguments);
  CHECK_MESSAGE(result.exit_code == 2, result.out);
  CHECK_MESSAGE(result.err.find(why) != std::string::npos, result.err);
}

/// A sweep of `kGrid` as grid.sqlite.
void make_sweep(const TemporaryFolder& work) {
  work.write("grid.json", kGrid);
  output_of("sweep grid.json --out grid.sqlite", work);
}

Database open(const fs::path& file) {
  auto database = Database::open(file, Database::Access::Write);
  if (!database) FAIL(database.error().describe());
  return *std::move(database);
}

/// Statements of a file; each ends with `;` at the end of a line.
std::vector<std::string> statements_in(const fs::path& file) {
  const std::string text = slurp(file);
  std::vector<std::string> statements;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = text.find(";\n", from) + 2;
    statements.push_back(text.substr(from, end - from));
    from = end;
  }
  return statements;
}

/// A table: titles, rows.
using Table = std::vector<std::vector<std::string>>;

Table table_of_query(const Database& database, const std::string& sql) {
  auto query = database.prepare(sql);
  if (!query) FAIL(query.error().describe());
  Table table(1);
  for (int i = 0; i < query->num_columns(); ++i)
    table[0].push_back(query->column_name(i));
  for (;;) {
    const auto stepped = query->step();
    if (!stepped) FAIL(stepped.error().describe());
    if (!*stepped) return table;
    table.emplace_back();
    for (int i = 0; i < query->num_columns(); ++i)
      table.back().push_back(query->text(i));
  }
}

Table table_of_csv(const std::string& text) {
  auto reader = vtrain::CsvReader::open(text, "test");
  if (!reader) FAIL(reader.error().describe());
  Table table = {reader->columns()};
  for (;;) {
    const auto next = reader->next();
    if (!next) FAIL(next.error().describe());
    if (!*next) return table;
    table.emplace_back(reader->fields().begin(), reader->fields().end());
  }
}

/// Checks that a query gives the rows of a table of CSV, in its order, but for halves of intervals.
void check_query(const Table& csv, const Table& sql) {
  REQUIRE(sql.size() == csv.size());
  REQUIRE(csv.size() > 1);
  for (std::size_t column = 0; column < sql[0].size(); ++column) {
    const auto same = std::ranges::find(csv[0], sql[0][column]);
    REQUIRE_MESSAGE(same != csv[0].end(), sql[0][column]);
    const auto at = static_cast<std::size_t>(same - csv[0].begin());
    for (std::size_t row = 1; row < sql.size(); ++row) {
      const std::string& found = sql[row][column];
      const std::string& wanted = csv[row][at];
      CAPTURE(sql[0][column]);
      CAPTURE(row);
      if (found == wanted) continue;
      REQUIRE(!found.empty());
      REQUIRE(!wanted.empty());
      CHECK(std::stod(found) == doctest::Approx(std::stod(wanted)).epsilon(1e-12));
    }
  }
}

/// Both statements of a report's folder against its tables.
void check_queries(const fs::path& folder, const fs::path& results) {
  const Database database = open(results);
  const std::vector<std::string> statements = statements_in(folder / "tables.sql");
  REQUIRE(statements.size() == 2);
  check_query(table_of_csv(slurp(folder / "means.csv")), table_of_query(database, statements[0]));
  check_query(table_of_csv(slurp(folder / "differences.csv")), table_of_query(database, statements[1]));
}

/// Tables and answers that `compare` prints between the time of the replays and the files.
std::string tables_of(const std::string& compared) {
  const std::size_t replayed = compared.find("\nreplayed ");
  const std::size_t from = compared.find("\n\n", replayed) + 2;
  const std::size_t to = compared.find("\nreport    ", from);
  REQUIRE(replayed < from);
  REQUIRE(from < to);
  const std::string text = compared.substr(from, to - from);
  return text.substr(0, text.find_last_not_of('\n') + 1) + "\n";
}

}  // namespace

TEST_CASE("report: a sweep's answer and tables are those of the comparison with its spec") {
  const TemporaryFolder work;
  make_sweep(work);
  const std::string compared = output_of("compare --spec grid.json --out runs", work);
  const std::string reported = output_of("report grid.sqlite", work);
  const std::string first = compared.substr(0, compared.find("\n\n"));
  CHECK(reported.starts_with(first + "\n\nsweep "));
  CHECK(reported.find("runs      36 of 36 finished\n") != std::string::npos);
  CHECK(reported.find("missing") == std::string::npos);
  CHECK(reported.ends_with("\n\n" + tables_of(compared)));
  CHECK(run_json("report grid.sqlite", work)["combinations"] ==
        run_json("compare --spec grid.json", work)["combinations"]);
}

TEST_CASE("report: without options that vary, the tables are those of seeds") {
  const TemporaryFolder work;
  work.write("one.json", R"({"spec_version": 1, "policies": ["fifo", "srtf", "las"], "seeds": "1-4"})");
  output_of("sweep one.json --out one.sqlite", work);
  const std::string compared = output_of("compare --spec one.json --out runs", work);
  for (const std::string& results : {std::string("one.sqlite"), std::string("runs")}) {
    const std::string reported = output_of("report " + results, work);
    CHECK(reported.starts_with(compared.substr(0, compared.find("\n\n"))));
    CHECK(reported.ends_with("\n\n" + tables_of(compared)));
  }
  // Against a baseline, as `compare` does it.
  const std::string answer = output_of("compare --spec one.json --json", work);
  const std::string against = output_of("report one.sqlite --baseline fifo", work);
  CHECK(against.find("against fifo") != std::string::npos);
  const json compared_with =
      run_json("report one.sqlite --baseline fifo", work)["combinations"][0]["seeds"]["compared_with"];
  CHECK(compared_with == "fifo");
}

TEST_CASE("report: each statement of SQL gives the figures of its table") {
  const TemporaryFolder work;
  make_sweep(work);
  const std::string shown = output_of("report grid.sqlite --out best", work);
  CHECK(shown.ends_with("report    best/report.html\n"));
  CHECK(names_in(work / "best") ==
        std::set<std::string>{"differences.csv", "means.csv", "report.html", "tables.sql"});
  check_queries(work / "best", work / "grid.sqlite");
  output_of("report grid.sqlite --out fixed --baseline fifo --metrics avg_jct_s,useful_gpu_hours", work);
  check_queries(work / "fixed", work / "grid.sqlite");
  const std::string page = slurp(work / "best/report.html");
  CHECK(page.find("<summary>SQL of this table</summary>") != std::string::npos);
  CHECK(page.find("GROUP BY &quot;load&quot;, &quot;placement&quot;, policy") != std::string::npos);
  CHECK(page.size() < 1'000'000);
  // Figures as they are printed: the mean of SQL begins the cell.
  const Database database = open(work / "grid.sqlite");
  const Table means = table_of_query(database, statements_in(work / "best/tables.sql")[0]);
  const std::string markdown = output_of(
      "report grid.sqlite --format markdown --metrics deadline_satisfactory_ratio,preemptions", work);
  const auto ratio = std::ranges::find(means[0], "deadline_satisfactory_ratio") - means[0].begin();
  for (std::size_t row = 1; row < means.size(); ++row) {
    const std::string line =
        fmt::format("| {} | {} | {} | {:.1f}", means[row][0], means[row][1], means[row][2],
                    100 * std::stod(means[row][static_cast<std::size_t>(ratio)]));
    CHECK_MESSAGE(markdown.find(line) != std::string::npos, line << " in\n" << markdown);
  }
}

TEST_CASE("report: the mean and its interval, computed by hand") {
  const TemporaryFolder work;
  make_sweep(work);
  const Database database = open(work / "grid.sqlite");
  const Table csv = table_of_csv(output_of("report grid.sqlite --format csv --metrics avg_jct_s", work));
  REQUIRE(csv[0] ==
          std::vector<std::string>{"load", "placement", "policy", "seeds", "avg_jct_s", "avg_jct_s_half"});
  const Table values = table_of_query(
      database, "SELECT avg_jct_s FROM runs WHERE load = 1.1 AND placement = 'count' AND policy = 'srtf'");
  REQUIRE(values.size() == 4);
  const double a = std::stod(values[1][0]);
  const double b = std::stod(values[2][0]);
  const double c = std::stod(values[3][0]);
  const double mean = (a + b + c) / 3;
  // t(0.975) of Student's distribution with two degrees of freedom is 4.30265.
  const double deviation =
      std::sqrt(((a - mean) * (a - mean) + (b - mean) * (b - mean) + (c - mean) * (c - mean)) / 2);
  const auto row = std::ranges::find_if(csv, [](const std::vector<std::string>& cells) {
    return cells[0] == "1.1" && cells[1] == "count" && cells[2] == "srtf";
  });
  REQUIRE(row != csv.end());
  CHECK((*row)[3] == "3");
  CHECK(std::stod((*row)[4]) == doctest::Approx(mean));
  CHECK(std::stod((*row)[5]) == doctest::Approx(4.30265273 * deviation / std::sqrt(3)));
}

TEST_CASE("report: what is missing is counted, and differences stay paired") {
  const TemporaryFolder work;
  make_sweep(work);
  {
    Database database = open(work / "grid.sqlite");
    // Runs 1 to 9 are load 0.5, placement count: seed 1 loses fifo, which failed. Runs 10 to 18 go as a
    // whole, and of runs 19 to 27 those of srtf.
    REQUIRE(
        database
            .run("INSERT INTO errors SELECT run, key, policy, seed, load, placement, 'broke <in two>' FROM "
                 "runs WHERE run = 1; DELETE FROM runs WHERE run = 1 OR run BETWEEN 10 AND 18 OR (run "
                 "BETWEEN 19 AND 27 AND policy = 'srtf')")
            .has_value());
  }
  const std::string text = unwrapped(output_of("report grid.sqlite --out out", work));
  CHECK_MESSAGE(text.find("23 of 36 finished") != std::string::npos, text);
  CHECK(text.find("1 run failed (the first: fifo, seed 1, load 0.5, placement count): broke <in two>") !=
        std::string::npos);
  CHECK(text.find("12 runs not done yet") != std::string::npos);
  CHECK(text.find("2 finished runs left out") != std::string::npos);
  CHECK(text.find("1 combination without runs") != std::string::npos);
  CHECK(text.find("1 combination has fewer than 3 seeds: load 0.5, placement count: 2") != std::string::npos);
  CHECK(text.starts_with("Of 3 combinations, "));
  check_queries(work / "out", work / "grid.sqlite");
  const Table means = table_of_csv(slurp(work / "out/means.csv"));
  CHECK(means.size() == 1 + 8);  // no row for a policy without runs
  CHECK(means[1][3] == "2");
  CHECK(slurp(work / "out/report.html").find("broke &lt;in two&gt;") != std::string::npos);
  const json runs = run_json("report grid.sqlite", work)["runs"];
  CHECK(runs == json({{"expected", 36}, {"finished", 23}, {"failed", 1}, {"missing", 12}, {"unpaired", 2}}));
}

TEST_CASE("report: one part of a sweep says so") {
  const TemporaryFolder work;
  work.write("grid.json", kGrid);
  output_of("sweep grid.json --shard 2/4 --out part.sqlite", work);
  const std::string text = unwrapped(output_of("report part.sqlite", work));
  // Of 12 scenarios, those with numbers 1, 5 and 9, each under three policies.
  CHECK_MESSAGE(text.find("9 of 9 finished") != std::string::npos, text);
  CHECK(text.find("part 2/4 of a sweep of 36 runs") != std::string::npos);
}

TEST_CASE("report: the same bytes on any number of threads") {
  const TemporaryFolder work;
  make_sweep(work);
  for (const std::string& format : {std::string("csv"), std::string("latex")}) {
    CHECK(output_of("report grid.sqlite --threads 1 --format " + format, work) ==
          output_of("report grid.sqlite --threads 3 --format " + format, work));
  }
  output_of("report grid.sqlite --format latex --out tex", work);
  CHECK(slurp(work / "tex/differences.tex") ==
        output_of("report grid.sqlite --format latex --table differences", work));
}

TEST_CASE("report: a folder of comparisons and replays is one study") {
  const TemporaryFolder work;
  for (const char* const load : {"0.5", "1.1"}) {
    for (const char* const seed : {"2", "5"}) {
      output_of(fmt::format("replay --policy easy --load {0} --seed {1} --out runs/easy-{0}-{1}", load, seed),
                work);
      output_of(fmt::format("compare --policies fifo,srtf --load {0} --seed {1} --out runs/two-{0}-{1}", load,
                            seed),
                work);
    }
  }
  const std::string text = output_of("report runs --out out", work);
  CHECK_MESSAGE(text.find("folder    runs   2 combinations × 2 seeds × 3 policies") != std::string::npos,
                text);
  CHECK(text.find("runs      12 of 12 finished") != std::string::npos);
  const Table means = table_of_csv(slurp(work / "out/means.csv"));
  REQUIRE(means.size() == 1 + 6);
  CHECK(means[0][0] == "load");
  const json two = json::parse(slurp(work / "runs/easy-1.1-2/summary.json"));
  const json five = json::parse(slurp(work / "runs/easy-1.1-5/summary.json"));
  const auto column = static_cast<std::size_t>(std::ranges::find(means[0], "avg_jct_s") - means[0].begin());
  const auto row = std::ranges::find_if(
      means, [](const std::vector<std::string>& cells) { return cells[0] == "1.1" && cells[1] == "easy"; });
  REQUIRE(row != means.end());
  CHECK(std::stod((*row)[column]) ==
        doctest::Approx((two["avg_jct_s"].get<double>() + five["avg_jct_s"].get<double>()) / 2));
  check_queries(work / "out", work / "out/runs.sqlite");
  // A run that is there twice counts once; two that differ are refused.
  fs::copy(work / "runs/easy-1.1-2", work / "runs/other", fs::copy_options::recursive);
  CHECK(output_of("report runs", work).find("runs      12 of 12 finished") != std::string::npos);
  json changed = two;
  changed["avg_jct_s"] = 1;
  work.write("runs/other/summary.json", changed.dump());
  refused("report runs", work,
          "runs/other/summary.json: has other figures than runs/easy-1.1-2/summary.json");
}

TEST_CASE("report: the folder of a comparison whose options vary has its tables") {
  const TemporaryFolder work;
  const std::string compared = output_of(
      "compare --vary 'failures=none;mtbf=100h,repair=4h' --policies fifo,srtf --seeds 1-2 --out runs", work);
  const std::string reported = output_of("report runs", work);
  CHECK(reported.starts_with(compared.substr(0, compared.find("\n\n"))));
  CHECK(reported.ends_with("\n\n" + tables_of(compared)));
}

TEST_CASE("report: what is no study is refused") {
  const TemporaryFolder work;
  make_sweep(work);
  refused("report absent.sqlite", work, "absent.sqlite: no such file");
  work.write("text.sqlite", "this is a text that is longer than a header");
  refused("report text.sqlite", work, "text.sqlite: expected an SQLite database");
  REQUIRE(open(work / "other.sqlite").run("CREATE TABLE t (a)").has_value());
  refused("report other.sqlite", work, "expected the results of a sweep");
  fs::create_directory(work / "empty");
  refused("report empty", work, "expected the folder of `vtrain compare` or `vtrain replay`");
  fs::create_directory(work / "odd");
  work.write("odd/run.json", "{\"schema_version\": 7, \"spec\": {}}");
  refused("report odd", work,
          "odd/run.json: schema_version: expected 2, the version that this program reads");
  refused("report grid.sqlite --metrics avg_jct", work, "--metrics: 'avg_jct' is no metric");
  refused("report grid.sqlite --metrics avg_jct", work, "did you mean 'avg_jct_s'?");
  refused("report grid.sqlite --baseline srft", work, "did you mean 'srtf'?");
  refused("report grid.sqlite --format html", work, "--format: expected one of");
  refused("report grid.sqlite --table differences", work, "--table: needs --format");
  refused("report grid.sqlite --format csv --json", work, "--format: has no effect on --json");
  refused("report grid.sqlite --out .", work, "holds the results themselves; name another folder");
  CHECK_FALSE(fs::exists(work / "report.html"));
  output_of("size --goal deadlines=50% --cluster 15-16x8:a100 --policies srtf --seed 1 --out size", work);
  refused("report size", work, "is the goal of `vtrain size`");
  Database database = open(work / "grid.sqlite");
  REQUIRE(database.run("DELETE FROM runs").has_value());
  refused("report grid.sqlite", work, "none of the 36 runs of this sweep has finished");
  REQUIRE(database.run("PRAGMA user_version = 2").has_value());
  refused("report grid.sqlite", work,
          "user_version: expected 1, the version that this program reads, found '2'");
}
