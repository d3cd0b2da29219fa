#include "sched/metrics/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sched/cluster/gpu_types.hpp"

namespace vtrain {
namespace {

/// Adds up the number of active jobs (submitted, not turned away, not ended) over time.
class ActiveJobs {
 public:
  /// Sum of active jobs x seconds until now.
  double job_seconds() const { return job_seconds_; }
  void advance_to(SimTime time) {
    job_seconds_ += static_cast<double>(active_) * to_seconds(time - now_);
    now_ = time;
  }
  void add(std::int64_t change) { active_ += change; }

 private:
  SimTime now_{};
  std::int64_t active_ = 0;
  double job_seconds_ = 0;
};

/// Jobs that ended, in the order of their ends.
std::vector<JobId> by_end(const SimulationResult& result) {
  std::vector<JobId> ended;
  for (std::uint32_t i = 0; i < result.outcomes.size(); ++i) {
    if (has_ended(result.outcomes[i])) ended.emplace_back(i);
  }
  std::sort(ended.begin(), ended.end(), [&](JobId a, JobId b) {
    const SimTime end_a = result.outcomes[a.value].end;
    const SimTime end_b = result.outcomes[b.value].end;
    return end_a != end_b ? end_a < end_b : a < b;
  });
  return ended;
}

/// Finish-time fairness of every job in `ended`; NaN for one that did not complete. One sweep over
/// submissions and ends.
std::vector<double> finish_time_fairness(const Workload& workload, double total_gpus,
                                         const SimulationResult& result, const std::vector<JobId>& ended) {
  std::vector<double> fairness;
  fairness.reserve(ended.size());
  std::vector<double> job_seconds_at_submission(workload.jobs.size());
  ActiveJobs active;
  if (!workload.jobs.empty()) active.advance_to(workload.jobs.front().submit);
  std::size_t next = 0;
  for (const JobId id : ended) {
    const JobOutcome& outcome = result.outcomes[id.value];
    for (; next < workload.jobs.size() && workload.jobs[next].submit <= outcome.end; ++next) {
      if (result.outcomes[next].state == JobState::Rejected) continue;
      active.advance_to(workload.jobs[next].submit);
      job_seconds_at_submission[next] = active.job_seconds();
      active.add(1);
    }
    active.advance_to(outcome.end);
    active.add(-1);
    if (outcome.state != JobState::Completed) {
      fairness.push_back(kNoValue);
      continue;
    }
    const Job& job = workload.jobs[id.value];
    const double jct = to_seconds(job_completion_time(job, outcome));
    const double mean_active = (active.job_seconds() - job_seconds_at_submission[id.value]) / jct;
    const double slowdown = std::max(1.0, static_cast<double>(job.num_gpus.value) * mean_active / total_gpus);
    fairness.push_back(jct / (to_seconds(job.duration) * slowdown));
  }
  return fairness;
}

/// Mean over time of the GPUs in use from `begin` to `end`, which is later.
double mean_gpus_in_use(std::span<const ClusterSample> samples, SimTime begin, SimTime end) {
  double gpu_seconds = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const SimTime from = std::max(samples[i].time, begin);
    const SimTime until = std::min(i + 1 < samples.size() ? samples[i + 1].time : end, end);
    if (until > from) gpu_seconds += to_seconds(until - from) * samples[i].gpus_in_use.value;
  }
  return gpu_seconds / to_seconds(end - begin);
}

double mean(const std::vector<double>& values) {
  if (values.empty()) return kNoValue;
  double sum = 0;
  for (const double value : values)
    sum += value;
  return sum / static_cast<double>(values.size());
}

void summarize_fairness(const std::vector<double>& fairness, JobFigures& summary) {
  if (fairness.empty()) return;
  double sum = 0;
  double sum_of_squares = 0;
  for (const double value : fairness) {
    sum += 1 / value;
    sum_of_squares += 1 / (value * value);
  }
  summary.finish_time_fairness_max = *std::max_element(fairness.begin(), fairness.end());
  summary.jain_index = sum * sum / (static_cast<double>(fairness.size()) * sum_of_squares);
}

void count_state(JobState state, JobFigures& summary) {
  switch (state) {
    case JobState::Completed:
      ++summary.completed;
      break;
    case JobState::Failed:
      ++summary.failed;
      break;
    case JobState::Rejected:
      ++summary.rejected;
      break;
    case JobState::NotSubmitted:
    case JobState::Waiting:
    case JobState::Running:
    case JobState::Unfinished:
    case JobState::Cancelled:
      ++summary.unfinished;
      break;
  }
}

/// One job of a replay, with all that the figures need.
struct CountedJob {
  const Job& job;
  const JobOutcome& outcome;
  bool lacks_type = false;        ///< the cluster lacks the GPU type that the job needs
  std::optional<GpuTime> lost{};  ///< GPU time without lasting work; none: not known
  bool has_prices = false;        ///< some GPUs have a price
  std::optional<double> cost{};   ///< cost, dollars; none: not known
};

/// Collects the figures over a set of jobs.
class JobFigureCollector {
 public:
  void add(const CountedJob& counted) {
    const Job& job = counted.job;
    const JobOutcome& outcome = counted.outcome;
    ++figures_.jobs;
    count_state(outcome.state, figures_);
    if (outcome.rejected_by_policy) ++figures_.rejected_by_policy;
    if (counted.lacks_type) ++figures_.lacking_type;
    add_deadline(job, outcome);
    add_gpu_time(counted);
    figures_.preemptions += outcome.preemptions;
    figures_.resizes += outcome.resizes;
    if (outcome.state == JobState::Completed) {
      jct_s_.push_back(to_seconds(job_completion_time(job, outcome)));
      slowdowns_ += std::max(1.0, jct_s_.back() / to_seconds(std::max(job.duration, kSlowdownThreshold)));
    }
    if (has_ended(outcome)) waiting_s_.push_back(to_seconds(waiting_time(job, outcome)));
    if (has_started(outcome)) delay_s_.push_back(to_seconds(queueing_delay(job, outcome)));
  }

