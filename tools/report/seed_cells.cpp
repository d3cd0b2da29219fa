#include "tools/report/seed_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "tools/format/text_format.hpp"
#include "tools/report/metric.hpp"

namespace vtrain {

const Metric& metric_named(std::string_view key) {
  const auto found = std::ranges::find(run_metrics(), key, &Metric::key);
  if (found == run_metrics().end()) throw std::logic_error("an unknown metric");
  return *found;
}

const Metric& main_metric(const SeedStudy& study) {
  const Metric& deadlines = metric_named("deadline_satisfactory_ratio");
  const bool any = std::ranges::any_of(study.seeds, [&deadlines](const SeededRuns& runs) {
    return std::ranges::any_of(
        runs.values, [&deadlines](const RunValues& values) { return !std::isnan(values.of(deadlines)); });
  });
  return any ? deadlines : metric_named("avg_jct_s");
}

namespace {

/// A mean or a difference without its interval. Differences of shares are points.
std::string value_text(const Metric& metric, double value, bool is_difference) {
  if (std::isnan(value)) return "-";
  if (!is_difference) return metric_text(metric, value);
  const std::string size = metric.unit == MetricUnit::Share ? fmt::format("{:.1f}", 100 * std::abs(value))
                                                            : metric_text(metric, std::abs(value));
  return (value < 0 ? "−" : "+") + size;
}

}  // namespace

std::string estimate_text(const Metric& metric, const Estimate& estimate, bool is_difference) {
  std::string text = value_text(metric, estimate.mean, is_difference);
  if (!std::isfinite(estimate.half_width) || estimate.half_width == 0) return text;
  const bool is_share = metric.unit == MetricUnit::Share;
  const std::string half =
      is_share ? fmt::format("{:.1f}", 100 * estimate.half_width) : metric_text(metric, estimate.half_width);
  if (!is_share || is_difference) return fmt::format("{} ± {}", text, half);
  constexpr std::string_view kPercent = " %";
  if (text.ends_with(kPercent)) text.resize(text.size() - kPercent.size());
  return fmt::format("{} ± {}{}", text, half, kPercent);
}

namespace {

/// True if a positive difference is better.
bool is_better(const Metric& metric, double difference) {
  return metric.better == Better::Lower ? difference < 0 : difference > 0;
}

}  // namespace

std::vector<bool> policies_that_complete(const SeedStudy& study) {
  const Metric& completed = metric_named("completed");
  std::vector<double> means;
  double most = 0;
  for (std::size_t i = 0; i < study.policies.size(); ++i) {
    means.push_back(study.mean(completed, i).mean);
    most = std::max(most, means.back());
  }
  std::vector<bool> complete;
  for (const double mean : means)
    complete.push_back(!(most - mean >= static_cast<double>(kHandful)));  // true without a replay
  return complete;
}

std::vector<std::size_t> ranked_policies(const SeedStudy& study, const Metric& metric) {
  std::vector<std::size_t> ranked;
  std::vector<double> means;
  const std::vector<bool> complete = policies_that_complete(study);
  for (std::size_t i = 0; i < study.policies.size(); ++i) {
    means.push_back(study.mean(metric, i).mean);
    const bool is_compared = !metric.depends_on_completed || complete[i];
    if (is_compared && !std::isnan(means.back())) ranked.push_back(i);
  }
  std::ranges::stable_sort(
      ranked, [&](std::size_t a, std::size_t b) { return is_better(metric, means[a] - means[b]); });
  return ranked;
}

namespace {

/// True if a column of a metric is informative, as in a table of single replays.
bool is_shown(const Metric& metric, const SeedStudy& study) {
  return std::ranges::any_of(study.seeds, [&metric](const SeededRuns& runs) {
    return std::ranges::any_of(runs.values, [&metric](const RunValues& values) {
      const double value = values.of(metric);
      return metric.hides_zero ? value > 0 : !std::isnan(value);
    });
  });
}

}  // namespace

std::vector<const Metric*> shown_metrics(const SeedStudy& study, bool on_page) {
  std::vector<const Metric*> shown;
  for (const Metric& metric : run_metrics()) {
    const std::string_view title = on_page ? metric.title : metric.short_title;
    if (!title.empty() && metric.unit != MetricUnit::Flag && is_shown(metric, study))
      shown.push_back(&metric);
  }
  return shown;
}

namespace {

/// The mark of a difference that may be noise.
constexpr std::string_view kNoise = " ~";

}  // namespace

std::vector<std::vector<std::string>> table_rows(const SeedStudy& study,
                                                 std::span<const Metric* const> metrics,
                                                 std::optional<std::size_t> from) {
  std::vector<std::vector<std::string>> rows;
  const std::vector<bool> complete = policies_that_complete(study);
  for (std::size_t policy = 0; policy < study.policies.size(); ++policy) {
    if (policy == from) continue;
    std::vector<std::string> row = {study.policies[policy]};
    for (const Metric* const metric : metrics) {
      const Estimate estimate = from ? study.difference(*metric, policy, *from) : study.mean(*metric, policy);
      const bool compares = !metric->depends_on_completed || (complete[policy] && (!from || complete[*from]));
      const bool is_noise = from && std::isfinite(estimate.half_width) && !estimate.is_clear();
      std::string cell = estimate_text(*metric, estimate, from.has_value());
      cell += !compares ? sign_of(Mark::NotCompared) : is_noise ? kNoise : sign_of(Mark::None);
      row.push_back(std::move(cell));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string_view column_title(const Metric& metric) {
  return metric.title.empty() ? metric.key : metric.title;
}

std::string title_with_room(const Metric& metric) {
  std::string title;
  const std::string_view lines = metric.short_title.empty() ? column_title(metric) : metric.short_title;
  for (const std::string_view line : split(lines, '\n'))
    title += fmt::format("{}{}{}", title.empty() ? "" : "\n", line, sign_of(Mark::None));
  return title;
}

void drop_columns(std::vector<const Metric*>& metrics, const std::function<bool()>& is_too_wide) {
  const int last_turn = std::ranges::max(run_metrics(), {}, &Metric::dropped_in_turn).dropped_in_turn;
  for (int turn = 1; turn <= last_turn && is_too_wide(); ++turn)
    std::erase_if(metrics, [turn](const Metric* metric) { return metric->dropped_in_turn == turn; });
  while (metrics.size() > 1 && is_too_wide())
    metrics.pop_back();
}

std::string_view fewer_jobs_note(const SeedStudy& study, std::span<const Metric* const> metrics) {
  if (std::ranges::none_of(metrics, &Metric::depends_on_completed)) return {};
  const std::vector<bool> complete = policies_that_complete(study);
  const bool all = std::ranges::find(complete, false) == complete.end();
  return all ? "" : "† over fewer completed jobs, so not compared";
}

std::string seeds_label(const SeedStudy& study) {
  const std::uint64_t first = study.seeds.front().seed;
  const std::uint64_t last = study.seeds.back().seed;
  if (first == last) return fmt::format("seed {}", first);
  const bool has_gaps = last - first + 1 != study.seeds.size();
  return has_gaps ? fmt::format("{} seeds from {} to {}", study.seeds.size(), first, last)
                  : fmt::format("seeds {} to {}", first, last);
}

namespace {

std::string what_varies(const SeedStudy& study) {
  return study.resampled == "none"
             ? ""
             : fmt::format("; {} of the trace drawn anew with replacement", study.resampled);
}

}  // namespace

std::string interval_note(const SeedStudy& study) {
  return fmt::format("mean ± half of the {:.0f} % interval over {}{}", 100 * kSeedCoverage,
                     seeds_label(study), what_varies(study));
}

std::string_view difference_note(const SeedStudy& study) {
  return study.seeds.size() > 1
             ? "differences of shares in points, paired by seed; ~ no larger than the noise"
             : "differences of shares in points";
}

}  // namespace vtrain
