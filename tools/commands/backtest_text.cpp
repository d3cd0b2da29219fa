#include "tools/commands/backtest_text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "core/base/numbers.hpp"
#include "tools/format/text_format.hpp"
#include "tools/format/trace_description.hpp"
#include "tools/live/eta_report.hpp"

namespace vtrain {

using nlohmann::ordered_json;

std::string backtest_text(const Backtest& test, const BacktestOptions& options) {
  const BacktestRow& ours = test.rows.front();
  const auto percent = [](const std::optional<double>& part) {
    return part ? as_percent(*part) : std::string("-");
  };
  const std::int64_t waited = test.submissions - test.at_once;
  const std::string text = fmt::format(
      "Of {}, {} waited for more than a minute; {} of these started by the time that {} gave for nine in ten "
      "(p90), {} by p50.",
      count_of(test.submissions, "submission"), with_thousands(waited), percent(ours.waited_within_p90),
      name_of_policy(options.policy), percent(ours.waited_within_p50));
  TextTable table({"estimate", "median\nerror", "of those\nthat waited", "p90\nerror", "mean\nbias",
                   "start by p50,\nif they waited", "start by p90,\nif they waited"});
  for (const BacktestRow& row : test.rows) {
    table.add_row(
        {row.method, as_duration(row.median_error_s),
         row.waited_median_error_s ? as_duration(*row.waited_median_error_s) : "-",
         as_duration(row.p90_error_s),
         fmt::format("{}{}", row.mean_bias_s < 0 ? "-" : "+", as_duration(std::abs(row.mean_bias_s))),
         percent(row.waited_within_p50), percent(row.waited_within_p90)});
  }
  std::vector<std::string> notes = {fmt::format("{} started within a minute", count_of(test.at_once, "job"))};
  if (test.impossible > 0)
    notes.push_back(
        fmt::format("{} left out, as jobs held more than there is", count_of(test.impossible, "submission")));
  if (test.without_start > 0)
    notes.push_back(fmt::format("{} of the log without a start", count_of(test.without_start, "job")));
  return fmt::format("{}\n\n{}\n{}bias: above 0 if estimates are too late\n", wrap_text(text, text_columns()),
                     labelled_lines("log", notes), table.to_string());
}

ordered_json backtest_json(const Backtest& test, const BacktestOptions& options) {
  ordered_json rows = ordered_json::array();
  for (const BacktestRow& row : test.rows) {
    const auto share = [](const std::optional<double>& part) {
      return part ? ordered_json(*part) : ordered_json();
    };
    rows.push_back({{"method", row.method},
                    {"estimates", row.estimates},
                    {"median_error_s", row.median_error_s},
                    {"p90_error_s", row.p90_error_s},
                    {"mean_bias_s", row.mean_bias_s},
                    {"within_p50", share(row.within_p50)},
                    {"within_p90", share(row.within_p90)},
                    {"waited_median_error_s", share(row.waited_median_error_s)},
                    {"waited_within_p50", share(row.waited_within_p50)},
                    {"waited_within_p90", share(row.waited_within_p90)}});
  }
  return {
      {"policy", options.policy},      {"submissions", test.submissions},     {"at_once", test.at_once},
      {"impossible", test.impossible}, {"without_start", test.without_start}, {"samples", options.samples},
      {"seed", options.seed},          {"methods", std::move(rows)}};
}

}  // namespace vtrain
