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
  std::string_view rest = arguments["queues"];
  bool more = true;
  while (more) {
    const std::size_t end = rest.find(';');
    const auto nanoseconds = parse_seconds_as_ns(rest.substr(0, end));
    const SimDuration previous = options.thresholds.empty() ? SimDuration(0) : options.thresholds.back();
    if (!nanoseconds || SimDuration(*nanoseconds) <= previous || SimDuration(*nanoseconds) > kMaxThreshold) {
      return fail(
          arguments.bad_value("queues", "increasing thresholds from above 0 to 1e9 s, joined by ';'"));
    }
    options.thresholds.emplace_back(*nanoseconds);
    more = end != std::string_view::npos;
    if (more) rest.remove_prefix(end + 1);
  }
  const std::string_view timer = arguments["timer"];
  if (timer != "exact" && timer != "peer") return fail(arguments.bad_value("timer", "exact or peer"));
  options.timer = timer == "exact" ? DemotionTimer::Exact : DemotionTimer::Peer;
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

void LasQueues::update_running(const SchedulingPass& pass, std::span<ListedJob> running) {
  if (pass.now() < next_demotion_) return;
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
}

SimDuration LasQueues::timer(const SchedulingPass& pass, const ListedJob& job) const {
  const SimDuration attained = pass.attained(job.job);
  const SimDuration at = time_to_leave(job.key.primary, job.num_gpus);
  if (at == SimDuration::max()) return at;
  if (options_.timer == DemotionTimer::Exact) return at - attained;
  const SimDuration threshold = options_.thresholds[static_cast<std::size_t>(job.key.primary)];
  const std::int32_t rate = options_.service == ServiceKind::Time ? 1 : job.num_gpus.value;
  // The peer would look again at this very instant, for ever, when the quotient is 0.
  constexpr std::chrono::seconds kSoonest(1);
  return std::max(std::chrono::floor<std::chrono::seconds>((threshold - attained) / rate), kSoonest);
}

void LasQueues::after_walk(SchedulingPass& pass, std::span<ListedJob> running) {
  SimDuration earliest = SimDuration::max();
  first_stamp_ -= static_cast<std::int64_t>(running.size());
  std::int64_t stamp = first_stamp_;
  for (ListedJob& job : running) {
    job.stamp = stamp++;
    earliest = std::min(earliest, timer(pass, job));
  }
  const bool in_range = earliest < SimTime::max() - pass.now();
  if (in_range) pass.wake_at(pass.now() + earliest);
  // The peer's timer says nothing of when a threshold is reached.
  if (options_.timer == DemotionTimer::Exact)
    next_demotion_ = in_range ? pass.now() + earliest : SimTime::max();
}

}  // namespace vtrain
