#include "tools/report/varied_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/io/csv.hpp"
#include "tools/format/text_format.hpp"
#include "tools/report/page.hpp"
#include "tools/report/seed_cells.hpp"
#include "tools/report/seed_strip.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

SeedComparison seeds_of(const VariedComparison& comparison, const VariedStudy& varied) {
  return {&varied.study, comparison.baseline, comparison.metrics};
}

/// `placement count, load 0.9`.
std::string label_of(const VariedComparison& comparison, const VariedStudy& varied) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < varied.values.size(); ++i)
    parts.push_back(fmt::format("{} {}", comparison.options[i], varied.values[i]));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// True if the best policy is better than the next by more than the noise, or by anything with one seed.
bool leads(const SeedStudy& study, const Metric& metric, std::span<const std::size_t> ranked) {
  const Estimate lead = study.difference(metric, ranked[0], ranked[1]);
  return std::isfinite(lead.half_width) ? lead.is_clear() : lead.mean != 0;
}

}  // namespace

BestPolicies::BestPolicies(std::vector<std::string> policies)
    : policies_(std::move(policies)), wins_(policies_.size()) {}

void BestPolicies::add(const SeedStudy& study) {
  const Metric& metric = main_metric(study);
  if (metric_ == nullptr) metric_ = &metric;
  ++all_;
  const std::vector<std::size_t> ranked = ranked_policies(study, metric);
  if (ranked.empty()) {
    ++empty_;
    return;
  }
  const bool is_clear = ranked.size() == 1 || leads(study, metric, ranked);
  ++(is_clear ? wins_[ranked.front()] : undecided_);
}

std::string BestPolicies::to_string() const {
  std::vector<std::string> parts;
  for (std::size_t policy = 0; policy < policies_.size(); ++policy) {
    if (wins_[policy] > 0)
      parts.push_back(fmt::format("{} is {}best in {}", policies_[policy],
                                  policies_.size() > 1 ? "clearly " : "", with_thousands(wins_[policy])));
  }
  if (undecided_ > 0)
    parts.push_back(fmt::format("no policy is clearly best in {}", with_thousands(undecided_)));
  if (empty_ > 0) parts.push_back(fmt::format("no policy completed a job in {}", with_thousands(empty_)));
  return fmt::format("Of {}, {}. Best is judged by {}.", count_of(all_, "combination"),
                     fmt::join(parts, ", "), lower_case(metric_->title));
}

std::string varied_summary(const VariedComparison& comparison) {
  BestPolicies best(comparison.studies.front().study.policies);
  for (const VariedStudy& varied : comparison.studies)
    best.add(varied.study);
  return best.to_string();
}

std::vector<const Metric*> shown_anywhere(const VariedComparison& comparison, bool on_page) {
  if (!comparison.metrics.empty()) return comparison.metrics;
  std::vector<const Metric*> shown;
  for (const VariedStudy& varied : comparison.studies) {
    for (const Metric* const metric : shown_metrics(varied.study, on_page)) {
      if (std::ranges::find(shown, metric) == shown.end()) shown.push_back(metric);
    }
  }
  std::ranges::sort(shown);  // they are parts of one table
  return shown;
}

std::vector<std::string> row_titles(const VariedComparison& comparison, VariedTable table) {
  std::vector<std::string> titles = comparison.options;
  titles.emplace_back("policy");
  if (table == VariedTable::Differences) titles.emplace_back("against");
  return titles;
}

std::vector<std::vector<std::string>> varied_rows(const VariedComparison& comparison,
                                                  const VariedStudy& varied,
                                                  std::span<const Metric* const> metrics, VariedTable table) {
  const bool of_differences = table == VariedTable::Differences;
  const std::size_t from = of_differences ? compared_with(seeds_of(comparison, varied)) : 0;
  std::vector<std::vector<std::string>> rows =
      table_rows(varied.study, metrics, of_differences ? std::optional(from) : std::nullopt);
  for (std::vector<std::string>& row : rows) {
    if (of_differences) row.insert(row.begin() + 1, varied.study.policies[from]);
    row.insert(row.begin(), varied.values.begin(), varied.values.end());
  }
  return rows;
}

