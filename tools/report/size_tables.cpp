#include "tools/report/size_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/io/csv.hpp"
#include "tools/format/text_format.hpp"
#include "tools/report/page.hpp"
#include "tools/report/seed_cells.hpp"
#include "tools/report/seed_tables.hpp"
#include "tools/report/summary.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

/// Sizes on each side of an answer that the terminal shows.
constexpr std::int64_t kShownBeside = 2;

Metric metric_of(const SizeGoal& goal) {
  return {.title = goal.measure->title, .unit = goal.measure->unit};
}

std::string value_text(const SizeStudy& study, const Estimate& value) {
  if (std::isinf(value.mean)) return "never";
  return estimate_text(metric_of(study.goal), value, false);
}

/// `95 %`, `1 h 00 m`.
std::string bound_text(const SizeGoal& goal) {
  if (goal.measure->unit != MetricUnit::Share) return as_duration(goal.bound);
  return fmt::format("{} %", short_number(100 * goal.bound));
}

/// `95 % of the deadlines`, `a p95 wait of 1 h 00 m`.
std::string goal_text(const SizeGoal& goal) {
  const std::string bound = bound_text(goal);
  if (goal.measure->key == "deadlines") return bound + " of the deadlines";
  if (goal.measure->unit == MetricUnit::Share) return bound + " of the deadlines by GPU-hours";
  return fmt::format("a {} of at most {}", goal.measure->title, bound);
}

const SizePoint& answer_point(const SizeCurve& curve) {
  return curve.points.at(*curve.nodes);
}

/// `20 nodes`, with the other groups of a mix: `20 nodes + 8 x 8 A100`.
std::string nodes_text(const SizeStudy& study, const SizeCurve& curve) {
  const std::string& beside = study.mixes[curve.mix];
  return with_thousands(*curve.nodes) + (beside.empty() ? "" : " + " + beside);
}

std::string worse_text(const SizeStudy& study, const SizeCurve& curve, const SizeStep& step) {
  return step.misses_goal ? fmt::format("Under {} {} nodes meet the goal, but {} do not.",
                                        study.policies[curve.policy], step.smaller, step.larger)
                          : fmt::format("Under {} {} nodes are clearly worse than {}.",
                                        study.policies[curve.policy], step.larger, step.smaller);
}

/// Rows of the table: policy, other groups, nodes, GPUs, value, price, and how the size compares.
struct SizeRow {
  const SizeCurve* curve;
  std::int64_t nodes;
  const SizePoint* point;
};

std::vector<SizeRow> rows_of(const SizeStudy& study, bool all) {
  std::vector<SizeRow> rows;
  for (std::size_t policy = 0; policy < study.policies.size(); ++policy) {
    for (const SizeCurve& curve : study.curves) {
      if (curve.policy != policy) continue;
      const auto center = curve.nodes ? curve.nodes : curve.nodes_by_mean;
      for (const auto& [nodes, point] : curve.points) {
        const bool is_mean = curve.nodes_by_mean == nodes;
        if (all || !center || is_mean || std::abs(nodes - *center) <= kShownBeside)
          rows.push_back({&curve, nodes, &point});
      }
    }
  }
  return rows;
}

std::string mark_of(const SizeRow& row) {
  if (row.curve->nodes == row.nodes) return "answer";
  if (row.curve->nodes_by_mean == row.nodes) return "by the mean";
  return row.point->meets ? "meets" : row.point->mean_meets ? "mean meets" : "misses";
}

bool has_prices(const SizeStudy& study) {
  return std::ranges::any_of(rows_of(study, true),
                             [](const SizeRow& row) { return row.point->price.has_value(); });
}

bool has_mixes(const SizeStudy& study) {
  return study.mixes.size() > 1 || !study.mixes.front().empty();
}

std::vector<std::string> header_of(const SizeStudy& study) {
  std::vector<std::string> header = {"policy", "nodes"};
  if (has_mixes(study)) header.emplace_back("beside");
  header.emplace_back("GPUs");
  header.emplace_back(study.goal.measure->title);
  if (has_prices(study)) header.emplace_back("$/h");
  header.emplace_back("goal");
  return header;
}

std::vector<std::string> cells_of(const SizeStudy& study, const SizeRow& row, bool names_policy) {
  std::vector<std::string> cells = {names_policy ? study.policies[row.curve->policy] : "",
                                    with_thousands(row.nodes)};
  if (has_mixes(study)) cells.push_back(study.mixes[row.curve->mix]);
  cells.push_back(with_thousands(row.point->gpus));
  cells.push_back(value_text(study, row.point->estimate));
  if (has_prices(study))
    cells.push_back(row.point->price ? as_dollars(*row.point->price).substr(1) : std::string("-"));
  cells.push_back(mark_of(row));
  return cells;
}

