#include "policies/las_queues.hpp"

#include <algorithm>
#include <utility>

#include "core/text.hpp"

namespace vtrain {
namespace {

/// 31 years in seconds, or as many GPU-seconds.
constexpr SimDuration kMaxThreshold = std::chrono::seconds(1'000'000'000);

}  // namespace

Result<LasOptions> las_options(const PolicyArguments& arguments) {
  LasOptions options;
  for (const std::string_view part : split(arguments["queues"], ';')) {
    const auto nanoseconds = parse_seconds_as_ns(part);
    const SimDuration previous = options.thresholds.empty() ? SimDuration(0) : options.thresholds.back();
    if (!nanoseconds || SimDuration(*nanoseconds) <= previous || SimDuration(*nanoseconds) > kMaxThreshold) {
      return fail(
          arguments.bad_value("queues", "increasing thresholds from above 0 to 1e9 s, joined by ';'"));
    }
    options.thresholds.emplace_back(*nanoseconds);
  }
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

bool LasQueues::update_running(const SchedulingPass& pass, std::span<ListedJob> running) {
  if (options_.timer == DemotionTimer::Exact && pass.now() < next_demotion_) return false;
  next_demotion_ = SimTime::min();
  demoted_.clear();
  for (ListedJob& job : running) {
    const SimDuration attained = pass.attained(job.job);
    const std::int64_t queue = job.key.primary;
    while (attained >= time_to_leave(job.key.primary, job.num_gpus)) {
      ++job.key.primary;
      if (options_.timer == DemotionTimer::Peer) break;
    }
    if (job.key.primary != queue) demoted_.push_back(&job);
  }
  std::sort(demoted_.begin(), demoted_.end(),
            [](const ListedJob* a, const ListedJob* b) { return a->job < b->job; });
  for (ListedJob* job : demoted_)
    job->stamp = last_stamp();
  return !demoted_.empty();
}

SimTime LasQueues::timer(const SchedulingPass& pass, const ListedJob& job) const {
  const SimDuration at = time_to_leave(job.key.primary, job.num_gpus);
  if (at == SimDuration::max()) return SimTime::max();
  const SimDuration attained = pass.attained(job.job);
  SimDuration left = at - attained;
  if (options_.timer == DemotionTimer::Peer) {
    const SimDuration threshold = options_.thresholds[static_cast<std::size_t>(job.key.primary)];
    const std::int32_t rate = options_.service == ServiceKind::Time ? 1 : job.num_gpus.value;
    // The peer would look again at this very instant, for ever, when the quotient is 0.
    constexpr std::chrono::seconds kSoonest(1);
    left = std::max(std::chrono::floor<std::chrono::seconds>((threshold - attained) / rate), kSoonest);
  }
  return left < SimTime::max() - pass.now() ? pass.now() + left : SimTime::max();
}

void LasQueues::after_walk(SchedulingPass& pass, std::span<ListedJob> running,
                           std::span<const ListedJob> started) {
  first_stamp_ -= static_cast<std::int64_t>(running.size());
  std::int64_t stamp = first_stamp_;
  for (ListedJob& job : running)
    job.stamp = stamp++;
  // The peer's timer moves with every pass.
  const bool stands = options_.timer == DemotionTimer::Exact && next_demotion_ != SimTime::min() &&
                      (!next_demoted_ || pass.state(next_demoted_) == JobState::Running);
  if (!stands) {
    next_demotion_ = SimTime::max();
    next_demoted_ = JobId();
  }
  for (const ListedJob& job : stands ? started : running) {
    const SimTime at = timer(pass, job);
    if (at >= next_demotion_) continue;
    next_demotion_ = at;
    next_demoted_ = job.job;
  }
  if (next_demotion_ != SimTime::max()) pass.wake_at(next_demotion_);
}

}  // namespace vtrain