namespace {

/// Rows of all combinations. Values are named in the first row of each.
std::vector<std::vector<std::string>> long_rows(const VariedComparison& comparison,
                                                std::span<const Metric* const> metrics, VariedTable table) {
  std::vector<std::vector<std::string>> all;
  for (const VariedStudy& varied : comparison.studies) {
    bool is_first = true;
    for (std::vector<std::string>& row : varied_rows(comparison, varied, metrics, table)) {
      if (!is_first) std::fill_n(row.begin(), varied.values.size(), "");
      is_first = false;
      all.push_back(std::move(row));
    }
  }
  return all;
}

/// The note on values over fewer completed jobs, if a combination has any; else empty.
std::string_view fewer_jobs_anywhere(const VariedComparison& comparison,
                                     std::span<const Metric* const> metrics) {
  for (const VariedStudy& varied : comparison.studies) {
    if (const std::string_view fewer = fewer_jobs_note(varied.study, metrics); !fewer.empty()) return fewer;
  }
  return {};
}

/// The long table for a terminal with some of the metrics that `rows` have.
TextTable long_table(const VariedComparison& comparison, std::span<const Metric* const> metrics,
                     const std::vector<std::vector<std::string>>& rows,
                     std::span<const Metric* const> metrics_of_rows) {
  std::vector<std::string> header = row_titles(comparison, VariedTable::Means);
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < header.size(); ++i)
    columns.push_back(i);
  for (const Metric* const metric : metrics) {
    const auto position = std::ranges::find(metrics_of_rows, metric) - metrics_of_rows.begin();
    columns.push_back(comparison.options.size() + 1 + static_cast<std::size_t>(position));
    header.push_back(title_with_room(*metric));
  }
  TextTable table(std::move(header));
  for (const std::vector<std::string>& row : rows) {
    std::vector<std::string> cells;
    for (const std::size_t column : columns)
      cells.push_back(row[column]);
    table.add_row(std::move(cells));
  }
  return table;
}

std::string html_of(const VariedComparison& comparison, std::span<const Metric* const> metrics,
                    VariedTable table) {
  using report::escape_html;
  std::string html = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n<table>\n<thead><tr>",
      table == VariedTable::Means ? "All combinations" : "Differences");
  for (const std::string& option : comparison.options)
    html += fmt::format("<th scope=\"col\">{}</th>", escape_html(option));
  html += "<th scope=\"col\">Policy</th>";
  if (table == VariedTable::Differences) html += "<th scope=\"col\">Against</th>";
  for (const Metric* const metric : metrics)
    html += fmt::format("<th scope=\"col\" title=\"{}\">{}</th>", escape_html(metric->meaning),
                        escape_html(column_title(*metric)));
  html += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : long_rows(comparison, metrics, table)) {
    html += "<tr>";
    for (const std::string& cell : row)
      html += fmt::format("<td>{}</td>", report::with_whole_quantities(escape_html(cell)));
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table>\n</div>\n";
}

}  // namespace

std::string varied_answers(const VariedComparison& comparison) {
  std::string text;
  for (const VariedStudy& varied : comparison.studies) {
    text += wrap_text(fmt::format("{}: {}", label_of(comparison, varied),
                                  seed_answer(seeds_of(comparison, varied))),
                      text_columns(), 2) +
            "\n";
  }
  return text;
}

std::string varied_table_text(const VariedComparison& comparison) {
  const std::vector<const Metric*> all = shown_anywhere(comparison, false);
  const std::vector<std::vector<std::string>> rows = long_rows(comparison, all, VariedTable::Means);
  std::vector<const Metric*> metrics = all;
  const auto table = [&] { return long_table(comparison, metrics, rows, all); };
  if (comparison.metrics.empty()) drop_columns(metrics, [&] { return table().width() > text_columns(); });
  std::string text = table().to_string();
  const SeedStudy& first = comparison.studies.front().study;
  if (first.seeds.size() > 1) text += interval_note(first) + "\n";
  if (const std::string_view fewer = fewer_jobs_anywhere(comparison, metrics); !fewer.empty())
    text += std::string(fewer) + "\n";
  return text;
}

