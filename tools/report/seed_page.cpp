#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/report/page.hpp"
#include "tools/report/seed_cells.hpp"
#include "tools/report/seed_strip.hpp"
#include "tools/report/seed_tables.hpp"
#include "tools/report/summary.hpp"

namespace vtrain::report {
namespace {

std::string html_table(const SeedStudy& study, std::span<const Metric* const> metrics,
                       std::optional<std::size_t> from) {
  std::string html = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0} over seeds\">\n<table>\n"
      "<thead><tr><th scope=\"col\">{1}</th>",
      from ? "Differences" : "Means", from ? escape_html("against " + study.policies[*from]) : "Policy");
  for (const Metric* const metric : metrics) {
    html += fmt::format("<th scope=\"col\" title=\"{}\">{}</th>", escape_html(metric->meaning),
                        escape_html(column_title(*metric)));
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : table_rows(study, metrics, from)) {
    const auto policy =
        static_cast<std::size_t>(std::ranges::find(study.policies, row.front()) - study.policies.begin());
    html += fmt::format("<tr><th scope=\"row\">{} <span>{}</span></th>", line_key(policy),
                        escape_html(row.front()));
    for (const std::string& cell : std::span(row).subspan(1))
      html += fmt::format("<td>{}</td>", with_whole_quantities(escape_html(cell)));
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table>\n</div>\n";
}

}  // namespace

std::string seed_section_html(const SeedComparison& comparison, const TableQueries& queries) {
  const SeedStudy& study = *comparison.study;
  const std::vector<const Metric*> metrics =
      comparison.metrics.empty() ? shown_metrics(study, true) : comparison.metrics;
  const std::string note = interval_note(study);
  const std::size_t step = point_step(study, 1);
  std::string html =
      fmt::format("<h2>Over {}</h2>\n<div class=\"strips\">\n", escape_html(seeds_label(study)));
  for (const std::string_view key : kMainMetrics) {
    const Metric& metric = metric_named(key);
    StripRange range;
    range.include(study, metric);
    const std::string strip = strip_svg(study, metric, range, step);
    if (!strip.empty())
      html +=
          fmt::format("<figure><figcaption>{}</figcaption>\n{}</figure>\n", escape_html(metric.title), strip);
  }
  html += fmt::format("</div>\n<p class=\"note\">{}; below it the {}.</p>\n", points_note(step),
                      escape_html(note));
  html += html_table(study, metrics, std::nullopt) + query_html(queries.means);
  if (study.policies.size() > 1) {
    html += html_table(study, metrics, compared_with(comparison)) + query_html(queries.differences);
    html += fmt::format("<p class=\"note\">{}. {}</p>\n", difference_note(study),
                        fewer_jobs_note(study, metrics));
  }
  return html;
}

}  // namespace vtrain::report
