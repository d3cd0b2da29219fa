/// Comparison of policies while options vary: one long table in the terminal, as CSV and as JSON, and a page.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
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
  std::vector<const Metric*> metrics{};   ///< columns of tables, as in `SeedComparison`
};

/// Counts in how many combinations each policy is best.
class BestPolicies {
 public:
  /// Begins with no combination.
  explicit BestPolicies(std::vector<std::string> policies);
  /// Counts a combination.
  void add(const SeedStudy& study);
  /// The counts in words; at least one combination was added.
  std::string to_string() const;

 private:
  std::vector<std::string> policies_;
  std::vector<std::int64_t> wins_;
  std::int64_t undecided_ = 0;
  std::int64_t empty_ = 0;  ///< combinations in which no policy completed a job
  std::int64_t all_ = 0;
  const Metric* metric_ = nullptr;  ///< metric of the first combination
};

/// Which policy is best in how many combinations.
std::string varied_summary(const VariedComparison& comparison);

/// Contents of a table over combinations.
enum class VariedTable : std::uint8_t {
  Means,       ///< means of the policies
  Differences  ///< differences from the policy that others are compared with, which has a column
};

/// Metrics that some combination has, in the order of columns: those of the terminal, or of the page.
std::vector<const Metric*> shown_anywhere(const VariedComparison& comparison, bool on_page);
/// Titles of the columns before those of metrics: options, `policy`, and `against` of differences.
std::vector<std::string> row_titles(const VariedComparison& comparison, VariedTable table);
/// Rows of one combination: the values of the options, policy, and a cell for each metric, which ends with
/// its mark or two blanks.
std::vector<std::vector<std::string>> varied_rows(const VariedComparison& comparison,
                                                  const VariedStudy& varied,
                                                  std::span<const Metric* const> metrics, VariedTable table);
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

/// The answers, a small multiple of each combination for each main metric, and the table of means. With a
/// query for them, the table of differences follows.
std::string varied_section_html(const VariedComparison& comparison, const TableQueries& queries = {});

/// The page: answers, a small multiple of each combination for each main metric, and the table.
std::string varied_report(const VariedComparison& comparison, const VariedPage& page);

}  // namespace vtrain
