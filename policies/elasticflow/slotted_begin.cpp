/// Beginnings of `SlottedPolicy`: with a memory, with jobs as they show themselves, and again after facts.
#include <algorithm>
#include <utility>

#include "policies/elasticflow/slotted_policy.hpp"
#include "sched/simulation/gpus_by_type.hpp"

namespace vtrain {

bool SlottedPolicy::remember(const SchedulingPass& view, std::span<const JobId> live, Memory& memory) const {
  memory.disrupted = view.disrupted();
  const auto place_of = [&](JobId job) {
    return static_cast<std::uint32_t>(std::ranges::lower_bound(live, job) - live.begin());
  };
  const auto is_live = [&](std::uint32_t id) { return std::ranges::binary_search(live, JobId(id)); };
  if (!std::ranges::all_of(live_, is_live)) return false;
  if (const GpusByType* const by_type = types(view))
    memory.total.assign(by_type->total().begin(), by_type->total().end());
  for (std::size_t place = 0; place < live.size(); ++place) {
    const std::uint32_t id = live[place].value;
    if (id >= jobs_.size() || !jobs_[id].job) continue;
    SlottedJob& known = memory.jobs.emplace_back(jobs_[id]);
    known.job = JobId(static_cast<std::uint32_t>(place));
    known.levels = known.base_levels = nullptr;
  }
  for (const std::uint32_t id : live_)
    memory.live.push_back(place_of(JobId(id)));
  for (const std::uint32_t id : planned_)
    memory.planned.push_back(place_of(JobId(id)));
  memory.arrivals = arrivals_;
  memory.arrivals.renumber([&](JobId job) { return JobId(place_of(job)); });
  memory.last_decision = last_decision_;
  memory.disrupted_at = disrupted_at_;
  for (const auto& [id, gpus] : refused_) {
    if (is_live(id)) memory.refused.emplace_back(place_of(JobId(id)), gpus);
  }
  memory.refused_again = refused_again_;
  memory.standstill = standstill_;
  return true;
}

void SlottedPolicy::begin(const SchedulingPass& view) {
  jobs_.resize(view.jobs().size());
  cluster_gpus_ = view.total_gpus().value;
  if (const Memory* const memory = memory_of(view)) return take_over(view, *memory);
  forget_changed(view);
  std::vector<JobId> unknown(view.running().begin(), view.running().end());
  unknown.insert(unknown.end(), view.waiting().begin(), view.waiting().end());
  std::erase_if(unknown, [&](JobId job) {
    return std::ranges::find(live_, job.value) != live_.end() || arrivals_.has(job);
  });
  std::ranges::sort(unknown);
  const WholeSeconds now = whole_seconds_passed(view.now());
  if (!unknown.empty() && !last_decision_) last_decision_ = now;
  for (const JobId job : unknown)
    take_live(view, job);
  if (!live_.empty() && !disrupted_at_) disrupted_at_ = to_whole_seconds(view.now());
}

const SlottedPolicy::Memory* SlottedPolicy::memory_of(const SchedulingPass& view) const {
  const auto* const memory = dynamic_cast<const Memory*>(view.memory());
  if (memory == nullptr) return nullptr;
  const GpusByType* const by_type = types(view);
  const auto total =
      by_type != nullptr ? std::span<const std::int64_t>(by_type->total()) : std::span<const std::int64_t>();
  return std::ranges::equal(memory->total, total) ? memory : nullptr;
}

void SlottedPolicy::take_over(const SchedulingPass& view, const Memory& memory) {
  for (const SlottedJob& known : memory.jobs) {
    SlottedJob& job = jobs_[known.job.value];
    job = known;
    find_levels(view, job);
    if (job.type) use_type(view, job, *job.type);
    // What it has done since the last decision is still to be counted.
    const WholeSeconds since = memory.last_decision.value_or(0);
    if (view.disrupted() && !memory.disrupted && job.gpus > 0)
      job.work_booked = std::max(SimDuration(0), view.work_done(job.job) - (view.now() - to_sim_time(since)));
  }
  live_ = memory.live;
  planned_ = memory.planned;
  arrivals_ = memory.arrivals;
  last_decision_ = memory.last_decision;
  disrupted_at_ = memory.disrupted_at;
  refused_ = memory.refused;
  refused_again_ = memory.refused_again;
  standstill_ = memory.standstill;
}

void SlottedPolicy::forget_changed(const SchedulingPass& view) {
  const auto is_changed = [&](std::uint32_t id) {
    const Job& job = view.job(JobId(id));
    const WholeSeconds deadline = job.has_deadline() ? whole_seconds_passed(job.deadline) : kNever;
    const bool is_resized = !job.curve && jobs_[id].min_gpus != job.num_gpus.value;
    return !view.is_live(JobId(id)) || deadline != jobs_[id].deadline ||
           time_on_gpus(job) != jobs_[id].run_time || is_resized;
  };
  std::erase_if(planned_, is_changed);
  std::erase_if(live_, is_changed);
  arrivals_.forget_if([&](JobId job) { return !view.is_live(job); });
  for (const std::uint32_t id : live_) {
    if (view.state(JobId(id)) != JobState::Running) jobs_[id].gpus = 0;
  }
}

void SlottedPolicy::take_live(const SchedulingPass& view, JobId id) {
  const Job& description = view.job(id);
  if (description.has_deadline() && !view.has_promise(id) && !view.has_started(id))
    return arrivals_.add(id, whole_seconds_passed(view.now()));
  take_job(view, id);
  SlottedJob& job = jobs_[id.value];
  job.work_booked = view.work_done(id);
  job.iterations_left =
      view.curve(id) != nullptr ? view.remaining_iterations(id) : to_seconds(job.run_time - job.work_booked);
  job.iterations_left = std::max(job.iterations_left, kRoundingTime * job.base_speed(job.min_gpus));
  // No plan of the last decision is known, which it could keep.
  job.disrupted = !job.best_effort;
  if (const GpusByType* const by_type = types(view)) {
    const Allocation held = view.held(id);
    const std::span<const std::uint32_t> allowed = by_type->allowed(description.gpu_type);
    use_type(view, job, held.type.value_or(allowed.front()));
  }
  live_.push_back(id.value);
  if (view.state(id) != JobState::Running) return;
  job.gpus = view.held_gpus(id).value;
  job.planned = true;
  const double speed = job.speed(job.gpus) > 0 ? job.speed(job.gpus) : job.base_speed(job.gpus);
  job.end = whole_seconds_passed(view.now()) + kept_seconds(job.iterations_left / speed);
  planned_.push_back(id.value);
}

}  // namespace vtrain
