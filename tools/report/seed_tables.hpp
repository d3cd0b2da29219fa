/// Comparison of policies over several seeds: the answer, tables for the terminal and the page, JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sched/metrics/seed_study.hpp"

namespace vtrain {

/// A study, and the policy that all others are compared with.
struct SeedComparison {
  const SeedStudy* study = nullptr;       ///< never null
  std::optional<std::size_t> baseline{};  ///< position of the policy; none: the best one
  /// Columns of tables; empty: those that a table of one replay has, as far as there is room.
  std::vector<const Metric*> metrics{};
};

/// Position of the policy that all are compared with.
std::size_t compared_with(const SeedComparison& comparison);

/// The answer in a sentence or two. It names the differences that are larger than the noise, and says where
/// there is none.
std::string seed_answer(const SeedComparison& comparison);

/// The means with their intervals, and the differences from one policy, for a terminal.
std::string seed_tables_text(const SeedComparison& comparison);

/// The differences from one policy alone.
std::string seed_differences_text(const SeedComparison& comparison);

/// All metrics as JSON: for each policy `mean`, `low`, `high` and the values by seed; and the differences
/// from one policy with `clear`. Intervals that do not exist are null.
nlohmann::ordered_json seeds_to_json(const SeedComparison& comparison);

/// A row for each seed and policy with all metrics, as CSV.
std::string seeds_to_csv(const SeedStudy& study);

/// Statements of SQL that give the figures of tables, shown below them; empty: none.
struct TableQueries {
  std::string means{};        ///< statement of the table of means
  std::string differences{};  ///< statement of the table of differences
};

namespace report {

/// The section of the page: both tables, and a strip of points for each metric with a point for each seed.
std::string seed_section_html(const SeedComparison& comparison, const TableQueries& queries = {});

}  // namespace report

}  // namespace vtrain
