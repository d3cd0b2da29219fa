#include "tools/report/headline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "sched/metrics/metrics.hpp"
#include "tools/format/text_format.hpp"
#include "tools/report/metric.hpp"
#include "tools/report/report.hpp"
#include "tools/report/summary.hpp"
#include "traces/editing/statistics.hpp"

namespace vtrain::report {
namespace {

/// Policy that repeats the recorded schedule.
constexpr std::string_view kRecorded = "recorded";
/// Smallest relative difference of averages that is called clear.
constexpr double kClear = 0.01;

/// Preemptions and resizes of the policy, in words.
std::string with_interruptions(const Summary& summary) {
  if (summary.preemptions + summary.resizes == 0) return "without preemptions";
  const std::string preemptions = "with " + count_of(summary.preemptions, "preemption");
  const std::string resizes = count_of(summary.resizes, "resize");
  if (summary.resizes == 0) return preemptions;
  return summary.preemptions == 0 ? "with " + resizes : preemptions + " and " + resizes;
}

std::string join_policies(std::span<const Summary* const> summaries) {
  std::vector<std::string> names;
  for (const Summary* const summary : summaries)
    names.push_back(summary->policy);
  return join_with_and(names);
}

/// The lead of the better of two ratios: the difference of the percentages as tables show them, with one
/// digit, so that a reader who subtracts finds the same.
std::string percentage_points(double better, double other) {
  const auto shown = [](double ratio) { return std::round(1000 * ratio) / 10; };
  return fmt::format("{:.1f} points", shown(better) - shown(other));
}

double met_ratio(const Summary& summary) {
  return summary.deadline_satisfactory_ratio.value_or(0);
}

double met_by_gpu_hours(const Summary& summary) {
  return summary.deadline_satisfactory_ratio_by_gpu_hours.value_or(0);
}

bool has_deadlines(std::span<const ReportRun> runs) {
  return runs.front().summary.deadline_satisfactory_ratio.has_value();
}

bool completed_nothing(const Summary& summary) {
  return std::isnan(summary.avg_jct_s);
}

/// `81.5 % of the deadlines (40.5 % by GPU-hours)`.
std::string deadlines_met(const ReportInput& input, const Summary& summary) {
  const std::string by_hours = summary.deadline_satisfactory_ratio_by_gpu_hours
                                   ? fmt::format(" ({} by GPU-hours)", as_percent(met_by_gpu_hours(summary)))
                                   : "";
  return fmt::format("{} of the {}deadlines{}", as_percent(met_ratio(summary)),
                     input.deadlines_are_made ? "synthetic " : "", by_hours);
}

/// The most deadlines that jobs can meet on the GPUs that they request, as a sentence with a blank before it.
/// Empty if all can be met, or if GPUs of several types make jobs faster than their run times.
std::string ceiling(const ReportInput& input, std::span<const Summary* const> summaries) {
  for (const NodeGroup& group : input.cluster.groups) {
    if (group.gpu_type != input.cluster.groups.front().gpu_type) return {};
  }
  std::int64_t deadlines = 0;
  std::int64_t possible = 0;
  for (const Job& job : input.workload->jobs) {
    if (!job.has_deadline()) continue;
    ++deadlines;
    if (job.deadline >= job.submit && job.deadline - job.submit >= job.duration) ++possible;
  }
  const bool is_wrong =
      input.workload->curves.empty() && std::ranges::any_of(summaries, [possible](const Summary* summary) {
        return summary->deadline_met > possible;
      });
  if (possible == deadlines || is_wrong) return {};
  return fmt::format(" On the GPUs that jobs request, no schedule meets more than {}.",
                     as_percent(static_cast<double>(possible) / static_cast<double>(deadlines)));
}

/// Number of jobs that the policy rejected, and of the others that missed their deadline, with a blank before
/// it. Empty if it rejected none.
std::string rejections(const Summary& summary) {
  if (summary.rejected_by_policy == 0) return {};
  const std::int64_t late = summary.deadline_jobs - summary.deadline_met - summary.rejected;
  return fmt::format(
      " {} rejected {} of {}{}.", summary.policy, with_thousands(summary.rejected_by_policy),
      count_of(summary.jobs, "job"),
      late > 0 ? fmt::format(", and {} of the others missed their deadlines", with_thousands(late)) : "");
}

std::string single_answer(const ReportInput& input, const Summary& only) {
  if (completed_nothing(only)) return fmt::format("{} completed no job.", only.policy);
  const std::string jct = as_duration(only.avg_jct_s);
  if (!only.deadline_satisfactory_ratio) {
    return fmt::format("{} finished {} of {} with an average JCT of {}, {}.", only.policy,
                       with_thousands(only.completed), count_of(only.jobs, "job"), jct,
                       with_interruptions(only));
  }
  const Summary* const all[] = {&only};
  return fmt::format("{} met {}, with an average JCT of {}, {}.{}{}", only.policy, deadlines_met(input, only),
                     jct, with_interruptions(only), rejections(only), ceiling(input, all));
}

/// The first sentence on deadlines; `ranked` is best first, at least two.
std::string deadline_lead(const ReportInput& input, std::span<const Summary* const> ranked) {
  const Summary& best = *ranked.front();
  const auto alike = static_cast<std::size_t>(std::ranges::count_if(
      ranked, [&](const Summary* summary) { return best.deadline_met - summary->deadline_met < kHandful; }));
  if (alike == 1) {
    return fmt::format("{} met {}, {} more than {}, {}.", best.policy, deadlines_met(input, best),
                       percentage_points(met_ratio(best), met_ratio(*ranked[1])), ranked[1]->policy,
                       with_interruptions(best));
  }
  const Summary& last = *ranked[alike - 1];
  std::string text;
  if (best.deadline_met == last.deadline_met) {
    text = fmt::format("{} {} met {}", join_policies(ranked.first(alike)), alike == 2 ? "both" : "all",
                       deadlines_met(input, best));
  } else {
    text = fmt::format("No clear difference between {}, which met {} to {} of the {} {}deadlines",
                       join_policies(ranked.first(alike)), with_thousands(last.deadline_met),
                       with_thousands(best.deadline_met), with_thousands(best.deadline_jobs),
                       input.deadlines_are_made ? "synthetic " : "");
  }
  if (alike < ranked.size()) {
    text += fmt::format(", {} more than {}", percentage_points(met_ratio(last), met_ratio(*ranked[alike])),
                        ranked[alike]->policy);
  }
  return text + ".";
}

std::string deadline_answer(const ReportInput& input, std::span<const Summary* const> ranked) {
  std::string text = deadline_lead(input, ranked) + rejections(*ranked.front());
  const Summary& first = *ranked.front();
  const Summary& by_hours = **std::ranges::max_element(
      ranked, {}, [](const Summary* summary) { return met_by_gpu_hours(*summary); });
  if (met_by_gpu_hours(by_hours) > met_by_gpu_hours(first) + kClear) {
    text += fmt::format(" By GPU-hours {} met the most, {}.", by_hours.policy,
                        as_percent(met_by_gpu_hours(by_hours)));
  }
  return text + ceiling(input, ranked);
}

/// The best policy against the recorded schedule.
std::string recorded_answer(const Summary& best, const Summary& recorded) {
  const auto times = [](const Summary& summary) {
    return fmt::format("an average JCT of {} and an average wait of {}", as_duration(summary.avg_jct_s),
                       as_duration(summary.avg_waiting_time_s));
  };
  if (best.avg_jct_s > recorded.avg_jct_s * (1 - kClear)) {
    return fmt::format(
        "No policy has a clearly shorter average JCT than was recorded: the best, {}, has {}; recorded "
        "were {} and {}.",
        best.policy, times(best), as_duration(recorded.avg_jct_s), as_duration(recorded.avg_waiting_time_s));
  }
  return fmt::format("{} has {}, {}; recorded were {} and {}.", best.policy, times(best),
                     with_interruptions(best), as_duration(recorded.avg_jct_s),
                     as_duration(recorded.avg_waiting_time_s));
}

/// First sentence without deadlines; `ranked` is best first, at least two.
std::string jct_answer(std::span<const Summary* const> ranked) {
  const Summary& best = *ranked.front();
  const Summary& second = *ranked[1];
  if (completed_nothing(best)) return "No policy completed a job.";
  const auto recorded =
      std::ranges::find(ranked, kRecorded, [](const Summary* each) { return each->policy; });
  if (recorded != ranked.end() && best.completed - (*recorded)->completed < kHandful) {
    return recorded_answer(recorded == ranked.begin() ? second : best, **recorded);
  }
  if (best.completed - second.completed >= kHandful || completed_nothing(second)) {
    return fmt::format("{} completed the most jobs, {} of {}, with an average JCT of {}, {}.", best.policy,
                       with_thousands(best.completed), with_thousands(best.jobs), as_duration(best.avg_jct_s),
                       with_interruptions(best));
  }
  const double saved = 1 - best.avg_jct_s / second.avg_jct_s;
  if (saved < kClear) {
    return fmt::format("No clear difference between {} and {}: their average JCTs are {} and {}.",
                       best.policy, second.policy, as_duration(best.avg_jct_s),
                       as_duration(second.avg_jct_s));
  }
  return fmt::format(
      "{} has the shortest average JCT, {}, which is {} less than {} ({}), {}. Jobs waited {} on average, "
      "{} under {}.",
      best.policy, as_duration(best.avg_jct_s), as_percent(saved), second.policy,
      as_duration(second.avg_jct_s), with_interruptions(best), as_duration(best.avg_waiting_time_s),
      as_duration(second.avg_waiting_time_s), second.policy);
}

}  // namespace

std::vector<std::size_t> ranking(std::span<const ReportRun> runs) {
  const bool by_deadlines = has_deadlines(runs);
  std::int64_t most_completed = 0;
  for (const ReportRun& run : runs)
    most_completed = std::max(most_completed, run.summary.completed);
  // Who turns jobs away has short JCTs.
  const auto completes_most = [most_completed](const Summary& summary) {
    return most_completed - summary.completed < kHandful;
  };
  std::vector<std::size_t> ranked(runs.size());
  std::iota(ranked.begin(), ranked.end(), std::size_t{0});
  std::ranges::stable_sort(ranked, [&](std::size_t i, std::size_t j) {
    const Summary& a = runs[i].summary;
    const Summary& b = runs[j].summary;
    if (by_deadlines && a.deadline_met != b.deadline_met) return a.deadline_met > b.deadline_met;
    if (completes_most(a) != completes_most(b)) return completes_most(a);
    if (completed_nothing(a) || completed_nothing(b)) return !completed_nothing(a) && completed_nothing(b);
    return a.avg_jct_s < b.avg_jct_s;
  });
  return ranked;
}

std::string headline(const ReportInput& input) {
  const std::vector<ReportRun>& runs = input.runs;
  if (runs.size() == 1) return single_answer(input, runs.front().summary);
  std::vector<const Summary*> ranked;
  for (const std::size_t place : ranking(runs))
    ranked.push_back(&runs[place].summary);
  return has_deadlines(runs) ? deadline_answer(input, ranked) : jct_answer(ranked);
}

std::vector<std::string> hints(const ReportInput& input) {
  std::vector<std::string> sentences;
  const Summary& first = input.runs.front().summary;
  const auto all = [&](const auto& holds) {
    return std::ranges::all_of(input.runs, [&](const ReportRun& run) { return holds(run.summary); });
  };
  const bool anyone_ended =
      all([](const Summary& summary) { return !std::isnan(summary.avg_waiting_time_s); });
  const bool nobody_waits =
      anyone_ended && all([](const Summary& summary) { return summary.avg_waiting_time_s == 0; });
  const bool alike = input.runs.size() > 1 && all([&first](const Summary& summary) {
                       return summary.completed == first.completed && summary.avg_jct_s == first.avg_jct_s &&
                              summary.makespan_s == first.makespan_s && summary.preemptions == 0;
                     });
  constexpr std::string_view kRemedy =
      " Fewer nodes (--cluster) or a busier part of the trace (vtrain trace slice) would show differences.";
  if (nobody_waits) {
    sentences.push_back(
        "No job ever waited" +
        std::string(alike ? ": with this load on this cluster the policies cannot differ." : ".") +
        std::string(kRemedy));
  } else if (alike) {
    sentences.push_back("All policies gave the same result." + std::string(kRemedy));
  }
  const double load =
      trace_totals(*input.workload).offered_load(input.cluster.total_gpus(), input.gpus_are_shared);
  if (load > 1) {
    sentences.push_back(
        fmt::format("Offered load {}: jobs request more work than the cluster can do. The queue grows until "
                    "the last submission, so waits depend on the length of the trace.",
                    as_load(load)));
  }
  return sentences;
}

}  // namespace vtrain::report
