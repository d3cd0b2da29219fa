#include "tools/report/validation_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <string_view>

#include "core/base/numbers.hpp"
#include "tools/format/text_format.hpp"
#include "tools/format/trace_description.hpp"
#include "tools/report/page.hpp"
#include "tools/report/summary.hpp"

namespace vtrain {
namespace {

constexpr std::size_t kMostGroups = 10;

/// Header and rows of a table, for terminal and page.
struct Cells {
  std::vector<std::string> header{};
  std::vector<std::vector<std::string>> rows{};
};

std::string ranks_text(const WaitErrors& errors) {
  return errors.rank_correlation ? fmt::format("{:.2f}", *errors.rank_correlation) : "-";
}

/// A factor rounded up, so that it is never called smaller than it is: `1.27`.
std::string factor_text(double factor) {
  if (std::isnan(factor)) return "1";
  if (std::isinf(factor)) return "without bound";
  return fmt::format("{:.2f}", std::ceil(100 * factor - 1e-9) / 100);
}

/// A difference with its sign: `−1 m 40 s`.
std::string signed_duration(double seconds) {
  if (seconds < 0) return "\u2212" + as_duration(-seconds);
  return (seconds > 0 ? "+" : "") + as_duration(seconds);
}

/// The sentence on the mean waits.
std::string means_text(const PolicyValidation& policy) {
  const WaitErrors& errors = policy.errors;
  const bool is_off = policy.verdict != Verdict::NoWaits && errors.factor_of_means() > kCloseFactor;
  const std::string_view how = !is_off                                            ? "M"
                               : errors.mean_wait_s < errors.recorded_mean_wait_s ? "Too hopeful: m"
                                                                                  : "Too gloomy: m";
  return fmt::format("{}ean wait {}, recorded {}.", how, as_duration(errors.mean_wait_s),
                     as_duration(errors.recorded_mean_wait_s));
}

/// The sentence on what follows from the verdict.
std::string verdict_text(const PolicyValidation& policy) {
  const WaitErrors& errors = policy.errors;
  switch (policy.verdict) {
    case Verdict::Close:
      return fmt::format(
          "Close to the recorded scheduler: believe differences between mean waits above a factor of {}.",
          kCloseFactor);
    case Verdict::Rough:
      return fmt::format(
          "Roughly the recorded scheduler: believe differences between mean waits only above a factor of {}, "
          "and none of single jobs (rank correlation {}).",
          kRoughFactor, ranks_text(errors));
    case Verdict::Far:
      return fmt::format(
          "Far from the recorded scheduler (factor {} between the mean waits, rank correlation {}): a "
          "comparison of waits tells little about that cluster.",
          factor_text(errors.factor_of_means()), ranks_text(errors));
    case Verdict::NoWaits:
      return "Waits are below 1 % of the run times, in the log and here: they cannot tell whether the policy "
             "behaves like the recorded scheduler.";
    case Verdict::FewJobs:
      break;
  }
  return fmt::format("{} {} too few to judge it by.", count_of(errors.compared, "job"),
                     errors.compared == 1 ? "is" : "are");
}

/// `1 cancelled while waiting, 2 rejected in the simulation`; empty if all jobs are compared.
std::string reasons_text(const WaitErrors& errors) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < kNumLeftOut; ++i) {
    if (errors.left_out[i] > 0)
      parts.push_back(fmt::format("{} {}", with_thousands(errors.left_out[i]), kLeftOut[i].text));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Figures of waits that both tables have.
std::vector<std::string> wait_cells(const WaitErrors& errors) {
  return {with_thousands(errors.compared),
          as_duration(errors.median_error_s),
          as_duration(errors.p90_error_s),
          std::isnan(errors.median_difference_s) ? "-" : signed_duration(errors.median_difference_s),
          ranks_text(errors),
          as_duration(errors.mean_wait_s),
          as_duration(errors.recorded_mean_wait_s)};
}

/// Titles of these figures.
constexpr std::array<std::string_view, 7> kWaitTitles = {
    "jobs",      "median\nerror", "p90\nerror", "median\ndifference", "rank cor-\nrelation",
    "mean wait", "recorded"};

Cells policy_cells(const ScheduleValidation& validation) {
  Cells cells{{"policy"}};
  cells.header.insert(cells.header.end(), kWaitTitles.begin(), kWaitTitles.end());
  cells.header.insert(cells.header.end(), {"in use,\noff by", "verdict"});
  for (const PolicyValidation& policy : validation.policies) {
    std::vector<std::string> row = {policy.policy};
    for (std::string& cell : wait_cells(policy.errors))
      row.push_back(std::move(cell));
    row.push_back(as_percent(policy.mean_use_difference));
    row.emplace_back(name_of(policy.verdict));
    cells.rows.push_back(std::move(row));
  }
  return cells;
}

/// Places of the groups in the order of the rows: most jobs first, sizes ascending.
std::vector<std::size_t> order_of(const ScheduleValidation& validation) {
  const std::vector<GroupWaits>& groups = validation.policies.front().groups;
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (validation.grouping != JobGrouping::Size)
    std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t i) { return groups[i].errors.jobs; });
  return order;
}

