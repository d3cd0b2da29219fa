#include "policies/promises/promise_policy.hpp"

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>
#include <utility>

#include "policies/list/gpu_pool.hpp"
#include "sched/simulation/gpus_by_type.hpp"

namespace vtrain {
namespace {

/// Time that a job must have before its plan holds GPUs, so that it gives up GPUs that its plan holds now.
constexpr PlanTime kShortestTurn = 60'000'000'000;

PlanTime plan_time(SimTime time) {
  return time.time_since_epoch().count();
}

SimTime sim_time(PlanTime time) {
  return SimTime(SimDuration(time));
}

PlanTime saturating(PlanTime time, PlanTime span) {
  return saturating_sum(SimDuration(time), SimDuration(span)).count();
}

/// Errors of expected ends that no plan follows.
constexpr PlanTime kNoticed = 1'000'000;

/// Part of the time in which a segment trains, not writes checkpoints.
double share_of_training(const SegmentTiming& timing) {
  if (timing.interval == SegmentTiming::kNoCheckpoints) return 1;
  const double interval = to_seconds(timing.interval);
  return interval / (interval + to_seconds(timing.checkpoint));
}

}  // namespace

void PromisePolicy::schedule(SchedulingPass& pass) {
  const bool is_first = std::exchange(goes_on_, false);
  if (is_first && pass.arrived().empty() && !pass.capacity_changed() && !pass.run_times_differ())
    return ask_to_wake(pass);
  begin_pass(pass);
  take_interruptions(pass);
  take_ends(pass);
  for (LiveJob& job : jobs_)
    job.left_now = left_now(pass, job);
  if (pass.run_times_differ()) {
    correct_ends(pass);
    drop_lost_plans();
  }
  take_arrivals(pass);
  find_claims(pass);
  reject_late(pass);
  choose_targets(pass);
  apply(pass);
  if (give_refused(pass)) apply(pass);
  ask_to_wake(pass);
}

void PromisePolicy::begin_pass(const SchedulingPass& pass) {
  now_ = plan_time(pass.now());
  any_gpus_ = any_gpus_ && !pass.shares_gpus();
  // Nodes may go out of service before the first job comes, at which a replay begins.
  if (jobs_.empty() && now_ < last_pass_) {
    calendar_.assign(now_, total_);
    last_pass_ = now_;
  }
  calendar_.begin_at(now_);
  const GpusByType* const types = GpuPool::types(pass);
  if (types != nullptr) {
    types->get_usable(left_);
  } else {
    left_.assign(1, pass.usable_gpus().value);
  }
  count_tenant_time(pass);
}

void PromisePolicy::count_tenant_time(const SchedulingPass& pass) {
  const double passed = static_cast<double>(now_ - last_pass_) / 1e9;
  last_pass_ = now_;
  for (const LiveJob& job : jobs_) {
    if (!job.runs()) continue;
    if (!pass.job(job.id).tenant) continue;
    const std::uint32_t tenant = pass.job(job.id).tenant.value;
    if (tenant >= tenant_gpu_s_.size()) tenant_gpu_s_.resize(tenant + 1);
    tenant_gpu_s_[tenant] += passed * job.gears[static_cast<std::size_t>(job.gear)].gpus.gpus.value;
  }
}

double PromisePolicy::left_now(const SchedulingPass& pass, const LiveJob& job) {
  if (!job.runs()) return job.left;
  const double work = to_seconds(pass.work_done(job.id) - job.booked);
  return std::max(job.left - work * job.gears[static_cast<std::size_t>(job.gear)].work_per_s, 0.0);
}

void PromisePolicy::book(const SchedulingPass& pass, LiveJob& job) {
  const SimDuration work = pass.work_done(job.id);
  job.left -= to_seconds(work - job.booked) * job.gears[static_cast<std::size_t>(job.gear)].work_per_s;
  job.left = std::max(job.left, 0.0);
  job.booked = work;
}

void PromisePolicy::take_interruptions(const SchedulingPass& pass) {
  for (const JobId id : pass.interrupted()) {
    const auto job = std::ranges::find(jobs_, id, &LiveJob::id);
    if (job == jobs_.end()) continue;
    book(pass, *job);
    if (std::exchange(job->is_kept, false)) set_plan(*job, {});
    job->gear = kNoGear;
    job->end = kNever;
  }
}

void PromisePolicy::take_ends(SchedulingPass& pass) {
  const bool by_itself = pass.run_times_differ();
  for (LiveJob& job : jobs_) {
    if (!pass.is_live(job.id)) set_plan(job, {});
    if (by_itself || !pass.is_live(job.id) || !job.runs() || job.end > now_) continue;
    pass.complete(job.id, sim_time(job.end), sim_time(job.end));
    set_plan(job, {});
  }
  std::erase_if(jobs_, [&](const LiveJob& job) { return !pass.is_live(job.id); });
}

void PromisePolicy::correct_ends(const SchedulingPass& pass) {
  for (LiveJob& job : jobs_) {
    if (!job.runs()) continue;
    SegmentTiming rest = pass.segment(job.id);
    rest.setup = SimDuration(0);
    const double work_per_s = job.gears[static_cast<std::size_t>(job.gear)].work_per_s;
    const SimDuration time = rest.time_for(time_for_iterations(job.left_now, work_per_s));
    // It has not ended yet, whatever its plan says.
    const PlanTime end = std::max(saturating(std::max(now_, job.works_from), time.count()), now_ + 1);
    if (std::abs(end - job.end) <= kNoticed && job.end > now_) continue;
    job.end = end;
    if (job.is_kept)
      set_plan(job, keep_to_end(job));
    else if (job.plan.kind == WorkPlan::Kind::Keep && !try_keep(job))
      replace_plan(job);
  }
}

void PromisePolicy::drop_lost_plans() {
  for (LiveJob& job : jobs_) {
    // Ticks of the clock are no lateness.
    const PlanTime latest = saturating(job.deadline, kNoticed);
    if (!job.promised() || (job.runs() && job.end <= latest)) continue;
    const PlanTime time = latest - now_;
    const bool is_lost = time <= 0 || std::ranges::none_of(job.gears, [&](const Gear& gear) {
                           return sure_work(gear, time, job.has_started) >= job.left_now;
                         });
    if (is_lost) set_plan(job, {});
  }
}

std::vector<Gear> PromisePolicy::gears_of(const SchedulingPass& pass, JobId id,
                                          const Allocation& holds) const {
  const Job& job = pass.job(id);
  const SpeedByGpus* const curve = pass.curve(id);
  const SpeedByGpus rigid({{job.num_gpus, 1.0}});
  const SpeedByGpus& levels = curve != nullptr ? *curve : rigid;
  const GpusByType* const types = GpuPool::types(pass);
  std::vector<Gear> gears;
  const auto add_pool = [&](std::uint32_t pool, std::optional<std::uint32_t> type) {
    double fastest = 0;
    for (const SpeedByGpus::Level& level : levels.levels()) {
      const Allocation gpus{level.num_gpus, type};
      const bool is_held = holds.gpus == gpus.gpus && (!holds.type || holds.type == type);
      if (level.num_gpus.value > total_[pool] && !is_held) break;
      if (curve != nullptr && job.max_gpus.value > 0 && level.num_gpus > job.max_gpus && !is_held) break;
      const double packed = type ? pass.speed(id, gpus) : level.iterations_per_s;
      const SegmentTiming slowest = pass.slowest_segment(id, gpus);
      const double training = share_of_training(slowest);
      // While a job writes a checkpoint, it falls behind its mean speed by as much.
      const bool writes = slowest.interval != SegmentTiming::kNoCheckpoints;
      const SimDuration setup = slowest.setup + (writes ? slowest.checkpoint : SimDuration(0));
      Gear gear{.gpus = gpus,
                .pool = pool,
                .work_per_s = level.iterations_per_s,
                .speed = packed * training,
                .sure_speed = level.iterations_per_s * training * static_cast<double>(slowest.speed.here) /
                              static_cast<double>(SegmentSpeed::kFull),
                .setup = setup.count(),
                .slowest = slowest,
                .packed = slowest};
      gear.slowest.setup = gear.packed.setup = SimDuration(0);
      const double relative = packed / level.iterations_per_s * static_cast<double>(SegmentSpeed::kFull);
      gear.packed.speed.here = type ? std::max<std::int64_t>(1, std::llround(relative)) : SegmentSpeed::kFull;
      if (gear.speed <= fastest && !is_held) continue;
      fastest = std::max(fastest, gear.speed);
      gears.push_back(gear);
    }
  };
  if (types == nullptr) {
    add_pool(0, std::nullopt);
  } else {
    for (const std::uint32_t type : types->allowed(job.gpu_type))
      add_pool(type, type);
  }
  return gears;
}

void PromisePolicy::LiveJob::take_gears() {
  least = gears.front().gpus.gpus.value;
  fastest = 0;
  for (const Gear& each : gears) {
    least = std::min<std::int64_t>(least, each.gpus.gpus.value);
    fastest = std::max(fastest, each.speed);
  }
}

PromisePolicy::LiveJob PromisePolicy::job_of(const SchedulingPass& pass, JobId id) const {
  const Job& job = pass.job(id);
  LiveJob live;
  live.id = id;
  live.gears = gears_of(pass, id, pass.held(id));
  if (live.gears.empty()) return live;
  live.take_gears();
  live.run_time = time_on_gpus(job);
  live.booked = pass.work_done(id);
  live.left =
      pass.curve(id) != nullptr ? pass.remaining_iterations(id) : to_seconds(live.run_time - live.booked);
  live.left = std::max(live.left, 0.0);
  live.left_now = live.left;
  if (job.has_deadline()) {
    live.deadline = live.aim = plan_time(job.deadline);
    if (options_.margin > 0)
      live.aim -= static_cast<PlanTime>(options_.margin * static_cast<double>(live.run_time.count()));
  }
  return live;
}

void PromisePolicy::take_arrivals(SchedulingPass& pass) {
  for (LiveJob& job : jobs_) {
    const bool looks_for_promise = std::exchange(job.is_new, false) && job.has_deadline() && !job.promised();
    if (looks_for_promise && try_promise(job)) pass.promise(job.id);
  }
  for (const JobId id : pass.arrived()) {
    LiveJob live = job_of(pass, id);
    if (live.gears.empty()) {
      pass.reject(id);
      continue;
    }
    jobs_.push_back(std::move(live));
    LiveJob& added = jobs_.back();
    if (added.has_deadline() && try_promise(added)) pass.promise(id);
  }
}

WorkRequest PromisePolicy::request(const LiveJob& job) const {
  return {.gears = job.gears,
          .left = job.left_now,
          .now = now_,
          .deadline = job.aim,
          .has_started = job.has_started};
}

void PromisePolicy::set_plan(LiveJob& job, WorkPlan plan) {
  calendar_.add(job.plan, job.gears, -1);
  job.plan = std::move(plan);
  calendar_.add(job.plan, job.gears);
}

bool PromisePolicy::try_promise(LiveJob& job) {
  if (!any_gpus_) return false;
  if (auto plan = calendar_.defer(request(job))) {
    set_plan(job, *std::move(plan));
    return true;
  }
  return plan_all_again(job);
}

bool PromisePolicy::plan_all_again(LiveJob& newcomer) {
  std::vector<LiveJob*> all;
  for (LiveJob& job : jobs_) {
    if (job.promised() || &job == &newcomer) all.push_back(&job);
  }
  const auto can_only_keep = [&](const LiveJob* job) {
    if (job->is_kept) return true;
    if (!job->runs() || job->end > job->deadline) return false;
    return std::ranges::none_of(job->gears, [&](const Gear& gear) {
      return sure_work(gear, job->deadline - now_, true) >= job->left_now;
    });
  };
  std::ranges::stable_sort(
      all, {}, [&](const LiveJob* job) { return std::pair(can_only_keep(job) ? 0 : 1, job->deadline); });
  PlanCalendar calendar;
  calendar.assign(now_, total_);
  std::vector<WorkPlan> plans;
  for (const LiveJob* job : all) {
    std::optional<WorkPlan> plan;
    if (job->is_kept)
      plan = job->plan;
    else
      plan = calendar.defer(request(*job));
    if (!plan && job != &newcomer && job->aim < job->deadline) {
      WorkRequest without_margin = request(*job);
      without_margin.deadline = job->deadline;
      plan = calendar.defer(without_margin);
    }
    if (!plan && job->runs() && job->end <= job->deadline) {
      const Gear& held = job->gears[static_cast<std::size_t>(job->gear)];
      if (calendar.is_free(held.pool, now_, job->end, held.gpus.gpus.value)) plan = keep_to_end(*job);
    }
    if (!plan) return false;
    calendar.add(*plan, job->gears);
    plans.push_back(*std::move(plan));
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i]->plan = std::move(plans[i]);
  calendar_ = std::move(calendar);
  return true;
}

WorkPlan PromisePolicy::keep_to_end(const LiveJob& job) const {
  return {WorkPlan::Kind::Keep, {{now_, job.end, static_cast<std::uint32_t>(job.gear)}}};
}

bool PromisePolicy::try_keep(LiveJob& job) {
  if (!job.runs() || job.end > (job.promised() ? job.deadline : job.aim)) return false;
  const Gear& held = job.gears[static_cast<std::size_t>(job.gear)];
  calendar_.add(job.plan, job.gears, -1);
  const bool keeps = calendar_.is_free(held.pool, now_, job.end, held.gpus.gpus.value);
  if (keeps) job.plan = keep_to_end(job);
  calendar_.add(job.plan, job.gears);
  return keeps;
}

PlanTime PromisePolicy::time_on(const LiveJob& job, std::uint32_t gear) const {
  if (job.gear == static_cast<std::int32_t>(gear)) return job.end - now_;
  const Gear& on = job.gears[gear];
  const SimDuration time = on.packed.time_for(time_for_iterations(job.left_now, on.work_per_s));
  return saturating(time.count(), job.has_started ? on.setup : 0);
}

bool PromisePolicy::in_time(const LiveJob& job, std::uint32_t gear) const {
  return time_on(job, gear) <= job.deadline - now_;
}

bool PromisePolicy::may_change(const LiveJob& job, std::uint32_t gear) const {
  if (!job.promised() || job.gear == static_cast<std::int32_t>(gear)) return true;
  if (job.plan.kind != WorkPlan::Kind::Deferred) return false;
  return job.slack >= (job.has_started ? job.gears[gear].setup : 0);
}

void PromisePolicy::find_claims(SchedulingPass& pass) {
  for (LiveJob& job : jobs_)
    find_claim(job);
  for (const JobId id : pass.staying()) {
    const auto job = std::ranges::find(jobs_, id, &LiveJob::id);
    if (job != jobs_.end() && job->runs()) job->claim = Claim::Stays;
  }
}

void PromisePolicy::find_claim(LiveJob& job) {
  job.slack = kNever;
  job.target = kNoGear;
  job.is_tried = false;
  job.key = job.left_now / job.fastest;
  if (job.is_kept) {
    job.claim = Claim::Stays;
    return;
  }
  if (!job.has_deadline()) {
    job.claim = Claim::BestEffort;
    return;
  }
  if (job.promised() && job.plan.kind != WorkPlan::Kind::Keep) {
    WorkPlan rest = job.plan;
    trim(rest, job.gears, job.left_now);
    job.slack = rest.begin() - now_;
    job.next = rest.blocks.front();
    if (rest.blocks.size() < job.plan.blocks.size()) set_plan(job, rest);
    // A plan that begins at this instant may need GPUs that another one has until then.
    if (job.slack <= 0 && !try_keep(job)) {
      const bool missed = !job.runs() && rest.begin() < now_;
      set_plan(job, std::move(rest));
      if (missed) replace_plan(job);
    }
  } else if (job.plan.kind == WorkPlan::Kind::Keep && !job.runs()) {
    replace_plan(job);
  }
  if (job.promised()) {
    // A first block has no time for a second start.
    const bool is_first = job.plan.kind == WorkPlan::Kind::First && job.has_started;
    // Jobs that gain little by little on their plans would take turns many times a second.
    const PlanBlock& front = job.plan.blocks.front();
    const bool goes_on = job.gear == static_cast<std::int32_t>(front.gear) && front.begin <= now_ &&
                         now_ < front.end && job.slack < kShortestTurn;
    const bool must = job.plan.kind == WorkPlan::Kind::Keep || is_first || job.slack <= 0 || goes_on;
    job.claim = must ? Claim::Must : Claim::Hopes;
    return;
  }
  job.claim = Claim::Late;
  for (std::uint32_t gear = 0; gear < job.gears.size(); ++gear) {
    if (!in_time(job, gear)) continue;
    job.claim = Claim::Chance;
    const Gear& tried = job.gears[gear];
    // For gangs of known speed admission has looked already.
    const bool is_sure = any_gpus_ && tried.has_sure_speed();
    if (is_sure ||
        !calendar_.is_free(tried.pool, now_, saturating(now_, time_on(job, gear)), tried.gpus.gpus.value))
      continue;
    job.claim = Claim::Hopes;
    return;
  }
}

void PromisePolicy::replace_plan(LiveJob& job) {
  set_plan(job, {});
  auto plan = calendar_.defer(request(job));
  if (!plan && job.aim < job.deadline) {
    job.aim = job.deadline;
    plan = calendar_.defer(request(job));
  }
  if (plan && any_gpus_) {
    set_plan(job, *std::move(plan));
    job.slack = job.plan.begin() - now_;
    job.next = job.plan.blocks.front();
  }
}

bool PromisePolicy::may_hope(const LiveJob& job) {
  return (job.claim == Claim::Hopes || job.claim == Claim::Chance) && !job.promised();
}

void PromisePolicy::reject_late(SchedulingPass& pass) {
  std::erase_if(jobs_, [&](const LiveJob& job) {
    const bool no_promise = options_.only_promised && may_hope(job);
    // On the gang that it will get a job may be faster than for certain.
    const bool hopeless = job.claim == Claim::Late ||
                          (no_promise && any_gpus_ && std::ranges::all_of(job.gears, &Gear::has_sure_speed));
    if (!hopeless || job.has_started || !options_.rejects_late) return false;
    pass.reject(job.id);
    return true;
  });
}

bool PromisePolicy::fits(const LiveJob& job, std::uint32_t gear) const {
  return job.gears[gear].gpus.gpus.value <= left_[job.gears[gear].pool];
}

void PromisePolicy::give(LiveJob& job, std::int32_t gear) {
  if (job.target != kNoGear) {
    const Gear& before = job.gears[static_cast<std::size_t>(job.target)];
    left_[before.pool] += before.gpus.gpus.value;
  }
  job.target = gear;
  if (gear == kNoGear) return;
  const Gear& after = job.gears[static_cast<std::size_t>(gear)];
  left_[after.pool] -= after.gpus.gpus.value;
}

void PromisePolicy::sort_jobs(const SchedulingPass& pass) {
  const auto num_jobs = static_cast<std::uint32_t>(jobs_.size());
  // In the order of the last pass, without those that have left; new ones come last.
  std::uint32_t num_ranks = 0;
  for (const LiveJob& job : jobs_) {
    if (job.rank != kNoRank) num_ranks = std::max(num_ranks, job.rank + 1);
  }
  order_.assign(num_ranks, kNoRank);
  for (std::uint32_t i = 0; i < num_jobs; ++i) {
    if (jobs_[i].rank != kNoRank) order_[jobs_[i].rank] = i;
  }
  std::erase(order_, kNoRank);
  for (std::uint32_t i = 0; i < num_jobs; ++i) {
    if (jobs_[i].rank == kNoRank) order_.push_back(i);
  }
  keys_.clear();
  for (const std::uint32_t i : order_) {
    const LiveJob& job = jobs_[i];
    const std::uint32_t tenant = pass.job(job.id).tenant.value;
    const double tenant_time = tenant < tenant_gpu_s_.size() ? tenant_gpu_s_[tenant] : 0.0;
    keys_.push_back({job.claim, job.key, tenant_time, job.id.value, i});
  }
  std::size_t moves = 4 * keys_.size() + 64;
  for (std::size_t i = 1; i < keys_.size() && moves > 0; ++i) {
    if (!(keys_[i] < keys_[i - 1])) continue;
    const SortKey moved = keys_[i];
    std::size_t to = i;
    for (; to > 0 && moved < keys_[to - 1]; --to)
      keys_[to] = keys_[to - 1];
    keys_[to] = moved;
    moves -= std::min(moves, i - to);
  }
  if (moves == 0) std::ranges::sort(keys_, std::less{});
  for (std::uint32_t i = 0; i < num_jobs; ++i) {
    order_[i] = keys_[i].job;
    jobs_[keys_[i].job].rank = i;
  }
}

void PromisePolicy::choose_targets(const SchedulingPass& pass) {
  sort_jobs(pass);
  // Jobs that may be in time give up GPUs that they need not, but not for others.
  const auto others = std::ranges::find_if(
      order_, [](Claim claim) { return claim > Claim::Chance; },
      [&](std::uint32_t i) { return jobs_[i].claim; });
  const auto num_first = static_cast<std::size_t>(others - order_.begin());
  for (const auto part : {std::span(order_).first(num_first), std::span(order_).subspan(num_first)}) {
    for (const std::uint32_t i : part)
      give_base(jobs_[i]);
    for (const std::uint32_t i : part)
      give_back(jobs_[i]);
  }
  for (const std::uint32_t i : order_)
    give_rest(jobs_[i]);
  grow();
}

/// Lets a job hold what it held, if the GPUs are left.
void PromisePolicy::give_back(LiveJob& job) {
  if (!job.runs() || job.target == job.gear || job.claim <= Claim::Must) return;
  const Gear& held = job.gears[static_cast<std::size_t>(job.gear)];
  std::int64_t given = 0;
  if (job.target != kNoGear) {
    const Gear& target = job.gears[static_cast<std::size_t>(job.target)];
    if (target.pool == held.pool) given = target.gpus.gpus.value;
  }
  if (given < held.gpus.gpus.value && held.gpus.gpus.value - given <= left_[held.pool]) give(job, job.gear);
}

void PromisePolicy::give_base(LiveJob& job) {
  if (!job.runs() && !may_fit(job)) return;
  if (job.claim == Claim::Stays) return give(job, job.gear);
  if (job.claim == Claim::Must) {
    const std::uint32_t gear = job.plan.blocks.front().gear;
    if (fits(job, gear)) give(job, static_cast<std::int32_t>(gear));
    return;
  }
  if (options_.only_promised && may_hope(job)) {
    for (std::uint32_t gear = 0; gear < job.gears.size(); ++gear) {
      const Gear& tried = job.gears[gear];
      if (in_time(job, gear) && fits(job, gear) &&
          calendar_.is_free(tried.pool, now_, now_ + time_on(job, gear), tried.gpus.gpus.value))
        return give(job, static_cast<std::int32_t>(gear));
    }
    return;
  }
  // The fewest GPUs that suffice; without a deadline to be met, what it has or the fewest.
  for (std::uint32_t gear = 0; gear < job.gears.size(); ++gear) {
    const bool suffices = job.claim <= Claim::Chance ? in_time(job, gear) : !job.runs();
    if (suffices && fits(job, gear) && may_change(job, gear))
      return give(job, static_cast<std::int32_t>(gear));
  }
  if (job.runs() && fits(job, static_cast<std::uint32_t>(job.gear))) give(job, job.gear);
}

void PromisePolicy::give_rest(LiveJob& job) {
  if (job.target != kNoGear || job.claim <= Claim::Must || !may_fit(job)) return;
  if (options_.only_promised && may_hope(job)) return;
  for (std::size_t gear = job.gears.size(); gear-- > 0;) {
    const auto number = static_cast<std::uint32_t>(gear);
    if (fits(job, number) && may_change(job, number)) return give(job, static_cast<std::int32_t>(gear));
  }
}

/// Gives GPUs that a job could not use, because it would be late on its gang or placement had none, to
/// others. True if there are any.
bool PromisePolicy::give_refused(const SchedulingPass& pass) {
  bool any = false;
  for (LiveJob& job : jobs_) {
    if (job.runs() || job.target == kNoGear) continue;
    give(job, kNoGear);
    job.is_tried = any = true;
  }
  if (!any || pass.free_gpus().value == 0) return false;
  for (const std::uint32_t i : order_) {
    LiveJob& job = jobs_[i];
    if (job.runs() || job.is_tried) continue;
    give_base(job);
    give_rest(job);
  }
  grow();
  return true;
}

/// Gives GPUs that are left to the jobs that use them best, where the rest of the run gains more than the
/// change costs.
void PromisePolicy::grow() {
  struct Offer {
    double score;
    std::uint32_t job;
    std::int32_t gear;
    bool operator<(const Offer& other) const {
      return std::tuple(score, other.job) < std::tuple(other.score, job);
    }
  };
  std::priority_queue<Offer> offers;
  const auto offer = [&](std::uint32_t i) {
    const LiveJob& job = jobs_[i];
    if (job.target == kNoGear || job.claim == Claim::Stays) return;
    if (job.claim == Claim::Must) return;
    const auto now_on = static_cast<std::size_t>(job.target);
    const Gear& from = job.gears[now_on];
    if (now_on + 1 >= job.gears.size() || job.gears[now_on + 1].pool != from.pool) return;
    const Gear& to = job.gears[now_on + 1];
    const auto next = static_cast<std::uint32_t>(now_on + 1);
    if (!may_change(job, next)) return;
    const double before = static_cast<double>(time_on(job, static_cast<std::uint32_t>(now_on)));
    const double after = static_cast<double>(time_on(job, next));
    const double cost = job.has_started ? static_cast<double>(to.setup) : 0;
    if (before - after <= cost) return;
    const double more = static_cast<double>(to.gpus.gpus.value) / from.gpus.gpus.value - 1;
    offers.push({(before / after - 1) / more, i, static_cast<std::int32_t>(next)});
  };
  for (std::uint32_t i = 0; i < jobs_.size(); ++i)
    offer(i);
  while (!offers.empty()) {
    const Offer best = offers.top();
    offers.pop();
    LiveJob& job = jobs_[best.job];
    const Gear& from = job.gears[static_cast<std::size_t>(job.target)];
    const Gear& to = job.gears[static_cast<std::size_t>(best.gear)];
    if (to.gpus.gpus.value - from.gpus.gpus.value > left_[to.pool]) continue;
    give(job, best.gear);
    offer(best.job);
  }
}

void PromisePolicy::apply(SchedulingPass& pass) {
  const auto held = [](const LiveJob& job) {
    return job.runs() ? job.gears[static_cast<std::size_t>(job.gear)].gpus.gpus.value : 0;
  };
  const auto wanted = [](const LiveJob& job) {
    return job.target == kNoGear ? 0 : job.gears[static_cast<std::size_t>(job.target)].gpus.gpus.value;
  };
  active_.clear();
  for (const std::uint32_t i : order_) {
    if (jobs_[i].runs() || jobs_[i].target != kNoGear) active_.push_back(i);
  }
  // Jobs that stop or shrink make room for others.
  for (const std::uint32_t i : active_) {
    LiveJob& job = jobs_[i];
    if (job.runs() && job.target == kNoGear) change(pass, job);
  }
  for (const std::uint32_t i : active_) {
    LiveJob& job = jobs_[i];
    if (job.runs() && !moves(job) && wanted(job) < held(job)) change(pass, job);
  }
  leave_types(pass);
  for (const std::uint32_t i : active_) {
    LiveJob& job = jobs_[i];
    if (job.gear != job.target) change(pass, job);
  }
  for (const std::uint32_t i : active_)
    secure(pass, jobs_[i]);
}

bool PromisePolicy::moves(const LiveJob& job) {
  return job.runs() && job.target != kNoGear &&
         job.gears[static_cast<std::size_t>(job.gear)].pool !=
             job.gears[static_cast<std::size_t>(job.target)].pool;
}

/// Moves jobs to other types before any job starts or grows, since they may hold the GPUs for that. They make
/// room for each other; those that would wait in a circle are stopped, and start with all others.
void PromisePolicy::leave_types(SchedulingPass& pass) {
  bool any_left = true;
  for (bool any_moved = true; any_left && any_moved;) {
    any_left = any_moved = false;
    for (const std::uint32_t i : active_) {
      if (!moves(jobs_[i])) continue;
      change(pass, jobs_[i]);
      (moves(jobs_[i]) ? any_left : any_moved) = true;
    }
  }
  // Where placement may refuse a gang, stopped jobs might find no room.
  if (!any_left || !any_gpus_) return;
  for (LiveJob& job : jobs_) {
    if (moves(job)) stop(pass, job);
  }
}

void PromisePolicy::stop(SchedulingPass& pass, LiveJob& job) {
  book(pass, job);
  pass.preempt(job.id);
  job.gear = kNoGear;
  job.end = kNever;
  job.is_tried = true;
}

void PromisePolicy::change(SchedulingPass& pass, LiveJob& job) {
  if (job.target == kNoGear) return stop(pass, job);
  const Gear& gear = job.gears[static_cast<std::size_t>(job.target)];
  if (!job.runs()) {
    if (!starts_in_time(pass, job, gear) || !pass.try_start(job.id, gear.gpus)) return;
    job.gear = job.target;
    begin_segment(pass, job);
  } else {
    const LiveJob before = job;
    const SimDuration work = pass.work_done(job.id);
    if (!pass.try_resize(job.id, gear.gpus)) return;
    job.left = job.left_now;
    job.booked = work;
    job.gear = job.target;
    begin_segment(pass, job);
    const bool grew = gear.gpus.gpus > before.gears[static_cast<std::size_t>(before.gear)].gpus.gpus;
    // Placement had only a slow gang.
    if (grew && job.claim != Claim::Must && job.end >= before.end && pass.try_resume(job.id)) {
      job = before;
      return;
    }
  }
  secure(pass, job);
}

/// False if a job that must not run without a promise would get none on the gang that placement has for it.
bool PromisePolicy::starts_in_time(SchedulingPass& pass, const LiveJob& job, const Gear& gear) const {
  if (!options_.only_promised || job.promised() || !job.has_deadline() || job.claim == Claim::Late)
    return true;
  const auto timing = pass.segment_if_started(job.id, gear.gpus);
  if (!timing) return false;
  const SimDuration time = timing->time_for(time_for_iterations(job.left, gear.work_per_s));
  const PlanTime end = saturating(now_, time.count());
  return end <= job.deadline && calendar_.is_free(gear.pool, now_, end, gear.gpus.gpus.value);
}

void PromisePolicy::begin_segment(const SchedulingPass& pass, LiveJob& job) {
  job.has_started = true;
  const SegmentTiming timing = pass.segment(job.id);
  const Gear& gear = job.gears[static_cast<std::size_t>(job.gear)];
  const SimDuration time = timing.time_for(time_for_iterations(job.left, gear.work_per_s));
  job.end = saturating(now_, time.count());
  job.works_from = saturating(now_, timing.setup.count());
  job.speed = speed_on(gear, timing);
}

double PromisePolicy::speed_on(const Gear& gear, const SegmentTiming& timing) {
  return gear.work_per_s * share_of_training(timing) * static_cast<double>(timing.speed.here) /
         static_cast<double>(SegmentSpeed::kFull);
}

/// Gives a running job a plan on its gang where it has none, or where its plan has just begun.
void PromisePolicy::secure(SchedulingPass& pass, LiveJob& job) {
  if (!job.has_deadline() || !job.runs()) return;
  if (job.plan.kind == WorkPlan::Kind::Keep) return;
  if (!job.promised()) {
    if (try_keep(job)) pass.promise(job.id);
    return;
  }
  if (job.claim == Claim::Must) try_keep(job);
}

PlanTime PromisePolicy::due(const LiveJob& job) const {
  if (job.slack == kNever) return kNever;
  const PlanTime begin = now_ + job.slack;
  const PlanTime works_from = std::max(now_, job.works_from);
  if (!job.runs() || begin < works_from) return begin;
  // Work done meanwhile puts the time off, by as much in a second as the plan's gang needs for it.
  const double put_off = job.speed / job.gears[job.next.gear].sure_speed;
  if (put_off >= 1) return job.next.end;
  const double time = static_cast<double>(begin - works_from) / (1 - put_off);
  return time < static_cast<double>(job.next.end - works_from) ? works_from + static_cast<PlanTime>(time)
                                                               : job.next.end;
}

PlanTime PromisePolicy::late_from(const LiveJob& job) const {
  PlanTime shortest = kNever;
  for (std::uint32_t gear = 0; gear < job.gears.size(); ++gear)
    shortest = std::min(shortest, time_on(job, gear));
  return job.deadline - shortest + 1;
}

void PromisePolicy::ask_to_wake(SchedulingPass& pass) {
  PlanTime next = kNever;
  for (const LiveJob& job : jobs_) {
    if (job.runs()) next = std::min(next, job.end);
    if (options_.only_promised && !job.runs() && may_hope(job)) next = std::min(next, late_from(job));
    if (!job.promised() || job.plan.kind == WorkPlan::Kind::Keep) continue;
    // A job that stays on its gang waits for its end, or for its node.
    if (job.claim != Claim::Must && job.claim != Claim::Stays) next = std::min(next, due(job));
    for (const PlanBlock& block : std::span(job.plan.blocks).subspan(1)) {
      if (block.begin > now_) next = std::min(next, block.begin);
    }
  }
  if (next != kNever) pass.wake_at(sim_time(std::max(next, plan_time(pass.now()) + 1)));
}

}  // namespace vtrain