  /// Adds the finish-time fairness of one completed job.
  void add_fairness(double fairness) { fairness_.push_back(fairness); }

  /// GPU-hours that the added jobs held.
  double gpu_hours() const { return held_.seconds() / kSecondsPerHour; }

  /// Figures over the added jobs.
  JobFigures take() {
    JobFigures figures = figures_;
    if (figures.deadline_jobs > 0) {
      figures.deadline_satisfactory_ratio =
          static_cast<double>(figures.deadline_met) / static_cast<double>(figures.deadline_jobs);
    }
    if (deadline_gpu_seconds_ > 0)
      figures.deadline_satisfactory_ratio_by_gpu_hours = met_gpu_seconds_ / deadline_gpu_seconds_;
    figures.avg_tardiness_s = mean(tardiness_s_);
    figures.p95_tardiness_s = percentile(tardiness_s_, 95);
    if (lost_ && figures.jobs > 0) {
      figures.total_lost_gpu_hours = lost_->seconds() / kSecondsPerHour;
      figures.useful_gpu_hours = (held_.seconds() - lost_->seconds()) / kSecondsPerHour;
      if (held_.seconds() > 0) figures.runtime_goodput = figures.useful_gpu_hours / gpu_hours();
    }
    if (cost_ && figures.unpriced_jobs == 0) figures.cost = *cost_;
    figures.avg_jct_s = mean(jct_s_);
    figures.p50_jct_s = percentile(jct_s_, 50);
    figures.p99_jct_s = percentile(jct_s_, 99);
    figures.avg_queueing_delay_s = mean(delay_s_);
    figures.avg_waiting_time_s = mean(waiting_s_);
    figures.p50_waiting_time_s = percentile(waiting_s_, 50);
    figures.p99_waiting_time_s = percentile(waiting_s_, 99);
    if (figures.completed > 0) figures.bounded_slowdown = slowdowns_ / static_cast<double>(figures.completed);
    summarize_fairness(fairness_, figures);
    return figures;
  }

