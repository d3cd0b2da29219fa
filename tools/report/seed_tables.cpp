#include "tools/report/seed_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/io/csv.hpp"
#include "tools/format/text_format.hpp"
#include "tools/report/seed_cells.hpp"

namespace vtrain {
namespace {

using nlohmann::ordered_json;

/// The difference of one policy from another in words: `1.2 ± 0.4 points more`.
std::string lead_text(const SeedStudy& study, const Metric& metric, std::size_t policy, std::size_t other) {
  const Estimate lead = study.difference(metric, policy, other);
  Estimate size = lead;
  size.mean = std::abs(lead.mean);
  std::string text = estimate_text(metric, size, true).substr(std::string_view("+").size());
  if (metric.unit == MetricUnit::Share) text += " points";
  return fmt::format("{} {}", text, lead.mean < 0 ? "less" : "more");
}

/// `1.2 ± 0.4 points more than srtf`.
std::string lead_over(const SeedStudy& study, const Metric& metric, std::size_t policy, std::size_t other) {
  return fmt::format("{} than {}", lead_text(study, metric, policy, other), study.policies[other]);
}

/// `93.9 ± 1.2 % of the deadlines`, `an average JCT of 2 h 15 m ± 4 m 10 s`.
std::string result_of(const SeedStudy& study, const Metric& metric, std::size_t policy) {
  const std::string value = estimate_text(metric, study.mean(metric, policy), false);
  return metric.unit == MetricUnit::Share ? value + " of the deadlines" : "an average JCT of " + value;
}

std::string over_seeds(const SeedStudy& study) {
  return fmt::format("Over {}", count_of(std::ssize(study.seeds), "seed"));
}

std::string_view verb_of(const Metric& metric) {
  return metric.unit == MetricUnit::Share ? "met" : "has";
}

std::string baseline_answer(const SeedStudy& study, const Metric& metric, std::span<const std::size_t> ranked,
                            std::size_t baseline) {
  std::string text = fmt::format("{}, {} {} {}", over_seeds(study), study.policies[baseline], verb_of(metric),
                                 result_of(study, metric, baseline));
  std::vector<std::string> alike;
  for (const std::size_t policy : ranked) {
    if (policy == baseline) continue;
    if (!study.difference(metric, policy, baseline).is_clear()) {
      alike.push_back(study.policies[policy]);
      continue;
    }
    text += fmt::format("; {} {}", study.policies[policy], lead_text(study, metric, policy, baseline));
  }
  text += ".";
  if (!alike.empty()) text += fmt::format(" No clear difference from {}.", join_with_and(alike));
  return text;
}

/// Jobs that the policy rejected, as a sentence with a blank before it. Empty if it rejected none.
std::string rejections(const SeedStudy& study, std::size_t policy) {
  const Metric& rejected = metric_named("rejected_by_policy");
  const Estimate mean = study.mean(rejected, policy);
  if (mean.mean == 0) return {};
  return fmt::format(" {} rejected {} of {} jobs.", study.policies[policy],
                     estimate_text(rejected, mean, false),
                     estimate_text(metric_named("jobs"), study.mean(metric_named("jobs"), policy), false));
}

std::string best_answer(const SeedStudy& study, const Metric& metric, std::span<const std::size_t> ranked) {
  const std::size_t best = ranked.front();
  std::vector<std::string> alike = {study.policies[best]};
  std::size_t behind = 1;
  while (behind < ranked.size() && !study.difference(metric, best, ranked[behind]).is_clear())
    alike.push_back(study.policies[ranked[behind++]]);
  const std::string best_result = result_of(study, metric, best);
  std::string text;
  if (alike.size() == 1) {
    text = fmt::format("{}, {} {} {}", over_seeds(study), alike.front(), verb_of(metric), best_result);
  } else {
    text = fmt::format("{}, no clear difference between {}: {} {} {}", over_seeds(study),
                       join_with_and(alike), alike.front(), verb_of(metric), best_result);
    if (study.difference(metric, best, ranked[1]).mean != 0)
      text += fmt::format(", {}", lead_over(study, metric, best, ranked[1]));
  }
  if (behind < ranked.size())
    text += fmt::format("{}{}", alike.size() == 1 ? ", " : " and ",
                        lead_over(study, metric, best, ranked[behind]));
  return text + "." + rejections(study, best);
}

TextTable text_table(const SeedStudy& study, std::span<const Metric* const> metrics,
                     std::optional<std::size_t> from) {
  std::vector<std::string> header = {from ? "against " + study.policies[*from] : "policy"};
  for (const Metric* const metric : metrics)
    header.push_back(title_with_room(*metric));
  TextTable table(std::move(header));
  for (std::vector<std::string>& row : table_rows(study, metrics, from))
    table.add_row(std::move(row));
  return table;
}

ordered_json estimate_to_json(const Estimate& estimate) {
  return {{"mean", finite_or_null(estimate.mean)},
          {"low", finite_or_null(estimate.mean - estimate.half_width)},
          {"high", finite_or_null(estimate.mean + estimate.half_width)}};
}

}  // namespace

std::size_t compared_with(const SeedComparison& comparison) {
  if (comparison.baseline) return *comparison.baseline;
  const std::vector<std::size_t> ranked = ranked_policies(*comparison.study, main_metric(*comparison.study));
  return ranked.empty() ? 0 : ranked.front();
}

std::string seed_answer(const SeedComparison& comparison) {
  const SeedStudy& study = *comparison.study;
  const Metric& metric = main_metric(study);
  const std::vector<std::size_t> ranked = ranked_policies(study, metric);
  if (ranked.empty()) return "No policy completed a job under any seed.";
  if (ranked.size() == 1)
    return fmt::format("{}, {} {} {}.", over_seeds(study), study.policies[ranked.front()], verb_of(metric),
                       result_of(study, metric, ranked.front()));
  if (comparison.baseline) return baseline_answer(study, metric, ranked, *comparison.baseline);
  return best_answer(study, metric, ranked);
}

namespace {

/// The columns that have room in all of these tables: of means, if `with_means`, and of differences.
std::vector<const Metric*> metrics_with_room(const SeedComparison& comparison, std::size_t from,
                                             bool with_means) {
  if (!comparison.metrics.empty()) return comparison.metrics;
  const SeedStudy& study = *comparison.study;
  std::vector<const Metric*> metrics = shown_metrics(study, false);
  drop_columns(metrics, [&] {
    return text_table(study, metrics, from).width() > text_columns() ||
           (with_means && text_table(study, metrics, std::nullopt).width() > text_columns());
  });
  return metrics;
}

std::string differences_text(const SeedStudy& study, std::span<const Metric* const> metrics,
                             std::size_t from) {
  const std::string_view fewer = fewer_jobs_note(study, metrics);
  return fmt::format("{}{}\n{}{}", text_table(study, metrics, from).to_string(), difference_note(study),
                     fewer, fewer.empty() ? "" : "\n");
}

}  // namespace

std::string seed_tables_text(const SeedComparison& comparison) {
  const SeedStudy& study = *comparison.study;
  const std::size_t from = compared_with(comparison);
  const std::vector<const Metric*> metrics = metrics_with_room(comparison, from, true);
  std::string text = text_table(study, metrics, std::nullopt).to_string();
  if (study.seeds.size() > 1) text += interval_note(study) + "\n";
  if (study.policies.size() > 1) text += "\n" + differences_text(study, metrics, from);
  return text;
}

std::string seed_differences_text(const SeedComparison& comparison) {
  const SeedStudy& study = *comparison.study;
  const std::size_t from = compared_with(comparison);
  return differences_text(study, metrics_with_room(comparison, from, false), from);
}

ordered_json seeds_to_json(const SeedComparison& comparison) {
  const SeedStudy& study = *comparison.study;
  const std::size_t from = compared_with(comparison);
  ordered_json seeds = ordered_json::array();
  for (const SeededRuns& runs : study.seeds)
    seeds.push_back(runs.seed);
  ordered_json policies = ordered_json::array();
  for (std::size_t policy = 0; policy < study.policies.size(); ++policy) {
    ordered_json metrics = ordered_json::object();
    ordered_json differences = ordered_json::object();
    for (const Metric& metric : run_metrics()) {
      if (metric.key.empty()) continue;
      const std::string key(metric.key);
      ordered_json values = ordered_json::array();
      for (const double value : study.values(metric, policy))
        values.push_back(finite_or_null(value));
      metrics[key] = estimate_to_json(study.mean(metric, policy));
      metrics[key]["values"] = std::move(values);
      if (policy == from) continue;
      const Estimate difference = study.difference(metric, policy, from);
      differences[key] = estimate_to_json(difference);
      differences[key]["clear"] = difference.is_clear();
    }
    policies.push_back({{"policy", study.policies[policy]}, {"metrics", std::move(metrics)}});
    if (policy != from) policies.back()["difference"] = std::move(differences);
  }
  return {{"answer", seed_answer(comparison)},
          {"seeds", std::move(seeds)},
          {"coverage", kSeedCoverage},
          {"resampled", study.resampled},
          {"compared_with", study.policies[from]},
          {"policies", std::move(policies)}};
}

std::string seeds_to_csv(const SeedStudy& study) {
  std::string text = "seed,policy";
  for (const Metric& metric : run_metrics()) {
    if (!metric.key.empty()) text += fmt::format(",{}", metric.key);
  }
  text += "\n";
  for (const SeededRuns& runs : study.seeds) {
    for (std::size_t policy = 0; policy < study.policies.size(); ++policy) {
      text += fmt::format("{},", runs.seed);
      append_csv_field(text, study.policies[policy]);
      for (const Metric& metric : run_metrics()) {
        if (metric.key.empty()) continue;
        const double value = runs.values[policy].of(metric);
        text += std::isnan(value) ? "," : fmt::format(",{}", value);
      }
      text += "\n";
    }
  }
  return text;
}

}  // namespace vtrain