ordered_json point_to_json(std::int64_t nodes, const SizePoint& point) {
  ordered_json values = ordered_json::array();
  for (const double value : point.values)
    values.push_back(finite_or_null(value));
  return {{"nodes", nodes},
          {"cluster", point.cluster},
          {"num_gpus", point.gpus},
          {"mean", finite_or_null(point.estimate.mean)},
          {"low", finite_or_null(point.estimate.mean - point.estimate.half_width)},
          {"high", finite_or_null(point.estimate.mean + point.estimate.half_width)},
          {"meets", point.meets},
          {"mean_meets", point.mean_meets},
          {"dollars_per_hour", point.price ? ordered_json(*point.price) : ordered_json()},
          {"values", std::move(values)}};
}

}  // namespace

std::string size_answer(const SizeStudy& study) {
  struct Answer {
    std::size_t policy;
    const SizeCurve* curve;
  };
  std::vector<Answer> answers;
  std::vector<std::string> without;
  for (std::size_t policy = 0; policy < study.policies.size(); ++policy) {
    if (const SizeCurve* const best = study.best_of(policy))
      answers.push_back({policy, best});
    else
      without.push_back(study.policies[policy]);
  }
  std::ranges::stable_sort(answers, {}, [](const Answer& answer) {
    const SizePoint& point = answer_point(*answer.curve);
    return std::pair(point.price.value_or(0), point.gpus);
  });
  std::vector<std::string> parts;
  for (const auto& [policy, curve] : answers) {
    const SizePoint& point = answer_point(*curve);
    const std::string price = point.price ? fmt::format(", {}/h", as_dollars(*point.price)) : "";
    parts.push_back(fmt::format("{} under {}{}", nodes_text(study, *curve), study.policies[policy],
                                parts.empty() ? fmt::format(" ({} GPUs{})", with_thousands(point.gpus), price)
                                : price.empty() ? ""
                                                : fmt::format(" ({})", price.substr(2))));
  }
  const std::string goal = goal_text(study.goal);
  std::string text;
  if (!parts.empty()) text = fmt::format("Nodes of {} for {}: {}.", study.node, goal, fmt::join(parts, ", "));
  if (!without.empty())
    text += fmt::format("{}{} {} not give {} {} {} nodes{}.", text.empty() ? "" : " ", join_with_and(without),
                        without.size() == 1 ? "does" : "do", goal,
                        study.low == study.high ? "with" : "with up to", with_thousands(study.high),
                        text.empty() ? " of " + study.node : "");
  for (const SizeCurve& curve : study.curves) {
    for (const SizeStep& step : curve.worse)
      text += " " + worse_text(study, curve, step);
  }
  return text;
}

std::string size_table_text(const SizeStudy& study) {
  TextTable table(header_of(study));
  std::optional<std::size_t> before;
  for (const SizeRow& row : rows_of(study, false)) {
    table.add_row(cells_of(study, row, before != row.curve->policy));
    before = row.curve->policy;
  }
  std::string text = table.to_string();
  const std::size_t num_seeds = study.seeds.size();
  text +=
      wrap_text(
          num_seeds > 1
              ? fmt::format("answer: the smallest size whose 95 % interval over {} seeds meets the goal; "
                            "by the mean: the smallest whose mean does",
                            num_seeds)
              : "answer: the smallest size that meets the goal with this seed (--seeds 1-20 gives intervals)",
          text_columns()) +
      "\n";
  return text;
}

