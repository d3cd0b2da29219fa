#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/io/json_reader.hpp"
#include "tools/experiment/admission_request.hpp"
#include "tools/experiment/earliest_deadline.hpp"
#include "tools/experiment/eta.hpp"
#include "tools/experiment/prediction_error.hpp"
#include "tools/serve/live_jobs.hpp"

namespace vtrain::serve {
namespace {

JobPhase phase_of(JobState state) {
  switch (state) {
    case JobState::Running:
      return JobPhase::Running;
    case JobState::Completed:
      return JobPhase::Completed;
    case JobState::Failed:
      return JobPhase::Failed;
    case JobState::Rejected:
      return JobPhase::Refused;
    case JobState::Cancelled:
      return JobPhase::Cancelled;
    case JobState::NotSubmitted:
    case JobState::Waiting:
    case JobState::Unfinished:
      break;
  }
  return JobPhase::Waiting;
}

Result<ServedJob> read_past(const PastJob& past) {
  const auto document = JsonDocument::parse(past.body, "state");
  if (!document) return fail(document.error());
  return served_job_from(*document, document->root());
}

}  // namespace

ServedJob LiveJobs::view(const Record& record) const {
  ServedJob job = record.known;
  job.held_gpus = 0;
  if (!record.simulated) return job;
  const Simulation& simulation = simulation_.admission->simulation();
  const JobOutcome outcome = simulation.outcome(record.simulated);
  job.promised = outcome.has_promise() && record.said != JobPhase::Refused;
  job.phase = record.said.value_or(phase_of(outcome.state));
  if (outcome.state == JobState::Running || outcome.state == JobState::Waiting) {
    const LiveJob live = simulation.live_job(record.simulated);
    job.held_gpus = live.num_gpus.value;
    if (live.has_started) job.started = unix_time(outcome.start);
    const double part = simulation.part_done(record.simulated, sim_time(now_));
    job.progress = record.known.report.progress_at(part);
    return job;
  }
  if (outcome.start != SimTime{} || outcome.attained.count() > 0) job.started = unix_time(outcome.start);
  if (!record.said) {
    job.ended = unix_time(outcome.state == JobState::Completed ? outcome.finished : outcome.end);
    job.progress = job.phase == JobPhase::Completed ? 1 : 0;
  }
  return job;
}

std::optional<ServedJob> LiveJobs::find(std::int64_t id) {
  {
    const std::unique_lock lock(mutex_);
    if (!move_to(time_now())) return std::nullopt;
    if (const auto found = records_.find(id); found != records_.end()) return view(found->second);
  }
  const auto past = store_.past({.below = id + 1, .limit = 1});
  if (!past || past->empty() || past->front().id != id) return std::nullopt;
  auto job = read_past(past->front());
  return job ? std::optional(*std::move(job)) : std::nullopt;
}

Result<std::vector<ServedJob>> LiveJobs::list(const JobFilter& filter) {
  std::vector<ServedJob> jobs;
  {
    const std::unique_lock lock(mutex_);
    if (auto moved = move_to(time_now()); !moved) return fail(std::move(moved.error()));
    for (auto record = records_.lower_bound(filter.below);
         record != records_.begin() && jobs.size() < filter.limit;) {
      --record;
      ServedJob job = view(record->second);
      const bool is_wanted = (!filter.tenant || job.job.tenant == *filter.tenant) &&
                             (!filter.phase || job.phase == *filter.phase);
      if (is_wanted) jobs.push_back(std::move(job));
    }
  }
  PastQuery query{.below = filter.below, .limit = filter.limit, .tenant = filter.tenant};
  if (filter.phase) query.state = std::string(name_of(*filter.phase));
  const auto past = store_.past(query);
  if (!past) return fail(past.error());
  for (const PastJob& each : *past) {
    auto job = read_past(each);
    if (!job) return fail(std::move(job.error()));
    jobs.push_back(*std::move(job));
  }
  const auto id = [](const ServedJob& job) { return job.job.id; };
  std::ranges::stable_sort(jobs, std::ranges::greater{}, id);
  // A job may have moved to the past meanwhile.
  const auto is_same = [&](const ServedJob& a, const ServedJob& b) { return id(a) == id(b); };
  jobs.erase(std::unique(jobs.begin(), jobs.end(), is_same), jobs.end());
  if (jobs.size() > filter.limit) jobs.resize(filter.limit);
  return jobs;
}

Result<std::optional<JobForecast>> LiveJobs::forecast(std::int64_t id) {
  const std::shared_lock lock(mutex_);
  const auto found = records_.find(id);
  if (found == records_.end() || !found->second.simulated || !view(found->second).is_live())
    return std::nullopt;
  const auto all = simulation_.admission->forecast();
  if (!all) return fail(all.error());
  const JobOutcome& outcome =
      (*all)->outcomes[simulation_.admission->number_of(found->second.simulated).value];
  JobForecast forecast;
  const bool starts = outcome.state == JobState::Completed || outcome.attained.count() > 0;
  if (starts) forecast.start = unix_time(outcome.start);
  if (outcome.state == JobState::Completed) forecast.end = unix_time(outcome.finished);
  const UnixTime deadline = found->second.known.job.deadline_ns;
  forecast.in_time = deadline == 0 || (forecast.end && *forecast.end <= deadline);
  return forecast;
}

std::vector<ServedNode> LiveJobs::nodes() const {
  std::vector<ServedNode> nodes = setting_->nodes();
  for (std::size_t i = 0; i < node_names_.size(); ++i)
    nodes[i].name = node_names_[i];
  for (const auto& [number, state] : out_of_service_)
    nodes[number].state = state;
  return nodes;
}

JobCounts LiveJobs::count() const {
  JobCounts counts{.gpus = setting_->cluster().total_gpus().value, .promises = past_promises_};
  for (const auto& [number, state] : out_of_service_)
    counts.gpus_out_of_service += setting_->nodes()[number].gpus;
  for (const auto& [id, record] : records_) {
    const ServedJob job = view(record);
    counts.gpus_in_use += job.held_gpus;
    counts.running += job.phase == JobPhase::Running ? 1 : 0;
    counts.waiting += job.phase == JobPhase::Waiting ? 1 : 0;
    counts.promises.add(job);
  }
  return counts;
}

JobCounts LiveJobs::counts() {
  const std::unique_lock lock(mutex_);
  static_cast<void>(move_to(time_now()));  // a simulation that cannot go on tells its last state
  return count();
}

Result<ServedCluster> LiveJobs::cluster() {
  {
    const std::unique_lock lock(mutex_);
    if (auto moved = move_to(time_now()); !moved) return fail(std::move(moved.error()));
  }
  const std::shared_lock lock(mutex_);
  ServedCluster cluster{
      .now = now_, .setup = setting_->setup(), .nodes = nodes(), .counts = count(), .drift = drift_};
  const auto all = simulation_.admission->forecast();
  if (!all) return fail(all.error());
  for (const auto& [id, record] : records_) {
    const ServedJob job = view(record);
    if (!job.promised || !job.is_live()) continue;
    const JobOutcome& outcome = (*all)->outcomes[simulation_.admission->number_of(record.simulated).value];
    if (outcome.state != JobState::Completed || unix_time(outcome.finished) > job.job.deadline_ns)
      cluster.at_risk.push_back(id);
  }
  constexpr std::size_t kMostSteps = 500;
  for (const ClusterSample& sample : (*all)->gpus) {
    if (cluster.gpus_planned.size() == kMostSteps) break;
    const std::int64_t in_use = sample.gpus_in_use.value;
    if (!cluster.gpus_planned.empty() && cluster.gpus_planned.back().second == in_use) continue;
    cluster.gpus_planned.emplace_back(unix_time(sample.time), in_use);
  }
  return cluster;
}

std::optional<UnixTime> LiveJobs::earliest_deadline(std::int64_t id, std::function<bool()> is_late) {
  const std::unique_lock searching(search_mutex_, std::try_to_lock);
  if (!searching.owns_lock()) return std::nullopt;
  std::unique_lock lock(mutex_);
  const auto found = records_.find(id);
  if (found == records_.end()) return std::nullopt;
  const Workload alone = workload_of(found->second.known.job, now_, origin_);
  ClusterToday today = simulation_.admission->today();
  const std::shared_ptr<const JobSetting> setting = setting_;
  lock.unlock();
  // A simulation of its own, so that nobody waits for the search.
  auto simulation = setting->begin(std::move(today));
  if (!simulation) return std::nullopt;
  Admission& admission = *simulation->admission;
  admission.give_up_when(std::move(is_late));
  Job job = admission.adopt(alone, alone.jobs.front());
  simulation->speeds->know(admission.next_number(), admission.simulation().workload(), job);
  constexpr auto kLongestSearch = std::chrono::hours(24 * 365);
  const auto answer =
      find_earliest_deadline(admission, job.name, job, std::chrono::minutes(1), job.submit + kLongestSearch);
  if (!answer || !*answer) return std::nullopt;
  return unix_time(job.deadline);
}

Result<std::vector<JobTimes>> LiveJobs::likely_times(std::optional<std::int64_t> id,
                                                     std::function<bool()> is_late) {
  std::vector<JobTimes> times;
  std::unique_lock lock(mutex_);
  if (auto moved = move_to(time_now()); !moved) return fail(std::move(moved.error()));
  ClusterToday today = simulation_.admission->today();
  for (const Job& job : today.workload.jobs)
    times.push_back({.job = view(records_.at(parse_integer(job.name, 1, INT64_MAX).value_or(0)))});
  const std::shared_ptr<const JobSetting> setting = setting_;
  lock.unlock();
  auto simulation = setting->begin(std::move(today));
  if (!simulation) return fail(std::move(simulation.error()));
  simulation->admission->give_up_when(std::move(is_late));
  const Workload names = simulation->admission->today().workload;
  const std::int64_t samples = usual_samples(std::ssize(times));
  const CurvesByType curves = setting->pricing()->on(setting->cluster(), names);
  const auto rule = PredictionErrorRule::parse("empirical");
  if (!rule) return fail(rule.error());
  const auto outcomes = simulation->admission->likely_outcomes(samples, 0, [&](std::int64_t sample) {
    return std::make_unique<DrawnRunTimeErrors>(*rule, names, curves, static_cast<std::uint64_t>(sample) + 1);
  });
  if (!outcomes) return fail(outcomes.error());
  for (std::size_t i = 0; i < times.size(); ++i) {
    std::vector<SimTime> starts;
    std::vector<SimTime> ends;
    for (const std::vector<JobOutcome>& sample : *outcomes) {
      const bool is_done = sample[i].state == JobState::Completed;
      if (is_done || sample[i].attained.count() > 0) starts.push_back(sample[i].start);
      if (is_done) ends.push_back(sample[i].finished);
    }
    const auto quantile = [&](std::vector<SimTime>& values, double part) -> std::optional<UnixTime> {
      std::ranges::sort(values);
      const auto at = quantile_position(values.size(), static_cast<std::size_t>(samples), part);
      return at ? std::optional(unix_time(values[*at])) : std::nullopt;
    };
    constexpr double kHalf = 0.5;
    constexpr double kNineInTen = 0.9;
    times[i].start_p50 = quantile(starts, kHalf);
    times[i].start_p90 = quantile(starts, kNineInTen);
    times[i].end_p50 = quantile(ends, kHalf);
    times[i].end_p90 = quantile(ends, kNineInTen);
  }
  if (id) std::erase_if(times, [&](const JobTimes& each) { return each.job.job.id != *id; });
  return times;
}

std::tuple<ClusterToday, UnixTime, std::shared_ptr<const JobSetting>> LiveJobs::today() {
  const std::unique_lock lock(mutex_);
  static_cast<void>(move_to(time_now()));  // a simulation that cannot go on tells its last state
  return {simulation_.admission->today(), now_, setting_};
}

}  // namespace vtrain::serve
