#include "tools/studies/survey.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "tools/format/text_format.hpp"
#include "tools/report/seed_cells.hpp"
#include "tools/studies/each_variant.hpp"
#include "tools/studies/queries.hpp"

namespace vtrain {
namespace {

/// Rows, of policies in combinations, that a page or a terminal shows.
constexpr std::int64_t kMostShownRows = 120;
/// Combinations that are named where something is missing.
constexpr std::size_t kMostNamed = 5;

/// Metrics that decide which policy is best.
std::vector<const Metric*> deciding_metrics() {
  return {&metric_named("deadline_satisfactory_ratio"), &metric_named("avg_jct_s"),
          &metric_named("completed")};
}

/// Metrics that tables and answers may show.
std::vector<const Metric*> shown_or_named(std::vector<const Metric*> chosen) {
  for (const Metric& metric : run_metrics()) {
    if (!metric.title.empty()) chosen.push_back(&metric);
  }
  for (const std::string_view key : {"jobs", "completed", "rejected_by_policy"})
    chosen.push_back(&metric_named(key));
  std::ranges::sort(chosen);
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

std::string label_of_variant(const StudyGrid& grid, std::int64_t variant) {
  const std::vector<std::string> values = grid.values(variant);
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < values.size(); ++i)
    parts.push_back(fmt::format("{} {}", grid.variations[i].option, values[i]));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Adds up what combinations say.
class Surveyor {
 public:
  explicit Surveyor(const StudyGrid& grid) : grid_(grid), best_(grid.policies) {}

  void add(std::int64_t variant, const VariantRuns& runs) {
    survey.finished += runs.finished;
    survey.unpaired += runs.unpaired;
    const auto num_seeds = runs.study.seeds.size();
    if (num_seeds == 0) {
      ++survey.without_runs;
      return;
    }
    ++survey.combinations;
    if (num_seeds < grid_.seeds.size()) {
      ++survey.with_fewer;
      if (survey.fewer.size() < kMostNamed)
        survey.fewer.push_back(grid_.variations.empty()
                                   ? std::to_string(num_seeds)
                                   : fmt::format("{}: {}", label_of_variant(grid_, variant), num_seeds));
    }
    best_.add(runs.study);
    const Metric& metric = main_metric(runs.study);
    if (main_ == nullptr) main_ = &metric;
    if (main_ != &metric) survey.has_one_main_metric = false;
  }

  std::string answer() const { return best_.to_string(); }

  Survey survey{};

 private:
  const StudyGrid& grid_;
  BestPolicies best_;
  const Metric* main_ = nullptr;
};

Result<std::optional<std::size_t>> baseline_of(const StudyResults& results, const SurveyOptions& options) {
  const std::vector<std::string>& policies = results.grid().policies;
  const std::string& name = options.baseline.empty() ? results.subject().baseline : options.baseline;
  const auto found = std::ranges::find(policies, name);
  if (found != policies.end()) return static_cast<std::size_t>(found - policies.begin());
  if (options.baseline.empty()) return std::nullopt;
  const std::vector<std::string_view> known(policies.begin(), policies.end());
  return fail({.field = "--baseline",
               .message = fmt::format("'{}' is no policy of the results; {}", printable(name),
                                      suggest_name(name, known))});
}

}  // namespace

Result<std::vector<const Metric*>> parse_metrics(std::string_view names) {
  std::vector<const Metric*> metrics;
  for (const std::string_view name : split(names, ',')) {
    const auto found = std::ranges::find_if(
        run_metrics(), [name](const Metric& metric) { return column_of(metric) == name; });
    if (found == run_metrics().end()) {
      std::vector<std::string_view> known;
      for (const Metric& metric : run_metrics())
        known.push_back(column_of(metric));
      return fail(
          {.field = "--metrics",
           .message = with_guess(
               fmt::format("'{}' is no metric (docs/metrics.md lists them)", printable(name)), name, known)});
    }
    if (std::ranges::find(metrics, &*found) != metrics.end())
      return fail({.field = "--metrics", .message = fmt::format("'{}' is named twice", name)});
    metrics.push_back(&*found);
  }
  return metrics;
}

Result<Survey> survey_of(const StudyResults& results, const SurveyOptions& options) {
  const StudyGrid& grid = results.grid();
  const auto baseline = baseline_of(results, options);
  if (!baseline) return fail(baseline.error());
  Surveyor surveyor(grid);
  VariedComparison& shown = surveyor.survey.shown;
  for (const Variation& variation : grid.variations)
    shown.options.push_back(variation.option);
  shown.baseline = *baseline;
  shown.metrics = options.metrics;
  const std::int64_t most_shown =
      std::max<std::int64_t>(1, kMostShownRows / std::max<std::int64_t>(1, std::ssize(grid.policies)));
  const auto keep_runs = [](std::int64_t first, std::vector<VariantRuns> runs) {
    return std::pair(first, std::move(runs));
  };
  std::int64_t variant = 0;
  while (variant < grid.num_variants() && shown.studies.empty()) {
    const VariantRange range{variant, std::min(variant + most_shown, grid.num_variants())};
    auto read =
        for_each_block(results, shown_or_named(options.metrics), range, options.threads, keep_runs,
                       [&](std::pair<std::int64_t, std::vector<VariantRuns>> block) {
                         for (VariantRuns& runs : block.second) {
                           surveyor.add(block.first, runs);
                           if (!runs.study.seeds.empty())
                             shown.studies.push_back({grid.values(block.first), std::move(runs.study)});
                           ++block.first;
                         }
                       });
    if (!read) return fail(std::move(read.error()));
    variant = range.end;
  }
  auto rest = for_each_block(results, deciding_metrics(), {variant, grid.num_variants()}, options.threads,
                             keep_runs, [&](const std::pair<std::int64_t, std::vector<VariantRuns>>& block) {
                               std::int64_t number = block.first;
                               for (const VariantRuns& runs : block.second)
                                 surveyor.add(number++, runs);
                             });
  if (!rest) return fail(std::move(rest.error()));
  Survey survey = std::move(surveyor.survey);
  const auto failed = results.num_failed();
  if (!failed) return fail(failed.error());
  survey.failed = *failed;
  auto failures = results.failures();
  if (!failures) return fail(std::move(failures.error()));
  survey.failures = *std::move(failures);
  survey.expected = results.num_expected();
  if (survey.combinations == 0)
    return fail({.file = results.subject().name,
                 .field = "runs",
                 .message = fmt::format(
                     "no seed has runs of all policies: {} of {} runs are finished, {} failed{}",
                     survey.finished, survey.expected, survey.failed,
                     survey.failures.empty() ? ""
                                             : fmt::format(" ({}: {})", survey.failures.front().first,
                                                           printable(survey.failures.front().message)))});
  survey.answer = grid.variations.empty()
                      ? seed_answer({&survey.shown.studies.front().study, survey.shown.baseline})
                      : surveyor.answer();
  return survey;
}

std::vector<std::string> gaps_in(const StudyResults& results, const Survey& survey) {
  std::vector<std::string> gaps;
  const StudySubject& subject = results.subject();
  if (subject.shard.count > 1)
    gaps.push_back(fmt::format("part {}/{} of a sweep of {}: combinations have a part of their seeds",
                               subject.shard.index, subject.shard.count,
                               count_of(results.grid().num_runs(), "run")));
  for (std::size_t i = 0; i < std::min(kMostNamed, survey.failures.size()); ++i) {
    const Failure& failure = survey.failures[i];
    gaps.push_back(fmt::format("{} failed (the first: {}): {}", count_of(failure.runs, "run"), failure.first,
                               printable(failure.message)));
  }
  if (survey.failures.size() > kMostNamed)
    gaps.push_back(fmt::format("runs failed with {} other messages: see the table errors",
                               survey.failures.size() - kMostNamed));
  const std::int64_t missing = survey.expected - survey.finished - survey.failed;
  if (missing > 0) gaps.push_back(count_of(missing, "run") + " not done yet");
  if (survey.unpaired > 0)
    gaps.push_back(fmt::format("{} left out: another policy has no run under the same options and seed",
                               count_of(survey.unpaired, "finished run")));
  if (survey.without_runs > 0)
    gaps.push_back(fmt::format("{} without runs", count_of(survey.without_runs, "combination")));
  if (survey.with_fewer > 0) {
    const std::string seeds = count_of(std::ssize(results.grid().seeds), "seed");
    gaps.push_back(results.grid().variations.empty()
                       ? fmt::format("{} of {} used", survey.fewer.front(), seeds)
                       : fmt::format("{} fewer than {}: {}{}",
                                     survey.with_fewer == 1
                                         ? "1 combination has"
                                         : count_of(survey.with_fewer, "combination") + " have",
                                     seeds, fmt::join(survey.fewer, "; "),
                                     survey.with_fewer > std::ssize(survey.fewer) ? "; ..." : ""));
  }
  return gaps;
}

TableQueries queries_of(const StudyResults& results, const Survey& survey,
                        std::span<const Metric* const> metrics) {
  const StudyGrid& grid = results.grid();
  const bool all_paired = survey.unpaired == 0;
  TableQueries queries{.means = means_query(grid, metrics, all_paired)};
  if (grid.policies.size() < 2) return queries;
  ComparedPolicies compared;
  if (survey.shown.baseline)
    compared.fixed = grid.policies[*survey.shown.baseline];
  else
    compared.ranking = &main_metric(survey.shown.studies.front().study);
  queries.differences = differences_query(grid, metrics, all_paired, compared);
  if (compared.ranking != nullptr && !survey.has_one_main_metric)
    queries.differences = fmt::format("-- only combinations that are judged by {}\n{}",
                                      column_of(*compared.ranking), queries.differences);
  return queries;
}

}  // namespace vtrain