ordered_json size_to_json(const SizeStudy& study) {
  ordered_json policies = ordered_json::array();
  const auto curve_to_json = [&](const SizeCurve& curve) {
    ordered_json points = ordered_json::array();
    for (const auto& [nodes, point] : curve.points)
      points.push_back(point_to_json(nodes, point));
    ordered_json worse = ordered_json::array();
    for (const SizeStep& step : curve.worse)
      worse.push_back(
          {{"smaller", step.smaller}, {"larger", step.larger}, {"misses_goal", step.misses_goal}});
    ordered_json document;
    if (has_mixes(study)) document["beside"] = study.mixes[curve.mix];
    document["nodes"] = curve.nodes ? ordered_json(*curve.nodes) : ordered_json();
    document["nodes_by_mean"] = curve.nodes_by_mean ? ordered_json(*curve.nodes_by_mean) : ordered_json();
    document["monotone"] = curve.worse.empty();
    document["worse"] = std::move(worse);
    document["sizes"] = std::move(points);
    return document;
  };
  for (std::size_t policy = 0; policy < study.policies.size(); ++policy) {
    ordered_json curves = ordered_json::array();
    for (const SizeCurve& curve : study.curves) {
      if (curve.policy == policy) curves.push_back(curve_to_json(curve));
    }
    const SizeCurve* const best = study.best_of(policy);
    ordered_json document = {{"policy", study.policies[policy]}};
    document["nodes"] = best != nullptr ? ordered_json(*best->nodes) : ordered_json();
    document["cluster"] = best != nullptr ? ordered_json(answer_point(*best).cluster) : ordered_json();
    document["num_gpus"] = best != nullptr ? ordered_json(answer_point(*best).gpus) : ordered_json();
    document["dollars_per_hour"] = best != nullptr && answer_point(*best).price
                                       ? ordered_json(*answer_point(*best).price)
                                       : ordered_json();
    document["curves"] = std::move(curves);
    policies.push_back(std::move(document));
  }
  return {{"goal",
           {{"measure", study.goal.measure->key}, {"bound", study.goal.bound}, {"text", study.goal.text}}},
          {"fewest_nodes", study.low},
          {"most_nodes", study.high},
          {"seeds", study.seeds},
          {"resampled", study.resampled},
          {"num_replays", study.num_replays},
          {"policies", std::move(policies)}};
}

std::string size_replays_to_csv(const SizeStudy& study) {
  std::string text;
  for (const auto& [cluster, metrics] : study.replays) {
    std::string name;
    append_csv_field(name, cluster);
    const std::string rows = seeds_to_csv(metrics);
    bool is_header = true;
    for (const std::string_view line : split(std::string_view(rows).substr(0, rows.size() - 1), '\n')) {
      if (!is_header) text += fmt::format("{},{}\n", name, line);
      if (is_header && text.empty()) text += fmt::format("cluster,{}\n", line);
      is_header = false;
    }
  }
  return text;
}

std::string size_curves_to_csv(const SizeStudy& study) {
  std::string text =
      fmt::format("policy,cluster,nodes,num_gpus,dollars_per_hour,{}_mean,low,high,meets,mean_meets\n",
                  study.goal.measure->key);
  const auto number = [](double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; };
  for (const SizeRow& row : rows_of(study, true)) {
    const SizePoint& point = *row.point;
    append_csv_field(text, study.policies[row.curve->policy]);
    text +=
        fmt::format(",{},{},{},{},{},{},{},{},{}\n", point.cluster, row.nodes, point.gpus,
                    point.price ? number(*point.price) : "", number(point.estimate.mean),
                    number(point.estimate.mean - point.estimate.half_width),
                    number(point.estimate.mean + point.estimate.half_width), point.meets, point.mean_meets);
  }
  return text;
}