 private:
  void add_deadline(const Job& job, const JobOutcome& outcome) {
    if (!job.has_deadline()) return;
    ++figures_.deadline_jobs;
    const bool met = deadline_met(job, outcome);
    if (met) ++figures_.deadline_met;
    const double gpu_seconds = to_seconds(job.duration) * job.num_gpus.value * job.gpu_share;
    deadline_gpu_seconds_ += gpu_seconds;
    if (met) met_gpu_seconds_ += gpu_seconds;
    if (const auto late = tardiness(job, outcome)) tardiness_s_.push_back(to_seconds(*late));
    const PromiseFate fate = promise_fate(job, outcome);
    figures_.promises_given += fate != PromiseFate::None ? 1 : 0;
    figures_.promises_kept += fate == PromiseFate::Kept ? 1 : 0;
    figures_.promises_broken += fate == PromiseFate::Broken ? 1 : 0;
  }

  void add_gpu_time(const CountedJob& counted) {
    held_.add(counted.outcome.gpu_time);
    if (lost_ && counted.lost)
      lost_->add(*counted.lost);
    else
      lost_.reset();
    if (!counted.has_prices) return;
    if (!counted.cost) ++figures_.unpriced_jobs;
    cost_ = cost_.value_or(0) + counted.cost.value_or(0);
  }

  JobFigures figures_;
  GpuTime held_;
  std::optional<GpuTime> lost_ = GpuTime();  ///< none once the losses of a job are not known
  std::optional<double> cost_;               ///< dollars, without unpriced jobs; none without prices
  std::vector<double> tardiness_s_;
  std::vector<double> jct_s_;
  std::vector<double> delay_s_;
  std::vector<double> waiting_s_;
  std::vector<double> fairness_;
  double slowdowns_ = 0;             ///< sum over completed jobs
  double deadline_gpu_seconds_ = 0;  ///< thousandths of GPUs x s of jobs with a deadline
  double met_gpu_seconds_ = 0;       ///< thousandths of GPUs x s of jobs that met it
};

/// Collects the figures over the jobs of each group.
class GroupCollector {
 public:
  GroupCollector(const Workload& workload, JobGrouping grouping)
      : grouping_(grouping), groups_(workload, grouping), figures_(groups_.size()) {}

  void add(const CountedJob& counted) { figures_[groups_.of(counted.job)].add(counted); }
  void add_fairness(const Job& job, double fairness) { figures_[groups_.of(job)].add_fairness(fairness); }

  GroupedFigures take() {
    GroupedFigures grouped{grouping_};
    for (std::size_t i = 0; i < figures_.size(); ++i) {
      JobFigures figures = figures_[i].take();
      if (figures.jobs == 0) continue;
      grouped.groups.push_back({groups_.name(i), figures_[i].gpu_hours(), std::move(figures)});
    }
    return grouped;
  }

 private:
  JobGrouping grouping_;
  JobGroups groups_;
  std::vector<JobFigureCollector> figures_;  ///< [groups]
};

/// Collects the figures over all jobs and those of groups.
class FigureCollectors {
 public:
  FigureCollectors(const Workload& workload, std::optional<JobGrouping> by) {
    if (workload.tenants.size() > 0) grouped_.emplace_back(workload, JobGrouping::Tenant);
    if (by && by != JobGrouping::Tenant) grouped_.emplace_back(workload, *by);
  }

  void add(const CountedJob& counted) {
    all_.add(counted);
    for (GroupCollector& groups : grouped_)
      groups.add(counted);
  }
  void add_fairness(const Job& job, double fairness) {
    all_.add_fairness(fairness);
    for (GroupCollector& groups : grouped_)
      groups.add_fairness(job, fairness);
  }

  void take(Summary& summary, std::optional<JobGrouping> by) {
    static_cast<JobFigures&>(summary) = all_.take();
    for (GroupCollector& groups : grouped_) {
      GroupedFigures figures = groups.take();
      figures.is_asked = figures.grouping == by;
      // One tenant alone is all jobs.
      if (figures.groups.size() > 1 || figures.is_asked) summary.grouped.push_back(std::move(figures));
    }
  }

 private:
  JobFigureCollector all_;
  std::vector<GroupCollector> grouped_;
};

}  // namespace

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

SimDuration job_completion_time(const Job& job, const JobOutcome& outcome) {
  return outcome.end - job.submit;
}

SimDuration queueing_delay(const Job& job, const JobOutcome& outcome) {
  return outcome.start - job.submit;
}