/// Groups that the table leaves out.
std::size_t num_hidden(const ScheduleValidation& validation) {
  const std::size_t count = validation.policies.front().groups.size();
  return validation.grouping == JobGrouping::Size || count <= kMostGroups ? 0 : count - kMostGroups;
}

Cells group_cells(const ScheduleValidation& validation) {
  const std::string grouping(name_of(validation.grouping));
  Cells cells{{grouping, "policy"}};
  cells.header.insert(cells.header.end(), kWaitTitles.begin(), kWaitTitles.end());
  std::vector<std::size_t> order = order_of(validation);
  order.resize(order.size() - num_hidden(validation));
  for (const std::size_t group : order) {
    for (const PolicyValidation& policy : validation.policies) {
      const GroupWaits& waits = policy.groups[group];
      const bool is_first = &policy == &validation.policies.front();
      std::vector<std::string> row = {!is_first            ? ""
                                      : waits.name.empty() ? "no " + grouping
                                                           : waits.name,
                                      policy.policy};
      for (std::string& cell : wait_cells(waits.errors))
        row.push_back(std::move(cell));
      cells.rows.push_back(std::move(row));
    }
  }
  return cells;
}

/// The sentence on groups that the table leaves out; empty for none.
std::string hidden_text(const ScheduleValidation& validation) {
  const auto hidden = static_cast<std::int64_t>(num_hidden(validation));
  if (hidden == 0) return {};
  return fmt::format("{} with fewer jobs: see --json",
                     count_of(hidden, fmt::format("other {}", name_of(validation.grouping))));
}

/// The table for a terminal; the first `num_names` columns are flush left.
std::string text_of(Cells cells, std::size_t num_names) {
  for (std::size_t column = 1; column < num_names; ++column) {
    std::size_t width = display_width(cells.header[column]);
    for (const std::vector<std::string>& row : cells.rows)
      width = std::max(width, display_width(row[column]));
    const auto pad = [&](std::string& cell) { cell += std::string(width - display_width(cell), ' '); };
    pad(cells.header[column]);
    for (std::vector<std::string>& row : cells.rows)
      pad(row[column]);
  }
  TextTable table(std::move(cells.header));
  for (std::vector<std::string>& row : cells.rows)
    table.add_row(std::move(row));
  return table.to_string();
}

/// The titles in words, below the table.
std::string legend() {
  return "difference: simulated minus recorded wait of a job; error: without its sign; in use, off by: mean "
         "difference of the share of GPUs in use, over time";
}

}  // namespace

