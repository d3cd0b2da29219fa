#include "policies/elasticflow/slotted_policy.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/text/quantities.hpp"
#include "sched/simulation/gpus_by_type.hpp"

namespace vtrain {

namespace {

/// Least number of iterations that a job which has not ended has left.
constexpr double kLeastWork = 1e-6;

/// True if a job may also hold levels on which it is no faster.
bool keeps_all_levels(const Job& job, const SpeedByGpus& levels) {
  return job.max_gpus.value > 0 && levels.source() == SpeedByGpus::Source::Trace;
}

}  // namespace

WholeSeconds to_whole_seconds(SimTime time) {
  return std::chrono::ceil<std::chrono::seconds>(time.time_since_epoch()).count();
}

WholeSeconds whole_seconds_passed(SimTime time) {
  return std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
}

SimTime to_sim_time(WholeSeconds seconds) {
  constexpr auto kLast = std::chrono::floor<std::chrono::seconds>(SimTime::max().time_since_epoch());
  return seconds < kLast.count() ? SimTime(std::chrono::seconds(seconds)) : SimTime::max();
}

WholeSeconds align_to_slot(WholeSeconds start, WholeSeconds time, WholeSeconds slot) {
  const WholeSeconds past = time - start;
  const WholeSeconds slots = past / slot + (past % slot > 0 ? 1 : 0);
  return start + slots * slot;
}

WholeSeconds seconds_up(double seconds) {
  constexpr WholeSeconds kLongest = WholeSeconds{1} << 60;
  return std::abs(seconds) < static_cast<double>(kLongest) ? static_cast<WholeSeconds>(std::ceil(seconds))
                                                           : kLongest;
}

WholeSeconds kept_seconds(double seconds) {
  // Work that counts as done differs from a whole second by at most `kRoundingTime`, itself rounded.
  return std::max(seconds_up(seconds - 2 * kRoundingTime), WholeSeconds{1});
}

void SlottedArrivals::collect(const SchedulingPass& pass, std::optional<WholeSeconds> last_decision,
                              bool others) {
  if (pass.arrived().empty()) return;
  if (jobs_.empty()) {
    const WholeSeconds now = to_whole_seconds(pass.now());
    others = others || pass.more_to_come();
    const bool waits = others && last_decision && now - *last_decision <= slot_;
    due_ = waits ? *last_decision + slot_ : now;
  }
  jobs_.insert(jobs_.end(), pass.arrived().begin(), pass.arrived().end());
}

Result<WholeSeconds> parse_slot(const PolicyArguments& arguments) {
  constexpr SimDuration kSecond = std::chrono::seconds(1);
  const auto slot = parse_time_span(arguments["slot"]);
  if (!slot || *slot < kSecond || *slot > std::chrono::days(1) || *slot % kSecond != SimDuration(0))
    return fail(arguments.bad_value("slot", "whole seconds from 1s to 1d, such as 60s or 5m"));
  return *slot / kSecond;
}

std::int64_t SlottedJob::level_within(std::int64_t num_gpus) const {
  const auto most = static_cast<std::int32_t>(std::min(num_gpus, max_gpus));
  return levels->at_most(GpuCount(most)).num_gpus.value;
}

std::int64_t SlottedJob::level_above(std::int64_t num_gpus) const {
  const std::int64_t next = levels->above(GpuCount(static_cast<std::int32_t>(num_gpus))).num_gpus.value;
  return next == 0 || next > max_gpus ? num_gpus : next;
}

void SlottedPolicy::schedule(SchedulingPass& pass) {
  jobs_.resize(pass.jobs().size());
  cluster_gpus_ = pass.total_gpus().value;
  if (standstill_) end_standstill(pass);
  take_disruptions(pass);
  take_ends_by_themselves(pass);
  arrivals_.collect(pass, last_decision_, !planned_.empty());
  const WholeSeconds now = whole_seconds_passed(pass.now());
  if (const auto time = due(pass); time && *time <= now) {
    progress(pass, now);
    disrupted_at_.reset();
    take_ends(pass, now);
    std::vector<std::uint32_t> arrived;
    if (arrivals_.due() && *arrivals_.due() <= now) arrived = take_arrivals(pass);
    decide(pass, now, std::move(arrived));
    planned_.clear();
    std::ranges::copy_if(live_, std::back_inserter(planned_),
                         [this](std::uint32_t id) { return jobs_[id].planned; });
    apply(pass);
    last_decision_ = now;
    const auto next = due(pass);
    if (next && repeats_decision(pass, now)) standstill_ = std::max(*next - now, WholeSeconds{1});
  }
  next_pass_.reset();
  if (standstill_) return;
  if (const auto time = due(pass)) next_pass_ = to_sim_time(std::max(*time, now + 1));
  if (next_pass_) pass.wake_at(*next_pass_);
}

std::optional<WholeSeconds> SlottedPolicy::due(const SchedulingPass& pass) const {
  std::optional<WholeSeconds> first;
  bool several = pass.more_to_come() || arrivals_.due().has_value();
  for (const std::uint32_t id : planned_) {
    several |= first && *first != jobs_[id].end;
    if (!first || jobs_[id].end < *first) first = jobs_[id].end;
  }
  if (const auto change = next_change(); change && *change > last_decision_) {
    several |= first && *first != *change;
    if (!first || *change < *first) first = change;
  }
  if (disrupted_at_) {
    several |= first && *first != *disrupted_at_;
    if (!first || *disrupted_at_ < *first) first = disrupted_at_;
  }
  if (first && last_decision_ && several && !keeps_plans(pass))
    first = std::max(*first, *last_decision_ + slot_);
  const auto arrival = arrivals_.due();
  return arrival && (!first || *arrival < *first) ? arrival : first;
}

void SlottedPolicy::take_disruptions(const SchedulingPass& pass) {
  for (const JobId id : pass.interrupted()) {
    SlottedJob& job = jobs_[id.value];
    if (pass.disrupted()) {
      book_work(pass, job);
    } else if (job.gpus > 0) {
      const WholeSeconds held = whole_seconds_passed(pass.now()) - *last_decision_;
      job.iterations_left =
          std::max(job.iterations_left - static_cast<double>(held) * job.speed(job.gpus), kLeastWork);
    }
    job.gpus = 0;
  }
  const bool disrupted = !pass.interrupted().empty() || pass.capacity_changed();
  if (!disrupted) return;
  for (const std::uint32_t id : live_)
    jobs_[id].disrupted = true;
  if (!disrupted_at_ && !live_.empty()) disrupted_at_ = to_whole_seconds(pass.now());
}

void SlottedPolicy::take_ends_by_themselves(const SchedulingPass& pass) {
  if (pass.ended().empty()) return;
  const auto has_ended = [&](std::uint32_t id) { return !pass.is_live(jobs_[id].job); };
  std::erase_if(planned_, has_ended);
  std::erase_if(live_, has_ended);
  if (!disrupted_at_ && !live_.empty()) disrupted_at_ = to_whole_seconds(pass.now());
}

void SlottedPolicy::book_work(const SchedulingPass& pass, SlottedJob& job) {
  const SimDuration work = pass.work_done(job.job);
  job.iterations_left -= to_seconds(work - job.work_booked) * job.base_speed(job.gpus);
  // A job that runs longer than predicted has work left.
  if (pass.run_times_differ()) job.iterations_left = std::max(job.iterations_left, kLeastWork);
  job.work_booked = work;
}

void SlottedPolicy::progress(const SchedulingPass& pass, WholeSeconds now) {
  if (!last_decision_) return;
  for (const std::uint32_t id : planned_) {
    SlottedJob& job = jobs_[id];
    if (job.gpus == 0) continue;
    if (pass.disrupted()) {
      book_work(pass, job);
      continue;
    }
    auto time = static_cast<double>(now - *last_decision_);
    const WholeSeconds done = job.finished.value_or(job.end);
    if (now > done) time -= static_cast<double>(now - done);
    time = std::max(time - job.overhead, 0.0);
    const double speed = job.speed(job.gpus);
    const double iterations = time * speed;
    const double needed = job.iterations_left / speed;
    const bool done_before =
        keeps_plans_ ? needed <= time + kRoundingTime : job.iterations_left <= iterations;
    if (done_before && job.end > now) {
      job.end = *last_decision_ + (keeps_plans_ ? kept_seconds(needed) : seconds_up(needed));
      job.finished.reset();
    }
    job.iterations_left -= iterations;
    job.overhead = 0;
  }
}

void SlottedPolicy::take_ends(SchedulingPass& pass, WholeSeconds now) {
  const std::size_t num_ended = std::erase_if(planned_, [&](std::uint32_t id) {
    const SlottedJob& job = jobs_[id];
    if (pass.disrupted()) return end_if_done(pass, job);
    if (job.end > now || job.gpus == 0) return false;
    pass.complete(job.job, to_sim_time(job.end), to_sim_time(job.finished.value_or(job.end)));
    return true;
  });
  if (num_ended > 0) std::erase_if(live_, [&](std::uint32_t id) { return !pass.is_live(jobs_[id].job); });
}

bool SlottedPolicy::end_if_done(SchedulingPass& pass, const SlottedJob& job) {
  constexpr double kNoTime = 1e-9;  // s, a tick of the clock
  if (job.gpus == 0 || pass.run_times_differ()) return false;
  const double left_s = job.iterations_left / job.base_speed(job.gpus);
  if (left_s > kNoTime) return false;
  const SimDuration too_much = to_sim_duration(Seconds(std::max(-left_s, 0.0)));
  const SimTime end = pass.when_done(job.job, pass.work_done(job.job) - too_much);
  pass.complete(job.job, end, end);
  return true;
}

void SlottedPolicy::find_levels(const SchedulingPass& pass, SlottedJob& live) {
  const Job& job = pass.job(live.job);
  live.levels = pass.curve(live.job);
  // A rigid job does a second's work per second.
  if (live.levels == nullptr)
    live.levels = &rigid_.emplace_back(std::vector<SpeedByGpus::Level>{{job.num_gpus, 1.0}});
  live.base_levels = live.levels;
  if (job.curve && !keeps_all_levels(job, *live.levels)) live.levels = &worthwhile(*live.levels, job.curve);
  set_levels(job, live, *live.levels, cluster_gpus_);
}

void SlottedPolicy::take_job(const SchedulingPass& pass, JobId id) {
  const Job& job = pass.job(id);
  SlottedJob& live = jobs_[id.value];
  live = {};
  live.job = id;
  live.run_time = time_on_gpus(job);
  find_levels(pass, live);
  live.iterations_left =
      pass.curve(id) != nullptr ? static_cast<double>(job.iterations) : to_seconds(live.run_time);
  live.best_effort = !job.has_deadline();
  live.deadline = live.best_effort ? kNever : whole_seconds_passed(job.deadline);
}

std::vector<std::uint32_t> SlottedPolicy::take_arrivals(SchedulingPass& pass) {
  std::vector<std::uint32_t> arrived;
  for (const JobId id : arrivals_.take()) {
    take_job(pass, id);
    if (jobs_[id.value].max_gpus == 0) {
      // It may hold fewer GPUs than it can run on.
      pass.reject(id);
      continue;
    }
    arrived.push_back(id.value);
  }
  return arrived;
}

void SlottedPolicy::set_levels(const Job& description, SlottedJob& job, const SpeedByGpus& levels,
                               std::int64_t most) {
  job.levels = &levels;
  most = std::min<std::int64_t>(most, levels.levels().back().num_gpus.value);
  if (description.max_gpus.value > 0) most = std::min<std::int64_t>(most, description.max_gpus.value);
  job.max_gpus = levels.at_most(GpuCount(static_cast<std::int32_t>(most))).num_gpus.value;
  job.min_gpus = levels.levels().front().num_gpus.value;
}

bool SlottedPolicy::use_type(const SchedulingPass& pass, SlottedJob& job, std::uint32_t type) {
  const SpeedByGpus* const levels = levels_on(pass, job, type);
  if (levels == nullptr) return false;
  job.type = type;
  set_levels(pass.job(job.job), job, *levels, types(pass)->total()[type]);
  return job.max_gpus > 0;
}

const SpeedByGpus* SlottedPolicy::levels_on(const SchedulingPass& pass, const SlottedJob& job,
                                            std::uint32_t type) {
  std::vector<std::pair<std::int32_t, double>> speeds;
  for (const SpeedByGpus::Level& level : job.base_levels->levels()) {
    const double speed = pass.speed(job.job, {level.num_gpus, type});
    const double fastest = speeds.empty() ? 0 : speeds.back().second;
    if (speed > 0 && (keeps_all_levels(pass.job(job.job), *job.base_levels) || speed > fastest))
      speeds.emplace_back(level.num_gpus.value, speed);
  }
  if (speeds.empty()) return nullptr;
  const auto known = typed_.find(speeds);
  if (known != typed_.end()) return &known->second;
  std::vector<SpeedByGpus::Level> levels;
  for (const auto& [gpus, speed] : speeds)
    levels.push_back({GpuCount(gpus), speed});
  return &typed_.emplace(std::move(speeds), SpeedByGpus(std::move(levels))).first->second;
}

const SpeedByGpus& SlottedPolicy::worthwhile(const SpeedByGpus& curve, CurveId id) {
  const auto [known, is_new] = worthwhile_.try_emplace(id);
  if (is_new) {
    std::vector<SpeedByGpus::Level> levels;
    for (const SpeedByGpus::Level& level : curve.levels()) {
      if (levels.empty() || level.iterations_per_s > levels.back().iterations_per_s) levels.push_back(level);
    }
    known->second.emplace(std::move(levels));
  }
  return *known->second;
}

void SlottedPolicy::apply(SchedulingPass& pass) {
  // Jobs that shrink make room for jobs that grow.
  for (const bool grows : {false, true}) {
    for (const std::uint32_t id : planned_) {
      const SlottedJob& job = jobs_[id];
      const GpuCount held = pass.held_gpus(job.job);
      const GpuCount wanted(static_cast<std::int32_t>(job.gpus));
      if (held == wanted || (wanted > held) != grows) continue;
      if (held.value == 0) {
        pass.try_start(job.job, {wanted, job.type});
      } else if (wanted.value == 0) {
        pass.preempt(job.job);
      } else {
        pass.try_resize(job.job, {wanted, job.type});
      }
    }
  }
  // Placements may refuse a gang although enough GPUs are free; the next decision plans it again.
  std::vector<std::pair<std::uint32_t, std::int64_t>> refused;
  const auto runs = [&](std::uint32_t id) { return pass.held_gpus(jobs_[id].job).value > 0; };
  if (std::ranges::none_of(planned_, runs)) {
    for (const std::uint32_t id : live_)
      refused.emplace_back(id, jobs_[id].gpus);
  }
  for (const std::uint32_t id : planned_) {
    SlottedJob& job = jobs_[id];
    const std::int64_t held = pass.held_gpus(job.job).value;
    job.disrupted = job.disrupted || (keeps_plans_ && held != job.gpus);
    job.gpus = held;
  }
  refused_again_ = !refused.empty() && refused == refused_;
  refused_ = std::move(refused);
}

bool SlottedPolicy::repeats_decision(const SchedulingPass& pass, WholeSeconds now) const {
  if (!refused_again_ || arrivals_.due() || pass.more_to_come()) return false;
  // Plans depend on the time left before a deadline.
  return std::ranges::all_of(
      live_, [&](std::uint32_t id) { return jobs_[id].best_effort || jobs_[id].deadline + slot_ < now; });
}

void SlottedPolicy::end_standstill(const SchedulingPass& pass) {
  const WholeSeconds passed =
      (to_whole_seconds(pass.now()) - 1 - *last_decision_) / *standstill_ * *standstill_;
  *last_decision_ += passed;
  for (const std::uint32_t id : live_)
    jobs_[id].end += passed;
  standstill_.reset();
}

}  // namespace vtrain
