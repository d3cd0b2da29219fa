#include "traces/editing/statistics.hpp"

#include <algorithm>
#include <limits>

namespace vtrain {
namespace {

using Hours = std::chrono::duration<double, std::ratio<3600>>;

/// Shares by id, as a list without empty shares.
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

/// The share of the name with this id, if there is one.
template <class NameId>
void add(std::vector<JobShare>& shares, NameId id, double gpu_hours) {
  if (id) add(shares[id.value], gpu_hours);
}

std::vector<NamedShare> status_shares(const std::vector<JobShare>& shares, std::int64_t jobs) {
  std::vector<NamedShare> list;
  if (shares[static_cast<std::size_t>(JobStatus::Unknown)].jobs == jobs) return list;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i].jobs > 0) list.push_back({std::string(status_names()[i]), shares[i]});
  }
  return list;
}

/// Counts the job in the numbers of jobs that have a certain field.
void count_fields(const Job& job, TraceStatistics& result) {
  result.with_work += job.iterations > 0 ? 1 : 0;
  result.with_deadline += job.has_deadline() ? 1 : 0;
  result.with_requested_time += job.requested_time.count() > 0 ? 1 : 0;
  result.with_original_start += job.original_start != Job::kNoStart ? 1 : 0;
  result.on_shared_gpus += job.shares_gpus() ? 1 : 0;
  result.elastic += job.max_gpus.value > 0 ? 1 : 0;
}

}  // namespace

FirstShares first_shares(std::span<const NamedShare> shares, std::size_t most) {
  FirstShares first{.shown = shares.first(std::min(most, shares.size()))};
  for (const NamedShare& share : shares.subspan(first.shown.size())) {
    first.others.jobs += share.share.jobs;
    first.others.gpu_hours += share.share.gpu_hours;
    ++first.num_others;
  }
  return first;
}

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

double TraceTotals::offered_load(GpuCount cluster, bool gpus_are_shared) const {
  const double gpu_hours_offered = Hours(span()).count() * cluster.value;
  return gpu_hours_offered > 0 && unpriced == 0 ? gpu_hours_of(gpus_are_shared) / gpu_hours_offered
                                                : std::numeric_limits<double>::quiet_NaN();
}

namespace {

double gpu_hours_of(const Job& job) {
  return Hours(job.duration).count() * job.num_gpus.value;
}

}  // namespace

TraceTotals trace_totals(const Workload& workload) {
  TraceTotals totals;
  totals.jobs = static_cast<std::int64_t>(workload.jobs.size());
  if (workload.jobs.empty()) return totals;
  totals.first_submit = workload.jobs.front().submit;
  totals.last_submit = workload.jobs.back().submit;
  for (const Job& job : workload.jobs) {
    const double gpu_hours = gpu_hours_of(job);
    totals.gpu_hours += gpu_hours;
    totals.used_gpu_hours += gpu_hours * job.gpu_share / kWholeGpu;
    totals.unpriced += job.duration.count() == 0 ? 1 : 0;
  }
  return totals;
}

TraceStatistics trace_statistics(const Workload& workload) {
  TraceStatistics result;
  static_cast<TraceTotals&>(result) = trace_totals(workload);
  if (workload.jobs.empty()) return result;
  std::vector<JobShare> tenants(workload.tenants.size());
  std::vector<JobShare> users(workload.users.size());
  std::vector<JobShare> gpu_types(workload.gpu_types.size());
  std::vector<JobShare> models(workload.models.size());
  std::vector<JobShare> statuses(status_names().size());
  std::vector<SimDuration> durations;
  std::vector<SimDuration> gaps;
  std::vector<SimDuration> waits;
  durations.reserve(workload.jobs.size());
  gaps.reserve(workload.jobs.size());
  SimTime previous = result.first_submit;
  for (const Job& job : workload.jobs) {
    const double gpu_hours = gpu_hours_of(job);
    count_fields(job, result);
    add(result.by_num_gpus[job.num_gpus.value], gpu_hours);
    add(tenants, job.tenant, gpu_hours);
    add(users, job.user, gpu_hours);
    add(gpu_types, job.gpu_type, gpu_hours);
    add(models, job.model, gpu_hours);
    add(statuses[static_cast<std::size_t>(job.status)], gpu_hours);
    if (job.duration.count() > 0) durations.push_back(job.duration);
    if (job.original_start != Job::kNoStart) waits.push_back(job.original_start - job.submit);
    if (&job != &workload.jobs.front()) gaps.push_back(job.submit - previous);
    previous = job.submit;
  }
  result.tenants = named_shares(tenants, workload.tenants);
  result.users = named_shares(users, workload.users);
  result.gpu_types = named_shares(gpu_types, workload.gpu_types);
  result.models = named_shares(models, workload.models);
  result.statuses = status_shares(statuses, result.jobs);
  result.duration = describe(durations);
  result.inter_arrival = describe(gaps);
  result.recorded_wait = describe(waits);
  return result;
}

}  // namespace vtrain
