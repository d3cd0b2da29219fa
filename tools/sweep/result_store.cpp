#include "tools/sweep/result_store.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "tools/database/file_lock.hpp"
#include "tools/sweep/result_columns.hpp"
#include "tools/sweep/result_schema.hpp"

namespace vtrain {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kOrReplace = "name another file with --out, or replace this one with --force";

Result<void> check_kind(const Database& database) {
  const auto application = database.number("PRAGMA application_id");
  if (!application) return fail(application.error());
  if (*application != kResultsApplication)
    return fail({.file = database.file().string(),
                 .message = "expected the results of a sweep, found another SQLite database"});
  const auto version = database.number("PRAGMA user_version");
  if (!version) return fail(version.error());
  if (*version != kResultsVersion)
    return fail(
        {.file = database.file().string(),
         .field = "user_version",
         .message = expected_found(fmt::format("{}, the version that this program reads", kResultsVersion),
                                   std::to_string(*version))});
  return {};
}

/// The first difference of two specs: a field and its values.
std::string first_difference(const std::string& wanted, const std::string& found) {
  const json here = json::parse(wanted, nullptr, false).flatten();
  const json there = json::parse(found, nullptr, false).flatten();
  const auto value = [](const json& spec, const std::string& key) {
    return spec.contains(key) ? spec[key].dump() : std::string("nothing");
  };
  std::map<std::string, bool> keys;
  for (const json* const spec : {&here, &there}) {
    for (const auto& [key, unused] : spec->items())
      keys[key] = true;
  }
  for (const auto& [key, unused] : keys) {
    if (value(here, key) != value(there, key))
      return fmt::format("{}: this spec has {}, the file {}", printable(key.substr(1)),
                         printable(value(here, key)), printable(value(there, key)));
  }
  return "its spec is written in another way";
}

/// Error unless the path can be a file of results: new, or a regular file.
Result<void> check_place(const fs::path& file) {
  std::error_code ignored;
  if (fs::exists(file, ignored) && !fs::is_regular_file(file, ignored))
    return fail({.file = file.string(), .message = "expected a regular file for the results"});
  return {};
}

}  // namespace

Result<Shard> Shard::parse(std::string_view text) {
  constexpr std::int64_t kMostShards = 1'000'000;
  const auto [index, count] = split_once(text, '/');
  if (count) {
    const auto parsed_count = parse_integer(*count, 1, kMostShards);
    const auto parsed_index = parse_integer(index, 1, parsed_count.value_or(1));
    if (parsed_count && parsed_index) return Shard{*parsed_index, *parsed_count};
  }
  return fail({.field = "--shard", .message = expected_found("a part such as 1/8 to 8/8", text)});
}

Result<Database> open_results(const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored))
    return fail({.kind = ErrorKind::NotFound, .file = file.string(), .message = "no such file"});
  auto database = Database::open(file, Database::Access::Read);
  if (!database) return database;
  if (auto checked = check_kind(*database); !checked) return fail(std::move(checked.error()));
  return database;
}

Result<StoredSweep> read_stored_sweep(const Database& results) {
  auto query = results.prepare("SELECT spec, program, shard, shards FROM sweep");
  if (!query) return fail(std::move(query.error()));
  const auto stepped = query->step();
  if (!stepped) return fail(stepped.error());
  if (!*stepped)
    return fail({.file = results.file().string(), .field = "sweep", .message = "the table has no row"});
  return StoredSweep{query->text(0), query->text(1), {query->integer(2), query->integer(3)}};
}

Result<void> check_stored_sweep(const Database& database, const StoredSweep& wanted) {
  const auto found = read_stored_sweep(database);
  if (!found) return fail(found.error());
  const auto differs = [&](std::string field, const std::string& how) {
    return fail({.file = database.file().string(),
                 .field = std::move(field),
                 .message = fmt::format("has the results of another sweep: {}; {}", how, kOrReplace)});
  };
  if (found->spec != wanted.spec) return differs("spec", first_difference(wanted.spec, found->spec));
  if (found->program != wanted.program)
    return differs("program",
                   fmt::format("made by vtrain {}, this is {}", printable(found->program), wanted.program));
  if (found->shard != wanted.shard)
    return differs("shard", fmt::format("part {}/{}, not {}/{}", found->shard.index, found->shard.count,
                                        wanted.shard.index, wanted.shard.count));
  auto names = database.prepare("SELECT name FROM metrics ORDER BY position");
  if (!names) return fail(std::move(names.error()));
  for (const MetricColumn& column : metric_columns()) {
    const auto stepped = names->step();
    if (!stepped) return fail(stepped.error());
    if (!*stepped || names->text(0) != column.name)
      return differs("metrics", fmt::format("its program had no metric '{}' in this place", column.name));
  }
  return {};
}

