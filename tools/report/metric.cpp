#include "tools/report/metric.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "sched/metrics/metrics.hpp"
#include "tools/format/text_format.hpp"

namespace vtrain {
namespace {

std::string as_count(double value) {
  return with_thousands(std::llround(value));
}
std::string as_ratio(double value) {
  return std::isnan(value) ? "-" : fmt::format("{:.3f}", value);
}
std::string as_fairness(double value) {
  return value < 100 ? fmt::format("{:.2f}", value) : short_number(value);
}

constexpr std::array kReplayMetrics{
    Metric{.title = "Deadlines met",
           .short_title = "deadlines met",
           .meaning = "share of the jobs with a deadline that completed by it",
           .better = Better::Higher,
           .value = [](const Summary& s) { return s.deadline_satisfactory_ratio.value_or(kNoValue); },
           .show = as_percent},
    Metric{.title = "Average JCT",
           .short_title = "avg JCT",
           .meaning = "job completion time, end minus submission, over completed jobs",
           .better = Better::Lower,
           .value = [](const Summary& s) { return s.avg_jct_s; },
           .show = as_duration},
    Metric{.title = "Median JCT",
           .meaning = "half of the completed jobs took at most this long",
           .better = Better::Lower,
           .value = [](const Summary& s) { return s.p50_jct_s; },
           .show = as_duration},
    Metric{.title = "p99 JCT",
           .short_title = "p99 JCT",
           .meaning = "99 % of the completed jobs took at most this long",
           .better = Better::Lower,
           .value = [](const Summary& s) { return s.p99_jct_s; },
           .show = as_duration},
    Metric{.title = "Average wait",
           .short_title = "avg wait",
           .meaning =
               "time without GPUs between submission and end, also after being stopped, over jobs that ended",
           .better = Better::Lower,
           .value = [](const Summary& s) { return s.avg_waiting_time_s; },
           .show = as_duration},
    Metric{.title = "Makespan",
           .short_title = "makespan",
           .meaning = "last end minus first submission",
           .better = Better::Lower,
           .value = [](const Summary& s) { return s.makespan_s; },
           .show = as_days},
    Metric{.title = "GPUs in use",
           .short_title = "GPUs in use",
           .meaning = "GPU-seconds held, of all GPUs until the last one is given back",
           .better = Better::Higher,
           .value = [](const Summary& s) { return s.gpu_utilization; },
           .show = as_percent},
    Metric{.title = "Worst fairness",
           .meaning = "largest finish-time fairness of a job: its JCT divided by that on an equal share of "
                      "the cluster; 1 is fair",
           .better = Better::Lower,
           .value = [](const Summary& s) { return s.finish_time_fairness_max; },
           .show = as_fairness},
    Metric{.title = "Jain index",
           .meaning = "evenness of finish-time fairness over the jobs, in (0, 1]; 1 is equal treatment",
           .better = Better::Higher,
           .value = [](const Summary& s) { return s.jain_index; },
           .show = as_ratio},
    Metric{.title = "Preemptions",
           .short_title = "preemptions",
           .meaning = "times that a running job lost its GPUs",
           .value = [](const Summary& s) { return static_cast<double>(s.preemptions); },
           .show = as_count},
    Metric{.title = "Not completed",
           .meaning = "jobs rejected, failed or unfinished. Averages do not count them; of times, the best "
                      "are those of the policies that completed the most jobs",
           .value = [](const Summary& s) { return static_cast<double>(s.jobs - s.completed); },
           .show = as_count,
           .hides_zero = true},
};

/// What a replay says of its disruptions; NaN for one in which nothing could cost jobs time.
double disrupted(const Summary& summary, double (*value)(const DisruptionSummary&)) {
  return summary.disruptions ? value(*summary.disruptions) : kNoValue;
}

/// GPU-hours lost to one cause.
template <std::size_t cause>
double lost_to(const Summary& summary) {
  return disrupted(summary, [](const auto& d) { return d.lost_gpu_hours[cause]; });
}

template <std::size_t... causes>
constexpr auto make_loss_metrics(std::index_sequence<causes...>) {
  return std::array{
      Metric{.title = "Goodput",
             .meaning = "GPU-hours of work that lasts, of all GPUs until the last one is given back",
             .better = Better::Higher,
             .value = [](const Summary& s) { return disrupted(s, [](const auto& d) { return d.goodput; }); },
             .show = as_percent},
      Metric{
          .title = "Useful GPU-hours",
          .meaning = "held by jobs for work that lasts",
          .value =
              [](const Summary& s) { return disrupted(s, [](const auto& d) { return d.useful_gpu_hours; }); },
          .show = short_number},
      Metric{.title = kLossCauses[causes].title,
             .meaning = kLossCauses[causes].meaning,
             .better = Better::Lower,
             .value = lost_to<causes>,
             .show = short_number}...,
      Metric{.title = "Out of service",
             .meaning = "GPU-hours of nodes that were away",
             .value =
                 [](const Summary& s) {
                   return disrupted(s, [](const auto& d) { return d.out_of_service_gpu_hours; });
                 },
             .show = short_number},
      Metric{.title = "Jobs stopped",
             .meaning = "times that a failing node stopped a job",
             .value =
                 [](const Summary& s) {
                   return disrupted(s, [](const auto& d) { return static_cast<double>(d.interruptions); });
                 },
             .show = as_count},
  };
}

constexpr auto kLossMetrics = make_loss_metrics(std::make_index_sequence<kNumLossCauses>());

}  // namespace

std::span<const Metric> replay_metrics() {
  return kReplayMetrics;
}

std::span<const Metric> loss_metrics() {
  return kLossMetrics;
}

std::vector<bool> best_replays(const Metric& metric, std::span<const Summary* const> replays) {
  std::int64_t most_completed = 0;
  for (const Summary* replay : replays)
    most_completed = std::max(most_completed, replay->completed);
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  std::vector<std::string> shown;  // empty: not compared
  for (const Summary* replay : replays) {
    const double value = metric.value(*replay);
    const bool compared =
        !std::isnan(value) && (metric.better == Better::Higher || replay->completed == most_completed);
    shown.push_back(compared ? metric.show(value) : "");
    if (!compared) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  std::vector<bool> best(replays.size(), false);
  if (metric.better == Better::Neither || low > high || metric.show(low) == metric.show(high)) return best;
  const std::string best_shown = metric.show(metric.better == Better::Lower ? low : high);
  std::transform(shown.begin(), shown.end(), best.begin(),
                 [&](const std::string& text) { return text == best_shown; });
  return best;
}

std::string_view meaning_of_stars(std::span<const Summary* const> replays) {
  const bool all_alike = std::ranges::all_of(
      replays, [&](const Summary* replay) { return replay->completed == replays.front()->completed; });
  return all_alike ? "* best"
                   : "* best; where less is better, among the policies that completed the most jobs";
}

}  // namespace vtrain
