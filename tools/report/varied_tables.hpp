/// Comparison of policies while options vary: one long table in the terminal, as CSV and as JSON, and a page.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/report/seed_tables.hpp"

namespace vtrain {

/// The policies under one value of each option that varies.
struct VariedStudy {
  std::vector<std::string> values{};  ///< in the order of the options
  SeedStudy study{};                  ///< one seed or more, the same for all
};

/// A whole comparison; not empty.
struct VariedComparison {
  std::vector<std::string> options{};     ///< names of the options that vary
  std::vector<VariedStudy> studies{};     ///< for each combination of values
  std::optional<std::size_t> baseline{};  ///< policy that the others are compared with; none: the best one
};

/// Which policy is best in how many combinations.
std::string varied_summary(const VariedComparison& comparison);
/// The answer for each combination, a line each.
std::string varied_answers(const VariedComparison& comparison);
/// A row for each combination and policy, for a terminal.
std::string varied_table_text(const VariedComparison& comparison);
/// The combinations with their answers and metrics (`seeds_to_json`).
nlohmann::ordered_json varied_to_json(const VariedComparison& comparison);
/// A row for each combination, seed and policy, as CSV.
std::string varied_to_csv(const VariedComparison& comparison);

/// Texts of the page beside the comparison. They may hold any bytes.
struct VariedPage {
  std::string trace_name{};                ///< name of the trace in the title
  std::string facts{};                     ///< jobs and cluster where nothing varies
  std::vector<std::string> assumptions{};  ///< of the first combination
  /// Label and value, shown in this order.
  std::vector<std::pair<std::string, std::string>> provenance{};
};

/// The page: answers, a small multiple of each combination for each main metric, and the table.
std::string varied_report(const VariedComparison& comparison, const VariedPage& page);

}  // namespace vtrain
