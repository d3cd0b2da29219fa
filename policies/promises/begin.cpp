/// Beginnings of `PromisePolicy`: with an empty cluster, with jobs, and again after facts.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "policies/list/gpu_pool.hpp"
#include "policies/promises/promise_memory.hpp"
#include "sched/simulation/gpus_by_type.hpp"

namespace vtrain {

std::shared_ptr<const PolicyMemory> PromisePolicy::memory(const SchedulingPass& view,
                                                          std::span<const JobId> live) const {
  if (!begun_) return {};
  auto memory = std::make_shared<Memory>();
  memory->now = now_;
  memory->last_pass = last_pass_;
  memory->any_gpus = any_gpus_;
  memory->total = total_;
  for (const LiveJob& job : jobs_) {
    const auto place = std::ranges::lower_bound(live, job.id);
    // A fact may have ended a job since the last pass.
    if (place == live.end() || *place != job.id) return {};
    memory->jobs.push_back(job);
    memory->jobs.back().id = JobId(static_cast<std::uint32_t>(place - live.begin()));
  }
  for (std::uint32_t tenant = 0; tenant < tenant_gpu_s_.size(); ++tenant)
    memory->tenant_gpu_s[view.tenant_names()[tenant]] = tenant_gpu_s_[tenant];
  return memory;
}

void PromisePolicy::begin(const SchedulingPass& view) {
  const PlanTime now = view.now().time_since_epoch().count();
  if (!begun_) {
    any_gpus_ = view.takes_any_gpus() && !view.shares_gpus();
    total_.assign(1, view.total_gpus().value);
    if (const GpusByType* const types = GpuPool::types(view))
      total_.assign(types->total().begin(), types->total().end());
    calendar_.assign(now, total_);
    last_pass_ = now;
    begun_ = true;
    const auto* const memory = dynamic_cast<const Memory*>(view.memory());
    if (memory != nullptr && memory->total == total_) return take_over(view, *memory);
  }
  now_ = now;
  calendar_.begin_at(now_);
  count_tenant_time(view);
  for (LiveJob& job : jobs_) {
    if (!view.is_live(job.id) || has_changed(view, job)) set_plan(job, {});
  }
  std::erase_if(jobs_, [&](const LiveJob& job) { return !view.is_live(job.id) || has_changed(view, job); });
  for (LiveJob& job : jobs_) {
    if (!job.runs() || view.state(job.id) == JobState::Running) continue;
    book(view, job);
    if (std::exchange(job.is_kept, false)) set_plan(job, {});
    job.gear = kNoGear;
    job.end = kNever;
  }
  std::vector<JobId> live(view.running().begin(), view.running().end());
  live.insert(live.end(), view.waiting().begin(), view.waiting().end());
  std::ranges::sort(live);
  for (const JobId id : live) {
    if (std::ranges::find(jobs_, id, &LiveJob::id) != jobs_.end()) continue;
    LiveJob job = job_of(view, id);
    if (job.gears.empty()) continue;
    job.is_new = true;
    job.has_started = view.has_started(id);
    if (view.state(id) == JobState::Running) take_gang(view, job);
    job.is_kept = options_.keeps_running && job.runs() && !job.has_deadline();
    jobs_.push_back(std::move(job));
    if (jobs_.back().is_kept) set_plan(jobs_.back(), keep_to_end(jobs_.back()));
  }
  for (LiveJob& job : jobs_)
    job.left_now = left_now(view, job);
  plan_promised(view);
}

void PromisePolicy::take_over(const SchedulingPass& view, const Memory& memory) {
  now_ = memory.now;
  last_pass_ = memory.last_pass;
  any_gpus_ = memory.any_gpus;
  jobs_ = memory.jobs;
  // The calendar is what the plans leave.
  calendar_.assign(now_, total_);
  for (const LiveJob& job : jobs_)
    calendar_.add(job.plan, job.gears);
  const std::vector<std::string>& tenants = view.tenant_names().names();
  for (std::uint32_t tenant = 0; tenant < tenants.size(); ++tenant) {
    const auto used = memory.tenant_gpu_s.find(tenants[tenant]);
    tenant_gpu_s_.push_back(used == memory.tenant_gpu_s.end() ? 0.0 : used->second);
  }
  goes_on_ = true;
}

bool PromisePolicy::has_changed(const SchedulingPass& view, const LiveJob& job) {
  const Job& now = view.job(job.id);
  const PlanTime deadline = now.has_deadline() ? now.deadline.time_since_epoch().count() : kNever;
  const bool is_resized = view.curve(job.id) == nullptr && job.gears.front().gpus.gpus != now.num_gpus;
  return deadline != job.deadline || time_on_gpus(now) != job.run_time || is_resized;
}

void PromisePolicy::take_gang(const SchedulingPass& view, LiveJob& job) const {
  const Allocation held = view.held(job.id);
  std::size_t gear = 0;
  for (std::size_t i = 0; i < job.gears.size(); ++i) {
    const Allocation& gpus = job.gears[i].gpus;
    if (gpus == held || (gpus.gpus == held.gpus && !held.type)) {
      gear = i;
      break;
    }
  }
  job.gear = static_cast<std::int32_t>(gear);
  const SegmentTiming timing = view.segment(job.id);
  const SimTime since = view.holds_since(job.id);
  const SimDuration left = time_for_iterations(job.left, job.gears[gear].work_per_s);
  // Work of the segment up to now, and the rest of it.
  const SimDuration time = timing.time_for(timing.work(view.now() - since) + left);
  job.end = saturating_sum(since, time).time_since_epoch().count();
  job.works_from = saturating_sum(since, timing.setup).time_since_epoch().count();
  job.speed = speed_on(job.gears[gear], timing);
}

void PromisePolicy::plan_promised(const SchedulingPass& view) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    if (view.has_promise(jobs_[i].id) && jobs_[i].has_deadline() && !jobs_[i].promised()) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return jobs_[i].deadline; });
  for (const std::size_t i : order) {
    LiveJob& job = jobs_[i];
    job.aim = job.deadline;  // a margin counts only at admission
    if (auto plan = any_gpus_ || job.has_started ? calendar_.defer(request(job)) : std::nullopt) {
      set_plan(job, *std::move(plan));
      continue;
    }
    if (!try_keep(job)) plan_all_again(job);
  }
}

}  // namespace vtrain
