#include "traces/trace_statistics.hpp"

#include <algorithm>
#include <limits>

namespace vtrain {
namespace {

using Hours = std::chrono::duration<double, std::ratio<3600>>;

/// Shares by id, as a list without empty ones.
std::vector<NamedShare> named_shares(const std::vector<JobShare>& shares, const NameTable& names) {
  std::vector<NamedShare> list;
  for (std::uint32_t i = 0; i < shares.size(); ++i) {
    if (shares[i].jobs > 0) list.push_back({names[i], shares[i]});
  }
  std::sort(list.begin(), list.end(), [](const NamedShare& a, const NamedShare& b) {
    return a.share.gpu_hours != b.share.gpu_hours ? a.share.gpu_hours > b.share.gpu_hours : a.name < b.name;
  });
  return list;
}

void add(JobShare& share, double gpu_hours) {
  ++share.jobs;
  share.gpu_hours += gpu_hours;
}

}  // namespace

Distribution describe(std::vector<SimDuration>& values) {
  Distribution result;
  if (values.empty()) return result;
  std::sort(values.begin(), values.end());
  result.count = static_cast<std::int64_t>(values.size());
  result.minimum = values.front();
  result.maximum = values.back();
  // In doubles: the nanoseconds of a year of jobs overflow 64 bits.
  Seconds sum{0};
  for (const SimDuration value : values)
    sum += value;
  result.mean = sum / static_cast<double>(result.count);
  for (std::size_t i = 0; i < Distribution::kPercents.size(); ++i) {
    const auto rank = (static_cast<std::size_t>(Distribution::kPercents[i]) * values.size() + 99) / 100;
    result.percentiles[i] = values[rank - 1];
  }
  return result;
}

double TraceStatistics::offered_load(GpuCount cluster) const {
  const double gpu_hours_offered = Hours(span()).count() * cluster.value;
  return gpu_hours_offered > 0 ? gpu_hours / gpu_hours_offered : std::numeric_limits<double>::quiet_NaN();
}

TraceStatistics trace_statistics(const Workload& workload) {
  TraceStatistics result;
  result.jobs = static_cast<std::int64_t>(workload.jobs.size());
  if (workload.jobs.empty()) return result;
  result.first_submit = workload.jobs.front().submit;
  result.last_submit = workload.jobs.back().submit;
  std::vector<JobShare> tenants(workload.tenants.size());
  std::vector<JobShare> models(workload.models.size());
  std::vector<SimDuration> durations;
  std::vector<SimDuration> gaps;
  durations.reserve(workload.jobs.size());
  gaps.reserve(workload.jobs.size());
  SimTime previous = result.first_submit;
  for (const Job& job : workload.jobs) {
    const double gpu_hours = Hours(job.duration).count() * job.num_gpus.value;
    result.gpu_hours += gpu_hours;
    add(result.by_num_gpus[job.num_gpus.value], gpu_hours);
    if (job.tenant) add(tenants[job.tenant.value], gpu_hours);
    if (job.model) add(models[job.model.value], gpu_hours);
    if (job.duration.count() > 0) {
      durations.push_back(job.duration);
    } else {
      ++result.unpriced;
    }
    result.with_deadline += job.has_deadline() ? 1 : 0;
    result.with_requested_time += job.requested_time.count() > 0 ? 1 : 0;
    if (&job != &workload.jobs.front()) gaps.push_back(job.submit - previous);
    previous = job.submit;
  }
  result.tenants = named_shares(tenants, workload.tenants);
  result.models = named_shares(models, workload.models);
  result.duration = describe(durations);
  result.inter_arrival = describe(gaps);
  return result;
}

}  // namespace vtrain
