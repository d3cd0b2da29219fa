#include "tools/report/trade_offs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "sched/metrics/metric_table.hpp"
#include "tools/report/metric.hpp"
#include "tools/report/page.hpp"

namespace vtrain::report {
namespace {

/// Geometry of a picture, in its units.
constexpr double kPlotWidth = 560;
constexpr double kPlotHeight = 320;
constexpr double kPlotLeft = 70;
constexpr double kPlotRight = 20;
constexpr double kPlotTop = 26;
constexpr double kPlotBottom = 46;
constexpr double kLabelHeight = 15;
/// Values that differ by more than this factor are drawn on a logarithmic scale.
constexpr double kLargestLinearRatio = 20;

const Metric& metric_titled(std::string_view title) {
  const auto metric = std::ranges::find(run_metrics(), title, &Metric::title);
  if (metric == run_metrics().end()) throw std::logic_error("a picture of an unknown metric");
  return *metric;
}

struct Point {
  std::size_t policy = 0;
  double x = 0;
  double y = 0;
  bool is_compared = true;  ///< false: over fewer completed jobs than the others
};

/// Maps values onto a line of the picture, the lowest to `from` and the highest to `to`.
class Scale {
 public:
  Scale(double low, double high, double from, double to)
      : low_(low), high_(high), from_(from), to_(to), is_log_(low > 0 && high > kLargestLinearRatio * low) {}

  double operator()(double value) const {
    const double part =
        is_log_ ? std::log(value / low_) / std::log(high_ / low_) : (value - low_) / (high_ - low_);
    return from_ + (to_ - from_) * part;
  }
  bool is_log() const { return is_log_; }

 private:
  double low_;
  double high_;
  double from_;
  double to_;
  bool is_log_;
};

/// The heights of labels beside points, moved apart where they would overlap. `points` ascend by height.
std::vector<double> label_heights(const std::vector<double>& points) {
  std::vector<double> heights = points;
  for (std::size_t i = 1; i < heights.size(); ++i)
    heights[i] = std::max(heights[i], heights[i - 1] + kLabelHeight);
  const double lowest = kPlotHeight - kPlotBottom;
  for (std::size_t i = heights.size(); i-- > 0;)
    heights[i] = std::min(heights[i], lowest - kLabelHeight * static_cast<double>(heights.size() - 1 - i));
  return heights;
}

std::string axis_title(const Metric& metric, bool is_log) {
  return fmt::format("{}{}{}", metric.title, is_log ? ", logarithmic" : "",
                     metric.better == Better::Lower ? " (lower is better)" : " (higher is better)");
}

std::string picture(std::span<const ReportRun> runs, const Metric& across, const Metric& up) {
  std::vector<const Summary*> summaries;
  for (const ReportRun& run : runs)
    summaries.push_back(&run.summary);
  const std::vector<Mark> marks = marks_of(across, summaries);
  std::vector<Point> points;
  for (std::size_t policy = 0; policy < runs.size(); ++policy) {
    const Point point{policy, across.value(*summaries[policy]), up.value(*summaries[policy]),
                      marks[policy] != Mark::NotCompared};
    if (std::isfinite(point.x) && std::isfinite(point.y)) points.push_back(point);
  }
  if (points.size() < 3) return {};
  const auto [left, right] = std::ranges::minmax(points, {}, &Point::x);
  const auto [bottom, top] = std::ranges::minmax(points, {}, &Point::y);
  if (left.x == right.x || bottom.y == top.y) return {};
  // Room for names on the right.
  const Scale x_of(left.x, right.x, kPlotLeft + 14, kPlotWidth - kPlotRight - 130);
  const Scale y_of(bottom.y, top.y, kPlotHeight - kPlotBottom - 14, kPlotTop + 8);
  std::ranges::sort(points, {}, [&](const Point& point) { return y_of(point.y); });

  std::string svg = fmt::format(
      "<svg class=\"strip\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{} against {}\">\n"
      "<path class=\"axes\" d=\"M{:.0f} {:.0f}V{:.0f}H{:.0f}\"/>\n",
      kPlotWidth, kPlotHeight, escape_html(up.title), escape_html(across.title), kPlotLeft, kPlotTop - 6,
      kPlotHeight - kPlotBottom, kPlotWidth - kPlotRight);
  std::vector<double> heights;
  for (const Point& point : points)
    heights.push_back(y_of(point.y));
  const std::vector<double> labels = label_heights(heights);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point& point = points[i];
    const double x = x_of(point.x);
    const std::string name = escape_html(runs[point.policy].summary.policy);
    svg += fmt::format(
        "<line class=\"leader\" x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{2:.1f}\" y2=\"{3:.1f}\"/>"
        "<circle class=\"{4}{5}\" cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"5\"><title>{6}: {7}, {8}</title></circle>"
        "<text x=\"{9:.1f}\" y=\"{10:.1f}\">{6}{11}</text>\n",
        x, heights[i], x + 11, labels[i], point.is_compared ? "point" : "hollow colour", point.policy % 7,
        name, escape_html(metric_text(across, point.x)), escape_html(metric_text(up, point.y)), x + 13,
        labels[i] + 4, point.is_compared ? "" : " †");
  }
  const double below = kPlotHeight - kPlotBottom + 17;
  svg += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>"
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>"
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>"
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>"
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>"
      "<text x=\"0\" y=\"13\">{}</text>\n</svg>\n",
      x_of(left.x), below, escape_html(metric_text(across, left.x)), x_of(right.x), below,
      escape_html(metric_text(across, right.x)), kPlotLeft - 6, y_of(bottom.y) + 4,
      escape_html(metric_text(up, bottom.y)), kPlotLeft - 6, y_of(top.y) + 4,
      escape_html(metric_text(up, top.y)), kPlotWidth - kPlotRight, kPlotHeight - 8,
      escape_html(axis_title(across, x_of.is_log())), escape_html(axis_title(up, y_of.is_log())));
  const bool all_compared = std::ranges::all_of(points, &Point::is_compared);
  return fmt::format(
      "<figure><figcaption>{} against {}</figcaption>\n{}{}</figure>\n", escape_html(up.title),
      escape_html(across.title), svg,
      all_compared ? "" : "<p class=\"note\">† over fewer completed jobs, so not compared</p>\n");
}

}  // namespace

std::string trade_offs_html(std::span<const ReportRun> runs) {
  const Metric& jct = metric_titled("Average JCT");
  const Metric& deadlines = metric_titled("Deadlines met");
  const Metric& deficit = metric_titled("p95 deficit of shares");
  const std::string pictures =
      picture(runs, jct, deadlines) + picture(runs, jct, deficit) + picture(runs, deficit, deadlines);
  if (pictures.empty()) return {};
  return fmt::format("<h2>What a policy gains, and at what cost</h2>\n<div class=\"strips\">\n{}</div>\n",
                     pictures);
}

}  // namespace vtrain::report