SimDuration waiting_time(const Job& job, const JobOutcome& outcome) {
  // Where a policy works in slots, a job may hold GPUs after its end.
  return std::max(job_completion_time(job, outcome) - outcome.attained, queueing_delay(job, outcome));
}

bool has_ended(const JobOutcome& outcome) {
  return outcome.state == JobState::Completed || outcome.state == JobState::Failed;
}

bool has_started(const JobOutcome& outcome) {
  return has_ended(outcome) || outcome.attained.count() > 0;
}

bool deadline_met(const Job& job, const JobOutcome& outcome) {
  return job.has_deadline() && outcome.state == JobState::Completed && outcome.finished <= job.deadline;
}

std::optional<SimDuration> tardiness(const Job& job, const JobOutcome& outcome) {
  if (!job.has_deadline() || outcome.state != JobState::Completed) return std::nullopt;
  return std::max(outcome.finished, job.deadline) - job.deadline;
}

PromiseFate promise_fate(const Job& job, const JobOutcome& outcome) {
  if (!outcome.has_promise() || !job.has_deadline() || outcome.state == JobState::Cancelled)
    return PromiseFate::None;
  return deadline_met(job, outcome) ? PromiseFate::Kept : PromiseFate::Broken;
}

double percentile(std::vector<double>& values, double percent) {
  if (values.empty()) return kNoValue;
  const auto size = static_cast<double>(values.size());
  const double rank = std::clamp(std::ceil(percent / 100 * size), 1.0, size);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank) - 1;
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

Summary summarize(const Workload& workload, const ClusterSpec& cluster, const SimulationResult& result,
                  std::string policy, std::optional<JobGrouping> by, const GpuPrices& prices) {
  Summary summary;
  summary.policy = std::move(policy);
  summary.events = result.events;
  summary.figures = result.figures;
  summary.stopped_early = result.stopped_early;
  FigureCollectors figures(workload, by);
  GpuTime held;
  const GpuTypes types(cluster, workload.gpu_types);
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
    const Job& job = workload.jobs[i];
    const JobOutcome& outcome = result.outcomes[i];
    CountedJob counted{.job = job, .outcome = outcome, .has_prices = !prices.empty()};
    counted.lacks_type = outcome.state == JobState::Rejected && !outcome.rejected_by_policy &&
                         types.allowed(job.gpu_type).empty();
    if (result.losses_known) counted.lost = result.losses.empty() ? GpuTime() : result.losses[i].total();
    if (counted.has_prices) counted.cost = prices.cost(result, JobId(static_cast<std::uint32_t>(i)));
    figures.add(counted);
    held.add(outcome.gpu_time);
  }
  const auto total_gpus = static_cast<double>(cluster.total_gpus().value);
  const std::vector<JobId> ended = by_end(result);
  const std::vector<double> fairness = finish_time_fairness(workload, total_gpus, result, ended);
  for (std::size_t i = 0; i < ended.size(); ++i) {
    if (!std::isnan(fairness[i])) figures.add_fairness(workload.jobs[ended[i].value], fairness[i]);
  }
  figures.take(summary, by);

  const SimTime first_submission = workload.jobs.empty() ? SimTime{} : workload.jobs.front().submit;
  const SimTime last_held = std::max(result.last_release, first_submission);
  if (last_held > first_submission) {
    GpuTime available;
    available.add(last_held - first_submission, cluster.total_gpus());
    summary.gpu_utilization = held.seconds() / available.seconds();
  }
  const SimTime last_submission = workload.jobs.empty() ? SimTime{} : workload.jobs.back().submit;
  if (last_submission > first_submission) {
    summary.gpu_utilization_without_drain =
        mean_gpus_in_use(result.samples, first_submission, last_submission) / total_gpus;
  }
  if (!result.losses.empty())
    summary.disruptions = summarize_disruptions(result, cluster, first_submission, last_held);
  if (!ended.empty()) {
    summary.makespan_s = to_seconds(result.outcomes[ended.back().value].end - first_submission);
    if (!result.fragmentation.empty()) {
      summary.fragmentation = summarize_fragmentation(result.fragmentation, workload.jobs.front().submit,
                                                      result.outcomes[ended.back().value].end);
    }
  }
  return summary;
}

}  // namespace vtrain