Result<std::vector<bool>> finished_runs(const Database& results, const Grid& grid) {
  std::vector<bool> finished(static_cast<std::size_t>(grid.num_runs()) + 1);
  auto query = results.prepare("SELECT run FROM runs UNION ALL SELECT run FROM errors");
  if (!query) return fail(std::move(query.error()));
  for (;;) {
    const auto stepped = query->step();
    if (!stepped) return fail(stepped.error());
    if (!*stepped) return finished;
    const auto run = static_cast<std::size_t>(query->integer(0));
    if (run < finished.size()) finished[run] = true;
  }
}

struct ResultStore::State {
  Database database;
  FileLock lock;
  const Grid& grid;
  RunKeys keys;
  Statement add_run;
  Statement add_error;
  bool in_transaction = false;
  std::int64_t variant = -1;          ///< combination that `values` belong to
  std::vector<std::string> values{};  ///< values of the options that vary
  std::map<std::string, std::string> inputs{};

  /// Binds what runs and errors share. Returns the next parameter.
  int bind_place(Statement& statement, std::int64_t run) {
    const GridPlace place = grid.place(run);
    if (place.variant != variant) {
      values = grid.values(place.variant);
      variant = place.variant;
    }
    int parameter = 0;
    statement.bind(parameter++, run);
    statement.bind(parameter++, keys.of(run));
    statement.bind(parameter++, std::string_view(grid.policies()[place.policy]));
    statement.bind(parameter++, static_cast<std::int64_t>(grid.seeds()[place.seed]));
    for (const std::string& value : values)
      statement.bind(parameter++, std::string_view(value));
    return parameter;
  }
};

ResultStore::ResultStore(std::unique_ptr<State> state) : state_(std::move(state)) {}
ResultStore::ResultStore(ResultStore&&) noexcept = default;
ResultStore::~ResultStore() = default;

Result<ResultStore> ResultStore::open(const fs::path& file, const Grid& grid, const StoredSweep& sweep,
                                      bool replace) {
  if (auto checked = check_place(file); !checked) return fail(std::move(checked.error()));
  auto lock = FileLock::beside(file, kResultsInUse);
  if (!lock) return fail(std::move(lock.error()));
  if (replace) {
    for (const char* const ending : {"-wal", "-shm", ""}) {
      std::error_code ignored;
      fs::remove(file.string() + ending, ignored);
    }
  }
  auto database = Database::open(file, Database::Access::Write);
  if (!database) return fail(std::move(database.error()));
  const auto tables = database->number("SELECT count(*) FROM sqlite_schema");
  if (!tables) return fail(tables.error());
  Result<void> ready;
  if (*tables > 0) {
    ready = check_kind(*database);
    if (ready) ready = check_stored_sweep(*database, sweep);
  }
  if (ready) ready = database->run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  if (ready && *tables == 0) {
    ready = database->run("BEGIN IMMEDIATE;" + results_schema(grid));
    if (ready) ready = describe_results(*database, grid, sweep);
    if (ready) ready = database->run("COMMIT");
  }
  if (!ready) return fail(std::move(ready.error()));
  std::string places = "?, ?, ?, ?";
  for (std::size_t i = 0; i < grid.variations().size(); ++i)
    places += ", ?";
  std::string metrics;
  for (std::size_t i = 0; i < metric_columns().size(); ++i)
    metrics += ", ?";
  auto add_run = database->prepare(fmt::format("INSERT INTO runs VALUES ({}{})", places, metrics));
  if (!add_run) return fail(std::move(add_run.error()));
  auto add_error = database->prepare(fmt::format("INSERT INTO errors VALUES ({}, ?)", places));
  if (!add_error) return fail(std::move(add_error.error()));
  return ResultStore(
      std::make_unique<State>(State{*std::move(database), *std::move(lock), grid, RunKeys(grid),
                                    *std::move(add_run), *std::move(add_error)}));
}

Result<std::vector<bool>> ResultStore::finished() const {
  return finished_runs(state_->database, state_->grid);
}