ordered_json varied_to_json(const VariedComparison& comparison) {
  ordered_json list = ordered_json::array();
  for (const VariedStudy& varied : comparison.studies) {
    ordered_json values = ordered_json::object();
    for (std::size_t i = 0; i < varied.values.size(); ++i)
      values[comparison.options[i]] = varied.values[i];
    list.push_back({{"values", std::move(values)}, {"seeds", seeds_to_json(seeds_of(comparison, varied))}});
  }
  return list;
}

std::string varied_to_csv(const VariedComparison& comparison) {
  std::string text;
  for (const VariedStudy& varied : comparison.studies) {
    std::string values;
    for (const std::string& value : varied.values) {
      append_csv_field(values, value);
      values += ',';
    }
    bool is_header = true;
    const std::string rows = seeds_to_csv(varied.study);
    for (const std::string_view line : split(std::string_view(rows).substr(0, rows.size() - 1), '\n')) {
      if (is_header && text.empty()) text += fmt::format("{},{}\n", fmt::join(comparison.options, ","), line);
      if (!is_header) text += fmt::format("{}{}\n", values, line);
      is_header = false;
    }
  }
  return text;
}

std::string varied_section_html(const VariedComparison& comparison, const TableQueries& queries) {
  using namespace report;
  const SeedStudy& first = comparison.studies.front().study;
  const std::size_t step = point_step(first, comparison.studies.size());
  std::string html = "<ul>\n";
  for (const VariedStudy& varied : comparison.studies)
    html += fmt::format("<li>{}: {}</li>\n", escape_html(label_of(comparison, varied)),
                        with_whole_quantities(escape_html(seed_answer(seeds_of(comparison, varied)))));
  html += "</ul>\n";
  for (const std::string_view key : kMainMetrics) {
    const Metric& metric = metric_named(key);
    StripRange range;
    for (const VariedStudy& varied : comparison.studies)
      range.include(varied.study, metric);
    std::string strips;
    for (const VariedStudy& varied : comparison.studies) {
      const std::string strip = strip_svg(varied.study, metric, range, step);
      if (!strip.empty())
        strips += fmt::format("<figure><figcaption>{}</figcaption>\n{}</figure>\n",
                              escape_html(label_of(comparison, varied)), strip);
    }
    if (!strips.empty())
      html +=
          fmt::format("<h2>{}</h2>\n<div class=\"strips\">\n{}</div>\n", escape_html(metric.title), strips);
  }
  html += fmt::format("<p class=\"note\">{}; below it the {}.</p>\n", points_note(step),
                      escape_html(interval_note(first)));
  const std::vector<const Metric*> metrics = shown_anywhere(comparison, true);
  html += html_of(comparison, metrics, VariedTable::Means);
  const std::string_view fewer = fewer_jobs_anywhere(comparison, metrics);
  if (!fewer.empty()) html += fmt::format("<p class=\"note\">{}</p>\n", fewer);
  html += query_html(queries.means);
  if (queries.differences.empty()) return html;
  return html + html_of(comparison, metrics, VariedTable::Differences) +
         fmt::format("<p class=\"note\">{}</p>\n", difference_note(first)) + query_html(queries.differences);
}

std::string varied_report(const VariedComparison& comparison, const VariedPage& page) {
  return report::render_page(
      {.title = fmt::format("{} by {}", page.trace_name, fmt::join(comparison.options, ", ")),
       .eyebrow = page.trace_name,
       .answer = varied_summary(comparison),
       .facts = page.facts,
       .summary_html = varied_section_html(comparison),
       .assumptions = page.assumptions,
       .provenance = page.provenance},
      nlohmann::json::object());
}

}  // namespace vtrain
