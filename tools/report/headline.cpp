#include "tools/report/headline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "tools/format/text_format.hpp"

namespace vtrain::report {
namespace {

std::string with_preemptions(std::int64_t preemptions) {
  if (preemptions == 0) return "without preemptions";
  return fmt::format("with {} preemption{}", with_thousands(preemptions), preemptions == 1 ? "" : "s");
}

std::string join_names(std::span<const Summary* const> summaries) {
  std::vector<std::string> names;
  for (const Summary* const summary : summaries)
    names.push_back(summary->policy);
  return join_with_and(names);
}

/// What the better of two ratios has more. It is the difference of the percentages as tables show them, with
/// one digit, so that a reader who subtracts finds the same, but never a difference of nothing.
std::string percentage_points(double better, double other) {
  const auto shown = [](double ratio) { return std::round(1000 * ratio) / 10; };
  const double points = shown(better) - shown(other);
  return points >= 0.05 ? fmt::format("{:.1f} points", points)
                        : fmt::format("{:.1g} points", 100 * (better - other));
}

double met_ratio(const Summary& summary) {
  return summary.deadline_satisfactory_ratio.value_or(0);
}

bool completed_nothing(const Summary& summary) {
  return std::isnan(summary.avg_jct_s);
}

std::string single_answer(const Summary& only) {
  if (completed_nothing(only)) return fmt::format("{} completed no job.", only.policy);
  const std::string jct = as_duration(only.avg_jct_s);
  if (!only.deadline_satisfactory_ratio) {
    return fmt::format("{} finished {} of {} jobs with an average JCT of {}, {}.", only.policy,
                       with_thousands(only.completed), with_thousands(only.jobs), jct,
                       with_preemptions(only.preemptions));
  }
  return fmt::format("{} met {} of the deadlines, with an average JCT of {}, {}.", only.policy,
                     as_percent(met_ratio(only)), jct, with_preemptions(only.preemptions));
}

/// `ranked` is best first; at least two.
std::string deadline_answer(std::span<const Summary* const> ranked) {
  const Summary& best = *ranked.front();
  const auto ties = static_cast<std::size_t>(std::ranges::count_if(
      ranked, [&](const Summary* summary) { return met_ratio(*summary) == met_ratio(best); }));
  if (ties == 1) {
    return fmt::format("{} met {} of the deadlines, {} more than {}, {}.", best.policy,
                       as_percent(met_ratio(best)), percentage_points(met_ratio(best), met_ratio(*ranked[1])),
                       ranked[1]->policy, with_preemptions(best.preemptions));
  }
  std::string text = fmt::format("{} {} met {} of the deadlines", join_names(ranked.first(ties)),
                                 ties == 2 ? "both" : "all", as_percent(met_ratio(best)));
  if (best.completed == ranked[1]->completed && best.avg_jct_s < ranked[1]->avg_jct_s) {
    text += fmt::format("; {} has the shortest average JCT of them, {}, {}", best.policy,
                        as_duration(best.avg_jct_s), with_preemptions(best.preemptions));
  }
  return text + ".";
}

/// `ranked` is best first; at least two.
std::string jct_answer(std::span<const Summary* const> ranked) {
  const Summary& best = *ranked.front();
  const Summary& second = *ranked[1];
  if (completed_nothing(best)) return "No policy completed a job.";
  if (second.completed < best.completed) {
    return fmt::format("{} completed the most jobs, {} of {}, with an average JCT of {}, {}.", best.policy,
                       with_thousands(best.completed), with_thousands(best.jobs), as_duration(best.avg_jct_s),
                       with_preemptions(best.preemptions));
  }
  const double saved = 1 - best.avg_jct_s / second.avg_jct_s;
  if (!(saved > 0)) {
    return fmt::format("{} and {} have the same average JCT, {}.", best.policy, second.policy,
                       as_duration(best.avg_jct_s));
  }
  return fmt::format("{} has the shortest average JCT, {}, which is {} less than {} ({}), {}.", best.policy,
                     as_duration(best.avg_jct_s), saved >= 0.0005 ? as_percent(saved) : "under 0.1 %",
                     second.policy, as_duration(second.avg_jct_s), with_preemptions(best.preemptions));
}

}  // namespace

std::string headline(std::span<const ReportRun> runs) {
  if (runs.size() == 1) return single_answer(runs.front().summary);
  std::vector<const Summary*> ranked;
  for (const ReportRun& run : runs)
    ranked.push_back(&run.summary);
  const bool by_deadlines = runs.front().summary.deadline_satisfactory_ratio.has_value();
  std::ranges::stable_sort(ranked, [by_deadlines](const Summary* a, const Summary* b) {
    if (by_deadlines && met_ratio(*a) != met_ratio(*b)) return met_ratio(*a) > met_ratio(*b);
    // Who turns jobs away has short JCTs.
    if (a->completed != b->completed) return a->completed > b->completed;
    if (completed_nothing(*a)) return false;
    return a->avg_jct_s < b->avg_jct_s;
  });
  return by_deadlines ? deadline_answer(ranked) : jct_answer(ranked);
}

}  // namespace vtrain::report