Result<std::int64_t> ResultStore::num_errors() const {
  return state_->database.number("SELECT count(*) FROM errors");
}

Result<void> ResultStore::drop_errors() {
  return state_->database.run("DELETE FROM errors");
}

Result<void> ResultStore::begin() {
  if (state_->in_transaction) return {};
  auto begun = state_->database.run("BEGIN IMMEDIATE");
  state_->in_transaction = begun.has_value();
  return begun;
}

Result<void> ResultStore::add_input(const SpecFile& input) {
  auto& inputs = state_->inputs;
  auto known = inputs.find(input.name);
  if (known == inputs.end()) {
    if (auto begun = begin(); !begun) return begun;
    auto insert = state_->database.prepare("INSERT OR IGNORE INTO inputs VALUES (?, ?)");
    if (!insert) return fail(std::move(insert.error()));
    insert->bind(0, std::string_view(input.name));
    insert->bind(1, std::string_view(input.sha256));
    if (auto done = insert->run(); !done) return done;
    auto query = state_->database.prepare("SELECT sha256 FROM inputs WHERE name = ?");
    if (!query) return fail(std::move(query.error()));
    query->bind(0, std::string_view(input.name));
    if (const auto stepped = query->step(); !stepped) return fail(stepped.error());
    known = inputs.emplace(input.name, query->text(0)).first;
  }
  if (known->second == input.sha256) return {};
  return fail(
      {.file = input.name,
       .message = fmt::format("is not the file that earlier runs of {} read: expected sha256 {}, found {}",
                              state_->database.file().string(), known->second, input.sha256)});
}

Result<void> ResultStore::add(const FinishedRun& run) {
  if (auto begun = begin(); !begun) return begun;
  Statement& statement = run.error.empty() ? state_->add_run : state_->add_error;
  int parameter = state_->bind_place(statement, run.run);
  if (!run.error.empty()) {
    statement.bind(parameter, std::string_view(run.error));
  } else {
    for (const double value : run.metrics)
      statement.bind(parameter++, value);
  }
  return statement.run();
}

Result<void> ResultStore::add_all_of(const fs::path& file) {
  auto other = open_results(file);
  if (!other) return fail(std::move(other.error()));
  Database& database = state_->database;
  auto attach = database.prepare("ATTACH ? AS part");
  if (!attach) return fail(std::move(attach.error()));
  const std::string name = fs::absolute(file).string();
  attach->bind(0, std::string_view(name));
  if (auto done = attach->run(); !done) return done;
  std::string differs = "mine.key IS NOT its.key";
  for (const MetricColumn& column : metric_columns())
    differs += fmt::format(" OR mine.{0} IS NOT its.{0}", sql_name(column.name));
  const auto clash = database.number(fmt::format(
      "SELECT mine.run FROM runs AS mine JOIN part.runs AS its USING (run) WHERE {} LIMIT 1", differs));
  if (!clash) return fail(clash.error());
  if (*clash != 0)
    return fail({.file = file.string(),
                 .field = "runs",
                 .message = fmt::format("run {} has other results than in the files before", *clash)});
  const auto input = database.text(
      "SELECT mine.name FROM inputs AS mine JOIN part.inputs AS its USING (name) WHERE mine.sha256 <> "
      "its.sha256");
  if (!input) return fail(input.error());
  if (!input->empty())
    return fail(
        {.file = file.string(),
         .field = "inputs",
         .message = fmt::format("its runs have read another file {} than those before", printable(*input))});
  auto added = database.run(
      "BEGIN IMMEDIATE;"
      "INSERT OR IGNORE INTO inputs SELECT * FROM part.inputs;"
      "INSERT OR IGNORE INTO runs SELECT * FROM part.runs ORDER BY run;"
      "INSERT OR IGNORE INTO errors SELECT * FROM part.errors ORDER BY run;"
      "DELETE FROM errors WHERE run IN (SELECT run FROM runs);"
      "COMMIT");
  if (!added) return added;
  return database.run("DETACH part");
}

Result<void> ResultStore::commit() {
  if (!state_->in_transaction) return {};
  state_->in_transaction = false;
  return state_->database.run("COMMIT");
}

Result<void> ResultStore::close() {
  if (auto committed = commit(); !committed) return committed;
  return state_->database.run("PRAGMA wal_checkpoint(TRUNCATE)");
}

}  // namespace vtrain
