// `las`: discretised least attained service (Tiresias, NSDI'19), by GPU time (Tiresias-L, the `dlas-gpu` of
// its simulator) or by time (`dlas`).
#include "policies/list/las.hpp"

#include <algorithm>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"
#include "policies/base/policies.hpp"

namespace vtrain {
namespace {

/// 31 years in seconds, or as many GPU-seconds.
constexpr SimDuration kMaxThreshold = std::chrono::seconds(1'000'000'000);

}  // namespace

Result<std::vector<SimDuration>> read_thresholds(const PolicyArguments& arguments) {
  std::vector<SimDuration> thresholds;
  for (const std::string_view part : split(arguments["queues"], ';')) {
    const auto nanoseconds = parse_seconds_as_ns(part);
    const SimDuration previous = thresholds.empty() ? SimDuration(0) : thresholds.back();
    if (!nanoseconds || SimDuration(*nanoseconds) <= previous || SimDuration(*nanoseconds) > kMaxThreshold) {
      return fail(
          arguments.bad_value("queues", "increasing thresholds from above 0 to 1e9 s, joined by ';'"));
    }
    thresholds.emplace_back(*nanoseconds);
  }
  return thresholds;
}

Result<LasOptions> read_las_options(const PolicyArguments& arguments) {
  auto thresholds = read_thresholds(arguments);
  if (!thresholds) return fail(std::move(thresholds.error()));
  LasOptions options{.thresholds = *std::move(thresholds)};
  options.timer = arguments["timer"] == "exact" ? DemotionTimer::Exact : DemotionTimer::Peer;
  return options;
}

PriorityKey LasQueues::key_of_arrival(const SchedulingPass&, JobId) {
  return {.primary = 0};
}

SimDuration LasQueues::time_to_leave(std::int64_t queue, GpuCount num_gpus) const {
  if (std::cmp_equal(queue, options_.thresholds.size())) return SimDuration::max();
  const SimDuration threshold = options_.thresholds[static_cast<std::size_t>(queue)];
  if (options_.service == ServiceKind::Time) return threshold;
  return (threshold + SimDuration(num_gpus.value - 1)) / num_gpus.value;
}

SimTime LasQueues::demotion_time(const SchedulingPass& pass, JobId job, GpuCount num_gpus,
                                 std::int64_t queue) const {
  const SimDuration at = time_to_leave(queue, num_gpus);
  if (at == SimDuration::max()) return SimTime::max();
  return saturating_sum(pass.now(), at - pass.attained(job));
}

void LasQueues::schedule_demotion(const SchedulingPass& pass, JobId job, GpuCount num_gpus,
                                  std::int64_t queue) {
  const SimTime at = demotion_time(pass, job, num_gpus, queue);
  if (at != SimTime::max()) demotions_.push({at, job, num_gpus, queue});
}

void LasQueues::pop_due_demotions(const SchedulingPass& pass) {
  while (!demotions_.empty() && demotions_.top().at <= pass.now()) {
    const Demotion due = demotions_.top();
    demotions_.pop();
    some_due_ = true;
    if (pass.state(due.job) == JobState::Running)
      schedule_demotion(pass, due.job, due.num_gpus, due.queue + 1);
  }
}

void LasQueues::request_next_pass(SchedulingPass& pass) {
  const auto stale = [&](const Demotion& next) {
    return pass.state(next.job) != JobState::Running ||
           demotion_time(pass, next.job, next.num_gpus, next.queue) != next.at;
  };
  while (!demotions_.empty() && stale(demotions_.top()))
    demotions_.pop();
  if (!demotions_.empty()) pass.wake_at(demotions_.top().at);
}

bool LasQueues::update_running(const SchedulingPass& pass, std::span<ListedJob> running) {
  const bool exact = options_.timer == DemotionTimer::Exact;
  if (exact) {
    pop_due_demotions(pass);
    if (!some_due_) return false;
    some_due_ = false;
  }
  demoted_.clear();
  for (ListedJob& job : running) {
    const SimDuration attained = pass.attained(job.job);
    const std::int64_t queue = job.key.primary;
    while (attained >= time_to_leave(job.key.primary, job.num_gpus)) {
      ++job.key.primary;
      if (!exact) break;
    }
    if (job.key.primary == queue) continue;
    demoted_.push_back(
        {exact ? demotion_time(pass, job.job, job.num_gpus, job.key.primary - 1) : pass.now(), &job});
  }
  std::sort(demoted_.begin(), demoted_.end(), [](const Demoted& a, const Demoted& b) {
    return a.at != b.at ? a.at < b.at : a.job->job < b.job->job;
  });
  for (const Demoted& demoted : demoted_)
    demoted.job->stamp = last_stamp();
  return !demoted_.empty();
}

SimTime LasQueues::peer_timer(const SchedulingPass& pass, const ListedJob& job) const {
  if (time_to_leave(job.key.primary, job.num_gpus) == SimDuration::max()) return SimTime::max();
  const SimDuration threshold = options_.thresholds[static_cast<std::size_t>(job.key.primary)];
  const std::int32_t rate = options_.service == ServiceKind::Time ? 1 : job.num_gpus.value;
  // With a quotient of 0 the peer would repeat this instant without end.
  constexpr std::chrono::seconds kSoonest(1);
  const SimDuration left = std::max<SimDuration>(
      std::chrono::floor<std::chrono::seconds>((threshold - pass.attained(job.job)) / rate), kSoonest);
  return saturating_sum(pass.now(), left);
}

void LasQueues::after_walk(SchedulingPass& pass, std::span<ListedJob> running,
                           std::span<const ListedJob> started) {
  first_stamp_ -= static_cast<std::int64_t>(running.size());
  std::int64_t stamp = first_stamp_;
  for (ListedJob& job : running)
    job.stamp = stamp++;
  if (options_.timer == DemotionTimer::Exact) return after_start(pass, started);
  // The peer's timer moves with every pass.
  SimTime next = SimTime::max();
  for (const ListedJob& job : running)
    next = std::min(next, peer_timer(pass, job));
  if (next != SimTime::max()) pass.wake_at(next);
}

void LasQueues::after_start(SchedulingPass& pass, std::span<const ListedJob> started) {
  pop_due_demotions(pass);
  for (const ListedJob& job : started)
    schedule_demotion(pass, job.job, job.num_gpus, job.key.primary);
  request_next_pass(pass);
}

MadePolicy make_las(const PolicyArguments& arguments) {
  auto options = read_las_options(arguments);
  if (!options) return fail(options.error());
  options->service = arguments["attained"] == "time" ? ServiceKind::Time : ServiceKind::GpuTime;
  return std::make_unique<LasQueues>(*std::move(options));
}

}  // namespace vtrain
