#include "tools/studies/queries.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/report/metric.hpp"
#include "tools/sweep/result_columns.hpp"

namespace vtrain {
namespace {

/// The columns of the options, quoted, each with a prefix.
std::vector<std::string> option_columns(const StudyGrid& grid, std::string_view prefix = "") {
  std::vector<std::string> columns;
  for (const Variation& variation : grid.variations)
    columns.push_back(std::string(prefix) + sql_name(option_column(variation.option)));
  return columns;
}

/// `a, b, c`, after the columns of the options.
std::string with_options(const StudyGrid& grid, std::string_view others, std::string_view prefix = "") {
  std::vector<std::string> columns = option_columns(grid, prefix);
  if (!others.empty()) columns.emplace_back(others);
  return fmt::format("{}", fmt::join(columns, ", "));
}

/// Tables that a query defines before it begins, and the name of the one with the runs.
struct Tables {
  std::vector<std::string> definitions{};
  std::string runs = "runs";

  std::string to_string() const {
    return definitions.empty() ? "" : fmt::format("WITH {}\n", fmt::join(definitions, ",\n"));
  }
};

/// The runs under seeds that all policies of their combination have.
Tables tables_of(const StudyGrid& grid, bool all_paired) {
  Tables tables;
  if (all_paired) return tables;
  tables.runs = "paired";
  if (grid.variations.empty()) {
    tables.definitions = {
        "paired AS (SELECT * FROM runs WHERE seed IN (SELECT seed FROM runs GROUP BY seed\n"
        "  HAVING count(*) = (SELECT count(DISTINCT policy) FROM runs)))"};
    return tables;
  }
  const std::string options = with_options(grid, "");
  tables.definitions = {
      fmt::format("present AS (SELECT {0}, count(DISTINCT policy) AS policies FROM runs GROUP BY {0})",
                  options),
      fmt::format("whole AS (SELECT {0}, seed FROM runs JOIN present USING ({0})\n"
                  "  GROUP BY {0}, seed, policies HAVING count(*) = policies)",
                  options),
      fmt::format("paired AS (SELECT * FROM runs JOIN whole USING ({}, seed))", options)};
  return tables;
}

std::string quoted_text(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text)
    quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

/// Defines `best`: the policy that is best by the mean of a metric in each combination.
void define_best(const StudyGrid& grid, const Metric& ranking, Tables& tables) {
  tables.definitions.push_back(fmt::format(
      "totals AS (SELECT {}, avg({}) AS value, avg(completed) AS completed, min(run) AS first\n"
      "  FROM {} GROUP BY {})",
      with_options(grid, "policy"), column_of(ranking), tables.runs, with_options(grid, "policy")));
  const std::string partition = grid.variations.empty() ? "" : "PARTITION BY " + with_options(grid, "") + " ";
  std::string condition = "value IS NOT NULL";
  if (ranking.depends_on_completed) {
    tables.definitions.push_back(
        fmt::format("compared AS (SELECT *, max(completed) OVER ({}) AS most FROM totals)", partition));
    condition += fmt::format(" AND most - completed < {}", kHandful);
  }
  tables.definitions.push_back(
      fmt::format("ranked AS (SELECT {}, row_number() OVER ({}ORDER BY value{}, first) AS place\n"
                  "  FROM {} WHERE {})",
                  with_options(grid, "policy"), partition, ranking.better == Better::Lower ? "" : " DESC",
                  ranking.depends_on_completed ? "compared" : "totals", condition));
  tables.definitions.push_back(
      fmt::format("best AS (SELECT {} FROM ranked WHERE place = 1)", with_options(grid, "policy")));
}

}  // namespace

std::string means_query(const StudyGrid& grid, std::span<const Metric* const> metrics, bool all_paired) {
  const Tables tables = tables_of(grid, all_paired);
  std::string columns;
  for (const Metric* const metric : metrics)
    columns += fmt::format(",\n  avg({0}) AS {0}", column_of(*metric));
  return fmt::format("{}SELECT {}, count(*) AS seeds{}\nFROM {}\nGROUP BY {}\nORDER BY min(run);\n",
                     tables.to_string(), with_options(grid, "policy"), columns, tables.runs,
                     with_options(grid, "policy"));
}

std::string differences_query(const StudyGrid& grid, std::span<const Metric* const> metrics, bool all_paired,
                              const ComparedPolicies& compared) {
  Tables tables = tables_of(grid, all_paired);
  std::string condition;
  if (compared.ranking != nullptr) {
    define_best(grid, *compared.ranking, tables);
    condition = fmt::format("({}) IN (SELECT {} FROM best)", with_options(grid, "b.policy", "b."),
                            with_options(grid, "policy"));
  } else {
    condition = fmt::format("b.policy = {}", quoted_text(compared.fixed));
  }
  std::string columns;
  for (const Metric* const metric : metrics)
    columns += fmt::format(",\n  avg(a.{0} - b.{0}) AS {0}", column_of(*metric));
  return fmt::format(
      "{}SELECT {}, b.policy AS against, count(*) AS seeds{}\n"
      "FROM {} AS a JOIN {} AS b USING ({})\n"
      "WHERE a.policy <> b.policy AND {}\n"
      "GROUP BY {}, b.policy\nORDER BY min(a.run);\n",
      tables.to_string(), with_options(grid, "a.policy", "a."), columns, tables.runs, tables.runs,
      with_options(grid, "seed"), condition, with_options(grid, "a.policy", "a."));
}

}  // namespace vtrain
