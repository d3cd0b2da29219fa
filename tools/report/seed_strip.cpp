#include "tools/report/seed_strip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/report/metric.hpp"
#include "tools/report/page.hpp"

namespace vtrain::report {
namespace {

/// Geometry of a strip, in units of the picture.
constexpr double kWidth = 560;
constexpr double kLeft = 150;
constexpr double kRow = 26;
constexpr double kTop = 8;
constexpr double kBelow = 24;
constexpr double kMargin = 12;

}  // namespace

void StripRange::include(const SeedStudy& study, const Metric& metric) {
  for (std::size_t policy = 0; policy < study.policies.size(); ++policy) {
    for (const double value : study.values(metric, policy)) {
      if (std::isnan(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
}

std::size_t point_step(const SeedStudy& study, std::size_t num_studies) {
  constexpr std::size_t kMostPoints = 6'000;  // about 140 bytes each
  const std::size_t rows = study.policies.size() * num_studies * kMainMetrics.size();
  return 1 + rows * study.seeds.size() / kMostPoints;
}

std::string points_note(std::size_t step) {
  return step == 1 ? "A point for each seed" : fmt::format("A point for one in {} seeds", step);
}

std::string strip_svg(const SeedStudy& study, const Metric& metric, const StripRange& range,
                      std::size_t step) {
  const auto [low, high] = range;
  if (!(high > low)) return {};
  const auto x_of = [from = low, span = high - low](double value) {
    return kLeft + kMargin + (kWidth - kLeft - 2 * kMargin) * (value - from) / span;
  };
  const double height = kTop + kRow * static_cast<double>(study.policies.size()) + kBelow;
  std::string svg = fmt::format(
      "<svg class=\"strip\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{} by seed\">\n", kWidth,
      height, escape_html(metric.title));
  for (std::size_t policy = 0; policy < study.policies.size(); ++policy) {
    const double y = kTop + kRow * (static_cast<double>(policy) + 0.5);
    svg += fmt::format("<text x=\"0\" y=\"{:.1f}\">{}</text>\n", y + 4, escape_html(study.policies[policy]));
    for (std::size_t seed = 0; seed < study.seeds.size(); seed += step) {
      const SeededRuns& runs = study.seeds[seed];
      const double value = runs.values[policy].of(metric);
      if (std::isnan(value)) continue;
      svg += fmt::format(
          "<circle class=\"point{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"><title>{}, seed {}: {}</title>"
          "</circle>\n",
          policy % 7, x_of(value), y - 3, escape_html(study.policies[policy]), runs.seed,
          escape_html(metric_text(metric, value)));
    }
    const Estimate mean = study.mean(metric, policy);
    if (!std::isfinite(mean.half_width)) continue;
    const double from = std::max(mean.mean - mean.half_width, low);
    const double to = std::min(mean.mean + mean.half_width, high);
    svg += fmt::format(
        "<line class=\"interval\" x1=\"{0:.1f}\" y1=\"{2:.1f}\" x2=\"{1:.1f}\" y2=\"{2:.1f}\"/>"
        "<line class=\"interval\" x1=\"{3:.1f}\" y1=\"{4:.1f}\" x2=\"{3:.1f}\" y2=\"{5:.1f}\"/>\n",
        x_of(from), x_of(to), y + 7, x_of(mean.mean), y + 3, y + 11);
  }
  svg += fmt::format(
      "<text x=\"{0:.1f}\" y=\"{2:.1f}\">{3}</text><text x=\"{1:.1f}\" y=\"{2:.1f}\" "
      "text-anchor=\"end\">{4}</text>\n</svg>\n",
      kLeft + kMargin, kWidth - kMargin, height - 6, escape_html(metric_text(metric, low)),
      escape_html(metric_text(metric, high)));
  return svg;
}

}  // namespace vtrain::report