std::string validation_answer(const ScheduleValidation& validation) {
  const PolicyValidation& policy = validation.nearest();
  const WaitErrors& errors = policy.errors;
  if (errors.compared == 0) return "No job has a recorded start and starts in the simulation, too.";
  const std::string starts =
      errors.p90_error_s > 0
          ? fmt::format(
                "starts half of the jobs within {} of their recorded starts; one in ten is off by {} or "
                "more",
                as_duration(errors.median_error_s), as_duration(errors.p90_error_s))
          : "starts nine in ten jobs at their recorded starts";
  return fmt::format("{} {}. {} {}", policy.policy, starts, means_text(policy), verdict_text(policy));
}

std::string left_out_lines(const ScheduleValidation& validation) {
  const WaitErrors& first = validation.policies.front().errors;
  const auto line = [](const WaitErrors& errors) {
    return fmt::format("{} of {}: {}", with_thousands(errors.jobs - errors.compared),
                       count_of(errors.jobs, "job"), reasons_text(errors));
  };
  const bool are_equal = std::ranges::all_of(validation.policies, [&](const PolicyValidation& policy) {
    return policy.errors.left_out == first.left_out;
  });
  std::vector<std::string> parts;
  for (const PolicyValidation& policy : validation.policies) {
    if (policy.errors.compared == policy.errors.jobs) continue;
    parts.push_back(are_equal ? line(policy.errors)
                              : fmt::format("{}: {}", policy.policy, line(policy.errors)));
    if (are_equal) break;
  }
  return labelled_lines("left out", parts);
}

std::string validation_table_text(const ScheduleValidation& validation) {
  std::string text = text_of(policy_cells(validation), 1) + wrap_text(legend(), text_columns()) + "\n\n" +
                     text_of(group_cells(validation), 2);
  const std::string hidden = hidden_text(validation);
  return hidden.empty() ? text : text + hidden + "\n";
}

namespace {

/// Geometry of a picture, in its units.
constexpr double kUseWidth = 560;
constexpr double kUseHeight = 220;
constexpr double kUseLeft = 56;
constexpr double kUseRight = 12;
constexpr double kUseTop = 12;
constexpr double kUseBottom = 28;
/// Points of a line at most; longer series are shown by means over several intervals.
constexpr std::size_t kMostPoints = 280;

/// Means over groups of intervals, at most `kMostPoints`.
std::vector<double> reduced(const std::vector<double>& shares) {
  const std::size_t per_point = (shares.size() + kMostPoints - 1) / kMostPoints;
  std::vector<double> means;
  for (std::size_t i = 0; i < shares.size(); i += per_point) {
    const auto part = std::span(shares).subspan(i, std::min(per_point, shares.size() - i));
    means.push_back(std::accumulate(part.begin(), part.end(), 0.0) / static_cast<double>(part.size()));
  }
  return means;
}

/// Recorded and simulated use over time under one policy.
std::string use_svg(const ScheduleValidation& validation, std::size_t index) {
  const PolicyValidation& policy = validation.policies[index];
  const std::vector<double> recorded = reduced(validation.recorded.shares);
  const std::vector<double> simulated = reduced(policy.use.shares);
  if (recorded.empty()) return {};
  double high = 1;
  for (const PolicyValidation& other : validation.policies)
    high = std::max(high, std::ranges::max(reduced(other.use.shares)));
  high = std::max(high, std::ranges::max(recorded));
  const auto x_of = [&](std::size_t point) {
    return kUseLeft + (kUseWidth - kUseLeft - kUseRight) * static_cast<double>(point) /
                          static_cast<double>(recorded.size());
  };
  const auto y_of = [&](double share) {
    return kUseHeight - kUseBottom - (kUseHeight - kUseTop - kUseBottom) * share / high;
  };
  std::string svg = fmt::format(
      "<svg class=\"strip\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"GPUs in use over time, "
      "recorded and under {}\">\n",
      kUseWidth, kUseHeight, report::escape_html(policy.policy));
  const auto label = [&](double x, double y, std::string_view anchor, const std::string& text) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                       report::escape_html(text));
  };
  for (const double share : {0.0, 1.0}) {
    label(kUseLeft - 6, y_of(share) + 4, "end", fmt::format("{:.0f} %", 100 * share));
    svg += fmt::format("<line class=\"leader\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
                       kUseLeft, y_of(share), kUseWidth - kUseRight, y_of(share));
  }
  label(kUseLeft, kUseHeight - 8, "start", "0 s");
  label(kUseWidth - kUseRight, kUseHeight - 8, "end",
        as_duration(to_seconds(validation.intervals.end - validation.intervals.begin)));
  const auto line = [&](const std::vector<double>& shares, std::string_view look) {
    std::string points;
    for (std::size_t i = 0; i < shares.size(); ++i)
      points += fmt::format("{}{:.1f},{:.1f} {:.1f},{:.1f}", points.empty() ? "" : " ", x_of(i),
                            y_of(shares[i]), x_of(i + 1), y_of(shares[i]));
    svg += fmt::format("<polyline fill=\"none\" {} points=\"{}\"/>\n", look, points);
  };
  line(recorded, "stroke=\"currentColor\" stroke-width=\"1\" stroke-dasharray=\"3 2\"");
  line(simulated, fmt::format("stroke=\"var(--series-{})\" stroke-width=\"1.5\"", index % 7));
  return svg + "</svg>\n";
}

