#include "tools/sweep/result_schema.hpp"

#include <fmt/format.h>

#include <string_view>

#include "tools/sweep/result_columns.hpp"

namespace vtrain {
namespace {

/// Columns that `runs` and `errors` share: number, key and place in the grid.
std::string place_columns(const Grid& grid) {
  std::string sql =
      "run INTEGER PRIMARY KEY, key INTEGER NOT NULL, policy TEXT NOT NULL, seed INTEGER NOT NULL";
  for (const Variation& variation : grid.variations())
    sql += fmt::format(", {} NUMERIC NOT NULL", sql_name(option_column(variation.option)));
  return sql;
}

std::string_view unit_name(MetricUnit unit) {
  switch (unit) {
    case MetricUnit::Count:
      return "count";
    case MetricUnit::Flag:
      return "flag";
    case MetricUnit::Duration:
    case MetricUnit::Period:
      return "seconds";
    case MetricUnit::Share:
      return "share";
    case MetricUnit::Ratio:
      return "ratio";
    case MetricUnit::Index:
      return "index";
    case MetricUnit::GpuHours:
      return "GPU-hours";
    case MetricUnit::Dollars:
      return "dollars";
  }
  return "";
}

}  // namespace

std::string results_schema(const Grid& grid) {
  std::string sql = fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};", kResultsApplication,
                                kResultsVersion);
  sql +=
      "CREATE TABLE sweep (spec TEXT NOT NULL, program TEXT NOT NULL, runs INTEGER NOT NULL,"
      " shard INTEGER NOT NULL, shards INTEGER NOT NULL);"
      "CREATE TABLE options (position INTEGER PRIMARY KEY, option TEXT NOT NULL, name TEXT NOT NULL);"
      "CREATE TABLE metrics (position INTEGER PRIMARY KEY, name TEXT NOT NULL, title TEXT NOT NULL,"
      " meaning TEXT NOT NULL, unit TEXT NOT NULL, better TEXT);"
      "CREATE TABLE inputs (name TEXT PRIMARY KEY, sha256 TEXT NOT NULL);";
  sql += fmt::format("CREATE TABLE runs ({}", place_columns(grid));
  for (const MetricColumn& column : metric_columns())
    sql += fmt::format(", {} {}", sql_name(column.name), is_whole(*column.metric) ? "INTEGER" : "REAL");
  sql += fmt::format("); CREATE TABLE errors ({}, message TEXT NOT NULL);", place_columns(grid));
  return sql;
}

Result<void> describe_results(Database& database, const Grid& grid, const StoredSweep& sweep) {
  auto subject = database.prepare("INSERT INTO sweep VALUES (?, ?, ?, ?, ?)");
  if (!subject) return fail(subject.error());
  subject->bind(0, std::string_view(sweep.spec));
  subject->bind(1, std::string_view(sweep.program));
  subject->bind(2, grid.num_runs());
  subject->bind(3, sweep.shard.index);
  subject->bind(4, sweep.shard.count);
  if (auto done = subject->run(); !done) return done;
  auto option = database.prepare("INSERT INTO options VALUES (?, ?, ?)");
  if (!option) return fail(option.error());
  for (const Variation& variation : grid.variations()) {
    const std::string name = option_column(variation.option);
    option->bind_null(0);
    option->bind(1, std::string_view(variation.option));
    option->bind(2, std::string_view(name));
    if (auto done = option->run(); !done) return done;
  }
  auto metric = database.prepare("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)");
  if (!metric) return fail(metric.error());
  for (const MetricColumn& column : metric_columns()) {
    metric->bind_null(0);
    metric->bind(1, std::string_view(column.name));
    metric->bind(2, column.metric->title);
    metric->bind(3, column.metric->meaning);
    metric->bind(4, unit_name(column.metric->unit));
    if (column.metric->better == Better::Neither)
      metric->bind_null(5);
    else
      metric->bind(5, std::string_view(column.metric->better == Better::Higher ? "higher" : "lower"));
    if (auto done = metric->run(); !done) return done;
  }
  return {};
}

}  // namespace vtrain
