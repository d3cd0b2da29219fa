/// The smallest clusters that meet a goal: the answer, tables for the terminal and the page, JSON, CSV.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tools/experiment/sizing.hpp"

namespace vtrain {

/// The answer in a sentence or two: the nodes that each policy needs, and curves that are not monotone.
std::string size_answer(const SizeStudy& study);

/// The sizes around each answer with their values, for a terminal.
std::string size_table_text(const SizeStudy& study);

/// The answers and all sizes that were tried, with the values by seed. Intervals that do not exist are null.
nlohmann::ordered_json size_to_json(const SizeStudy& study);

/// A row for each cluster, seed and policy with all metrics, as CSV.
std::string size_replays_to_csv(const SizeStudy& study);
/// A row for each policy and size with the measure, as CSV.
std::string size_curves_to_csv(const SizeStudy& study);

/// Texts of the page beside the study. They may hold any bytes.
struct SizePage {
  std::string trace_name{};                                       ///< name of the trace
  std::string facts{};                                            ///< lines on jobs, clusters and seeds
  std::vector<std::string> assumptions{};                         ///< sentences on what was assumed
  std::vector<std::pair<std::string, std::string>> provenance{};  ///< labels with values
};

/// The page: the answer, a picture of the curves, and the tables.
std::string size_report(const SizeStudy& study, const SizePage& page);

}  // namespace vtrain
