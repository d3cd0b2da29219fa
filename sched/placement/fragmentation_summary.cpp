#include "sched/placement/fragmentation_summary.hpp"

#include <algorithm>
#include <numeric>

namespace vtrain {

FragmentationSummary summarize_fragmentation(std::span<const FragmentationSample> samples, SimTime begin,
                                             SimTime end) {
  FragmentationSummary summary;
  const SimDuration span = end - begin;
  summary.interval_s = to_seconds(span) / kFragmentationIntervals;
  const auto end_of_interval = [&](int interval) {
    return interval + 1 == kFragmentationIntervals ? end
                                                   : begin + span / kFragmentationIntervals * (interval + 1);
  };
  std::vector<double> sums(kFragmentationIntervals);  // of rate x nanoseconds
  SimTime now = begin;
  int interval = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const SimTime until = i + 1 < samples.size() ? std::min(samples[i + 1].time, end) : end;
    if (samples[i].time > now) now = std::min(samples[i].time, end);
    if (now < until) summary.max_rate = std::max(summary.max_rate, samples[i].rate);
    while (now < until) {
      while (end_of_interval(interval) <= now)
        ++interval;
      const SimTime next = std::min(until, end_of_interval(interval));
      sums[static_cast<std::size_t>(interval)] += samples[i].rate * static_cast<double>((next - now).count());
      now = next;
    }
  }
  summary.mean_rate = std::accumulate(sums.begin(), sums.end(), 0.0) / static_cast<double>(span.count());
  SimTime interval_begin = begin;
  for (int i = 0; i < kFragmentationIntervals; ++i) {
    const auto length = static_cast<double>((end_of_interval(i) - interval_begin).count());
    summary.mean_rate_by_interval.push_back(length > 0 ? sums[static_cast<std::size_t>(i)] / length : 0.0);
    interval_begin = end_of_interval(i);
  }
  return summary;
}

}  // namespace vtrain