namespace {

/// Geometry of the picture, in its units.
constexpr double kPictureWidth = 720;
constexpr double kPictureHeight = 320;
constexpr double kPictureLeft = 84;
constexpr double kPictureRight = 16;
constexpr double kPictureTop = 12;
constexpr double kPictureBottom = 44;

/// The values by number of nodes with one mix: a line for each policy with its intervals, and the goal.
std::string curves_svg(const SizeStudy& study, std::size_t mix) {
  const bool is_share = study.goal.measure->unit == MetricUnit::Share;
  double low = study.goal.bound;
  double high = is_share ? 1 : study.goal.bound;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = 0;
  const auto shown = [](const SizePoint& point) { return std::isfinite(point.estimate.mean); };
  const auto margin = [](const SizePoint& point) {
    return std::isfinite(point.estimate.half_width) ? point.estimate.half_width : 0.0;
  };
  for (const SizeCurve& curve : study.curves) {
    if (curve.mix != mix) continue;
    for (const auto& [nodes, point] : curve.points) {
      if (!shown(point)) continue;
      low = std::min(low, std::max(point.estimate.mean - margin(point), 0.0));
      high = std::max(high, point.estimate.mean + margin(point));
      least = std::min(least, nodes);
      most = std::max(most, nodes);
    }
  }
  if (is_share) high = 1;
  if (least >= most || !(high > low)) return {};
  const auto x_of = [&](double nodes) {
    return kPictureLeft + (kPictureWidth - kPictureLeft - kPictureRight) *
                              (nodes - static_cast<double>(least)) / static_cast<double>(most - least);
  };
  const auto y_of = [&](double value) {
    const double part = (std::clamp(value, low, high) - low) / (high - low);
    return kPictureHeight - kPictureBottom - (kPictureHeight - kPictureTop - kPictureBottom) * part;
  };
  const auto text_of = [&](double value) {
    return report::escape_html(is_share ? as_percent(value) : as_duration(value));
  };
  std::string svg = fmt::format(
      "<svg class=\"strip\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{} by number of "
      "nodes\">\n",
      kPictureWidth, kPictureHeight, report::escape_html(study.goal.measure->title));
  const auto label = [&](double x, double y, std::string_view anchor, const std::string& text) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, text);
  };
  for (const double value : {low, high})
    label(kPictureLeft - 8, y_of(value) + 4, "end", text_of(value));
  svg += fmt::format(
      "<line class=\"interval\" stroke-dasharray=\"6 4\" x1=\"{0:.1f}\" y1=\"{2:.1f}\" x2=\"{1:.1f}\" "
      "y2=\"{2:.1f}\"/>\n",
      kPictureLeft, kPictureWidth - kPictureRight, y_of(study.goal.bound));
  label(kPictureLeft - 8, y_of(study.goal.bound) + 4, "end", report::escape_html(bound_text(study.goal)));
  for (const std::int64_t nodes : {least, least + (most - least) / 2, most})
    label(x_of(static_cast<double>(nodes)), kPictureHeight - kPictureBottom + 20, "middle",
          with_thousands(nodes));
  label(kPictureLeft, kPictureHeight - 6, "start",
        report::escape_html(fmt::format("nodes of {}", study.node)));
  for (const SizeCurve& curve : study.curves) {
    if (curve.mix != mix) continue;
    std::string line;
    std::string points;
    for (const auto& [nodes, point] : curve.points) {
      if (!shown(point)) continue;
      const double x = x_of(static_cast<double>(nodes));
      const double y = y_of(point.estimate.mean);
      line += fmt::format("{}{:.1f},{:.1f}", line.empty() ? "" : " ", x, y);
      points += fmt::format(
          "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" stroke=\"var(--series-{3})\"/>"
          "<circle class=\"point{3}\" cx=\"{0:.1f}\" cy=\"{4:.1f}\" r=\"{5}\"><title>{6}, {7} nodes: "
          "{8}</title></circle>\n",
          x, y_of(point.estimate.mean - margin(point)), y_of(point.estimate.mean + margin(point)),
          curve.policy % 7, y, curve.nodes == nodes ? 6 : 3.5,
          report::escape_html(study.policies[curve.policy]), with_thousands(nodes),
          report::escape_html(value_text(study, point.estimate)));
    }
    svg += fmt::format("<polyline fill=\"none\" stroke=\"var(--series-{})\" points=\"{}\"/>\n{}",
                       curve.policy % 7, line, points);
  }
  return svg + "</svg>\n";
}

std::string size_table_html(const SizeStudy& study) {
  std::string html =
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Sizes\">\n<table>\n<thead><tr>";
  for (const std::string& title : header_of(study))
    html += fmt::format("<th scope=\"col\">{}</th>", report::escape_html(title));
  html += "</tr></thead>\n<tbody>\n";
  for (const SizeRow& row : rows_of(study, true)) {
    const std::vector<std::string> cells = cells_of(study, row, true);
    html += fmt::format("<tr><th scope=\"row\">{} <span>{}</span></th>", report::line_key(row.curve->policy),
                        report::escape_html(cells.front()));
    for (const std::string& cell : std::span(cells).subspan(1))
      html += fmt::format("<td>{}</td>", report::with_whole_quantities(report::escape_html(cell)));
    html += "</tr>\n";
  }
  return html + "</tbody>\n</table>\n</div>\n";
}

}  // namespace

std::string size_report(const SizeStudy& study, const SizePage& page) {
  std::string html = "<div class=\"strips\">\n";
  for (std::size_t mix = 0; mix < study.mixes.size(); ++mix) {
    const std::string picture = curves_svg(study, mix);
    if (picture.empty()) continue;
    const std::string& beside = study.mixes[mix];
    html += fmt::format("<figure><figcaption>{}{}</figcaption>\n{}</figure>\n",
                        report::escape_html(fmt::format("{} by number of nodes", study.goal.measure->title)),
                        beside.empty() ? "" : report::escape_html(", beside " + beside), picture);
  }
  html += fmt::format(
      "</div>\n<p class=\"note\">Points are the sizes that were tried, with the mean over {} and its 95 % "
      "interval; the larger point is the answer, and the dashed line the goal.</p>\n",
      count_of(std::ssize(study.seeds), "seed"));
  return report::render_page({.title = fmt::format("{}: size of the cluster", page.trace_name),
                              .eyebrow = page.trace_name,
                              .answer = size_answer(study),
                              .facts = page.facts,
                              .summary_html = html + size_table_html(study),
                              .assumptions = page.assumptions,
                              .provenance = page.provenance},
                             nlohmann::json::object());
}

}  // namespace vtrain