std::string table_html(const Cells& cells, std::string_view label, bool has_keys) {
  std::string html = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n<table>\n<thead><tr>", label);
  for (std::string title : cells.header) {
    if (const std::size_t hyphen = title.find("-\n"); hyphen != std::string::npos) title.erase(hyphen, 2);
    std::ranges::replace(title, '\n', ' ');
    html += fmt::format("<th scope=\"col\">{}</th>", report::escape_html(title));
  }
  html += "</tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < cells.rows.size(); ++i) {
    const std::vector<std::string>& row = cells.rows[i];
    html += fmt::format("<tr><th scope=\"row\">{}<span>{}</span></th>",
                        has_keys ? report::line_key(i) + " " : "", report::escape_html(row.front()));
    for (const std::string& cell : std::span(row).subspan(1))
      html += fmt::format("<td>{}</td>", report::with_whole_quantities(report::escape_html(cell)));
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table>\n</div>\n";
}

}  // namespace

std::string validation_report(const ScheduleValidation& validation, const ValidationPage& page) {
  std::string html = table_html(policy_cells(validation), "Policies", true) +
                     fmt::format("<p class=\"note\">{}.</p>\n", report::escape_html(legend())) +
                     "<h2>GPUs in use</h2>\n<div class=\"strips\">\n";
  for (std::size_t i = 0; i < validation.policies.size(); ++i) {
    const std::string picture = use_svg(validation, i);
    if (picture.empty()) continue;
    html += fmt::format("<figure><figcaption>{}</figcaption>\n{}</figure>\n",
                        report::escape_html(validation.policies[i].policy), picture);
  }
  html += fmt::format(
      "</div>\n<p class=\"note\">Share of the GPUs that jobs hold, from the first submission to the last; "
      "dashed: as recorded.</p>\n<h2>By {}</h2>\n{}",
      name_of(validation.grouping), table_html(group_cells(validation), "Groups", false));
  if (const std::string hidden = hidden_text(validation); !hidden.empty())
    html += fmt::format("<p class=\"note\">{}</p>\n", report::escape_html(hidden));
  return report::render_page(
      {.title = fmt::format("{}: simulated waits against recorded ones", page.trace_name),
       .eyebrow = page.trace_name,
       .answer = validation_answer(validation),
       .facts = page.facts,
       .summary_html = html,
       .assumptions = page.assumptions,
       .provenance = page.provenance},
      nlohmann::json::object());
}

}  // namespace vtrain
