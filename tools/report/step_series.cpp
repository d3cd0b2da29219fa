#include "tools/report/step_series.hpp"

#include <algorithm>

namespace vtrain::report {

std::int64_t field_value(const ClusterSample& sample, SampleField field) {
  return field == SampleField::WaitingJobs ? std::int64_t{sample.waiting_jobs}
                                           : std::int64_t{sample.gpus_in_use.value};
}

SampleTimes make_sample_times(std::span<const SimulationResult* const> runs, std::size_t max_exact,
                              std::size_t num_spans) {
  SampleTimes grid;
  std::size_t num_samples = 0;
  bool any = false;
  for (const SimulationResult* run : runs) {
    if (run->samples.empty()) continue;
    const SimTime first = run->samples.front().time;
    const SimTime last = run->samples.back().time;
    grid.begin = any ? std::min(grid.begin, first) : first;
    grid.end = any ? std::max(grid.end, last) : last;
    any = true;
    num_samples += run->samples.size();
  }
  if (!any) return grid;
  // Many runs have most of their instants in common (the arrivals), so look before giving up exactness, but
  // not at millions.
  if (num_samples <= max_exact * runs.size()) {
    for (const SimulationResult* run : runs) {
      for (const ClusterSample& sample : run->samples)
        grid.times.push_back(sample.time);
    }
    std::ranges::sort(grid.times);
    grid.times.erase(std::unique(grid.times.begin(), grid.times.end()), grid.times.end());
    if (grid.times.size() <= max_exact) return grid;
    grid.times.clear();
  }
  grid.exact = false;
  const auto spans = static_cast<std::int64_t>(num_spans);
  const SimDuration width((grid.end - grid.begin).count() / spans + 1);
  for (std::int64_t i = 0; i < spans; ++i)
    grid.times.push_back(grid.begin + width * i);
  return grid;
}

StepSeries reduce_samples(std::span<const ClusterSample> samples, SampleField field,
                          const SampleTimes& grid) {
  StepSeries series;
  std::size_t next = 0;
  std::int64_t value = 0;
  for (std::size_t i = 0; i < grid.times.size(); ++i) {
    const SimTime begin = grid.times[i];
    // The last span ends just behind the last instant, so that its sample counts.
    const SimTime end =
        i + 1 < grid.times.size() ? grid.times[i + 1] : std::max(grid.end, begin) + SimDuration(1);
    SimTime since = begin;
    bool held = false;
    std::int64_t low = 0;
    std::int64_t high = 0;
    double area = 0;
    const auto hold_until = [&](SimTime until) {
      if (until == since) return;
      low = held ? std::min(low, value) : value;
      high = held ? std::max(high, value) : value;
      held = true;
      area += static_cast<double>(value) * static_cast<double>((until - since).count());
      since = until;
    };
    for (; next < samples.size() && samples[next].time < end; ++next) {
      hold_until(std::max(samples[next].time, begin));
      value = field_value(samples[next], field);
    }
    hold_until(end);
    series.low.push_back(low);
    series.high.push_back(high);
    // Equal bounds say the mean exactly; the quotient could be off by a rounding.
    series.mean.push_back(low == high ? static_cast<double>(low)
                                      : area / static_cast<double>((end - begin).count()));
  }
  return series;
}

}  // namespace vtrain::report
