#include "policies/promises/work_plan.hpp"

#include <algorithm>
#include <cmath>

namespace vtrain {
namespace {

constexpr double kNsPerSecond = 1e9;
/// Time that rounding may take from a block, ns.
constexpr PlanTime kRounding = 1000;

/// Time in which a gear does work for certain, without setup; rounded up.
PlanTime sure_time(const Gear& gear, double work) {
  const double ns = std::ceil(std::max(work, 0.0) / gear.sure_speed * kNsPerSecond * (1 + 1e-12));
  constexpr double kLongest = 4e18;
  return ns < kLongest ? static_cast<PlanTime>(ns) + kRounding : static_cast<PlanTime>(kLongest);
}

/// A pool's gears.
std::span<const Gear> gears_of(std::span<const Gear> gears, std::size_t first) {
  std::size_t last = first;
  while (last < gears.size() && gears[last].pool == gears[first].pool)
    ++last;
  return gears.subspan(first, last - first);
}

double gpu_time(const WorkPlan& plan, std::span<const Gear> gears) {
  double sum = 0;
  for (const PlanBlock& block : plan.blocks)
    sum += static_cast<double>(block.end - block.begin) * gears[block.gear].gpus.gpus.value;
  return sum;
}

}  // namespace

double sure_work(const Gear& gear, PlanTime time, bool has_setup) {
  const PlanTime working = time - kRounding - (has_setup ? gear.setup : 0);
  return static_cast<double>(std::max<PlanTime>(working, 0)) / kNsPerSecond * gear.sure_speed * (1 - 1e-12);
}

void trim(WorkPlan& plan, std::span<const Gear> gears, double left) {
  const bool may_skip_setup = plan.kind == WorkPlan::Kind::First;
  for (std::size_t i = plan.blocks.size(); i-- > 0;) {
    PlanBlock& block = plan.blocks[i];
    const Gear& gear = gears[block.gear];
    const bool has_setup = i > 0 || !may_skip_setup;
    const double work = sure_work(gear, block.end - block.begin, has_setup);
    if (work >= left || i == 0) {
      const PlanTime needed = sure_time(gear, left) + (has_setup ? gear.setup : 0);
      block.begin = std::max(block.begin, block.end - std::min(needed, block.end));
      plan.blocks.erase(plan.blocks.begin(), plan.blocks.begin() + static_cast<std::ptrdiff_t>(i));
      if (i > 0) plan.kind = WorkPlan::Kind::Deferred;
      return;
    }
    left -= work;
  }
}

void PlanCalendar::assign(PlanTime now, std::span<const std::int64_t> gpus) {
  free_.resize(gpus.size());
  for (std::size_t pool = 0; pool < gpus.size(); ++pool)
    free_[pool].assign(now, gpus[pool]);
}

void PlanCalendar::begin_at(PlanTime now) {
  for (GpuTimeline& free : free_)
    free.begin_at(now);
}

void PlanCalendar::add(const WorkPlan& plan, std::span<const Gear> gears, std::int64_t times) {
  for (const PlanBlock& block : plan.blocks) {
    GpuTimeline& free = free_[gears[block.gear].pool];
    const PlanTime from = std::max(block.begin, free.steps().front().time);
    if (block.end <= from) continue;
    GpuTimeline part(from, gears[block.gear].gpus.gpus.value);
    free.add_part(part, block.end, -times);
  }
}

bool PlanCalendar::is_free(std::uint32_t pool, PlanTime from, PlanTime until, std::int64_t gpus) const {
  const auto steps = free_[pool].steps();
  std::size_t i = free_[pool].index_from(from + 1);
  if (i > 0) --i;
  for (; i < steps.size() && (steps[i].time < until || steps[i].time <= from); ++i) {
    if (steps[i].gpus < gpus) return false;
  }
  return true;
}

std::optional<WorkPlan> PlanCalendar::start_now(const WorkRequest& request) const {
  std::optional<WorkPlan> best;
  for (std::uint32_t i = 0; i < request.gears.size(); ++i) {
    const Gear& gear = request.gears[i];
    if (gear.sure_speed <= 0) continue;
    const SimDuration held = gear.slowest.time_for(time_for_iterations(request.left, gear.work_per_s));
    if (held > SimDuration(request.deadline - request.now)) continue;
    WorkPlan plan{WorkPlan::Kind::First, {{request.now, request.now + held.count(), i}}};
    if (!is_free(gear.pool, request.now, plan.end(), gear.gpus.gpus.value)) continue;
    if (!best || gpu_time(plan, request.gears) < gpu_time(*best, request.gears)) best = std::move(plan);
  }
  return best;
}

std::optional<WorkPlan> PlanCalendar::defer(const WorkRequest& request) const {
  std::optional<WorkPlan> best;
  for (std::size_t first = 0; first < request.gears.size();) {
    const std::span<const Gear> gears = gears_of(request.gears, first);
    auto plan = defer_in(request, gears, static_cast<std::uint32_t>(first), true);
    if (plan && (!best || gpu_time(*plan, request.gears) < gpu_time(*best, request.gears)))
      best = std::move(plan);
    first += gears.size();
  }
  if (best || request.has_started) return best;
  if (auto plan = start_now(request)) return plan;
  for (std::size_t first = 0; first < request.gears.size() && !best;) {
    const std::span<const Gear> gears = gears_of(request.gears, first);
    best = defer_in(request, gears, static_cast<std::uint32_t>(first), false);
    first += gears.size();
  }
  return best;
}

std::optional<WorkPlan> PlanCalendar::defer_in(const WorkRequest& request, std::span<const Gear> gears,
                                               std::uint32_t first_gear, bool first_has_setup) const {
  const GpuTimeline& free = free_[gears.front().pool];
  const auto steps = free.steps();
  const std::size_t behind = free.index_from(request.deadline);
  if (behind == 0 || request.deadline <= request.now) return std::nullopt;
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  double fastest = 0;
  for (std::uint32_t most = 0; most < gears.size(); ++most) {
    if (gears[most].sure_speed <= fastest) continue;
    fastest = gears[most].sure_speed;
    const double most_work = sure_work(gears[most], request.deadline - request.now, false);
    if (most_work < request.left) continue;
    WorkPlan plan{first_has_setup ? WorkPlan::Kind::Deferred : WorkPlan::Kind::First, {}};
    double done = 0;  // in the blocks of the plan, which are in reverse order
    PlanBlock open{0, 0, kNone};
    const auto close = [&] {
      if (open.gear == kNone) return;
      const double work = sure_work(gears[open.gear], open.end - open.begin, true);
      if (work > 0) plan.blocks.push_back(open);
      done += work;
      open.gear = kNone;
    };
    PlanTime end = request.deadline;
    for (std::size_t i = behind; i-- > 0;) {
      const PlanTime begin = std::max(steps[i].time, request.now);
      std::uint32_t gear = kNone;
      double speed = 0;
      for (std::uint32_t level = 0; level <= most && gears[level].gpus.gpus.value <= steps[i].gpus; ++level) {
        if (gears[level].sure_speed > speed) {
          gear = level;
          speed = gears[level].sure_speed;
        }
      }
      if (gear != open.gear) close();
      if (gear != kNone) {
        if (open.gear == kNone) open = {begin, end, gear};
        open.begin = begin;
        const double needed = request.left - done;
        if (sure_work(gears[gear], open.end - begin, first_has_setup) >= needed) {
          const PlanTime setup = first_has_setup ? gears[gear].setup : 0;
          open.begin = std::max(begin, open.end - setup - sure_time(gears[gear], needed) - kRounding);
          plan.blocks.push_back(open);
          std::ranges::reverse(plan.blocks);
          for (PlanBlock& block : plan.blocks)
            block.gear += first_gear;
          return plan;
        }
      }
      end = begin;
      if (begin <= request.now) break;
    }
  }
  return std::nullopt;
}

}  // namespace vtrain
