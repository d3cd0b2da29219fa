#include "sched/fragmentation_summary.hpp"

#include <algorithm>
#include <numeric>

namespace vtrain {

FragmentationSummary summarize_fragmentation(std::span<const FragmentationSample> samples, SimTime begin,
                                             SimTime end) {
  FragmentationSummary summary;
  const double span_s = to_seconds(end - begin);
  summary.interval_s = span_s / static_cast<double>(kFragmentationIntervals);
  std::vector<double> rate_seconds(kFragmentationIntervals);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const SimTime next = i + 1 < samples.size() ? samples[i + 1].time : end;
    double from = to_seconds(std::clamp(samples[i].time, begin, end) - begin);
    const double to = to_seconds(std::clamp(next, begin, end) - begin);
    if (from >= to) continue;
    summary.max_rate = std::max(summary.max_rate, samples[i].rate);
    auto interval =
        std::min(static_cast<std::size_t>(from / summary.interval_s), kFragmentationIntervals - 1);
    for (; from < to && interval < kFragmentationIntervals; ++interval) {
      const bool last = interval + 1 == kFragmentationIntervals;
      const double interval_end = last ? to : summary.interval_s * static_cast<double>(interval + 1);
      const double until = std::min(to, interval_end);
      rate_seconds[interval] += samples[i].rate * std::max(until - from, 0.0);
      from = std::max(from, until);
    }
  }
  summary.mean_rate = std::accumulate(rate_seconds.begin(), rate_seconds.end(), 0.0) / span_s;
  for (const double sum : rate_seconds)
    summary.mean_rate_by_interval.push_back(sum / summary.interval_s);
  return summary;
}

}  // namespace vtrain
