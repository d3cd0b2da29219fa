#include "policies/elasticflow/elasticflow.hpp"

#include <algorithm>
#include <cmath>

#include "policies/base/policies.hpp"
#include "sched/cluster/cluster.hpp"
#include "sched/disruption/interruption_cost.hpp"

namespace vtrain {
namespace {

/// Makes room for `size` elements. Those that are there keep their memory.
template <class Element>
void grow_to(std::vector<Element>& elements, std::size_t size) {
  if (elements.size() < size) elements.resize(size);
}

}  // namespace

void ElasticFlow::decide(SchedulingPass& pass, WholeSeconds now, std::vector<std::uint32_t> arrived) {
  context_ = {.now = now, .slot = slot(), .cluster_gpus = cluster_gpus(), .keeps_plans = keeps_plans(pass)};
  fill_.set_context(context_);
  plan_live();
  admit(pass, arrived);
  for (PlannedJob& planned : planned())
    planned.adopt_plan(now);
  const auto order = scaling_.run(context_, options_.greedy, planned(), free_);
  num_last_ = live_.size();

  next_change_.reset();
  std::optional<WholeSeconds> first_end;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const PlannedJob& planned = jobs_[order[i]];
    live_[i] = planned.id;
    if (!first_end || planned.plan.end < *first_end) first_end = planned.plan.end;
    for (const GpuTimeline::Step& step : planned.plan.gpus.steps()) {
      if (step.time <= now) continue;
      if (!next_change_ || step.time < *next_change_) next_change_ = step.time;
      break;
    }
  }
  std::ranges::stable_sort(live_, std::ranges::greater{},
                           [this](std::uint32_t id) { return live_job(id).gpus; });
  // A change is an event of its own only before all planned ends, wherever overhead moves these.
  if (next_change_ && *next_change_ >= *first_end) next_change_.reset();
  if (options_.overhead == DecisionOverhead::Table) charge_overhead(pass);
}

void ElasticFlow::charge_overhead(const SchedulingPass& pass) {
  if (!node_sets_)
    node_sets_.emplace(pass.cluster().total_nodes(), cluster_gpus() / pass.cluster().total_nodes());
  std::vector<NodeSets::Gang> gangs;
  for (const std::uint32_t id : live_) {
    if (live_job(id).gpus > 0) gangs.push_back({id, live_job(id).gpus});
  }
  node_sets_->place(gangs);
  const bool restart = num_decisions_ > 0 && num_decisions_ % slot() == 0;
  ++num_decisions_;
  if (restart) node_sets_->forget();
  for (const NodeSets::Gang& gang : gangs) {
    SlottedJob& job = live_job(gang.id);
    job.overhead = node_sets_->is_warm(gang.id)
                       ? elasticflow_base_overhead(cluster_gpus())
                       : elasticflow_start_overhead(gang.gpus, cluster_gpus(), restart);
    job.end += static_cast<WholeSeconds>(std::ceil(job.overhead));
  }
}

std::size_t ElasticFlow::plan(std::span<PlannedJob> jobs, GpuTimeline& free, bool stop_when_late) {
  const auto least_of = [&] { return std::min(free.steps().front().gpus, free.least_after_first()); };
  std::int64_t least = least_of();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    PlannedJob& planned = jobs[i];
    const FreeView view(free, least, nullptr);
    fill_.plan(*planned.job, view, std::nullopt, planned.plan);
    planned.booked_until = fill_.booked_until();
    if (fill_.leaves_the_rest()) {
      planned.free_before.clear();
      least = std::min(least, free.add_part(planned.plan.gpus, planned.booked_until, -1));
    } else {
      fill_.leave(planned.free_before);
      std::swap(planned.free_before, free);
      least = least_of();
    }
    if (stop_when_late && planned.is_late() && !planned.is_lost) return i;
  }
  return jobs.size();
}

void ElasticFlow::give_back(std::span<const PlannedJob> jobs, GpuTimeline& free) {
  for (std::size_t i = jobs.size(); i-- > 0;) {
    if (jobs[i].free_before.empty()) {
      free.add_part(jobs[i].plan.gpus, jobs[i].booked_until, 1);
    } else {
      free = jobs[i].free_before;
    }
  }
}

void ElasticFlow::plan_live() {
  std::swap(jobs_, last_jobs_);
  const auto last = std::span(last_jobs_).first(num_last_);
  std::ranges::sort(last, {}, &PlannedJob::id);
  std::ranges::stable_sort(live_, {}, [this](std::uint32_t id) { return live_job(id).deadline; });
  grow_to(jobs_, live_.size());
  for (std::size_t i = 0; i < live_.size(); ++i) {
    jobs_[i].id = live_[i];
    jobs_[i].job = &live_job(live_[i]);
    jobs_[i].is_lost = false;
  }
  free_.assign(context_.now, context_.cluster_gpus);
  num_kept_ = 0;
  const bool may_keep = context_.keeps_plans && std::ranges::none_of(live_, [this](std::uint32_t id) {
                          return live_job(id).disrupted;
                        });
  std::size_t late = plan(planned(), free_, may_keep);
  if (may_keep) {
    while (late < live_.size())
      late = keep_plan(late);
  }
  if (num_kept_ == 0) slots_from_ = context_.now;
  for (PlannedJob& planned : planned())
    planned.is_lost = planned.job->disrupted && planned.is_late();
}

std::size_t ElasticFlow::keep_plan(std::size_t late) {
  context_.past_slot = (context_.now - slots_from_) % context_.slot;
  fill_.set_context(context_);
  const std::span<PlannedJob> all = planned();
  give_back(all.subspan(num_kept_, late + 1 - num_kept_), free_);
  const auto move_up = [&](auto first) {
    const auto from = first + static_cast<std::ptrdiff_t>(late);
    std::rotate(first + static_cast<std::ptrdiff_t>(num_kept_), from, from + 1);
  };
  move_up(all.begin());
  move_up(live_.begin());
  PlannedJob& kept = all[num_kept_];
  const auto last = std::span(last_jobs_).first(num_last_);
  kept.plan = std::ranges::lower_bound(last, kept.id, {}, &PlannedJob::id)->plan;
  kept.plan.gpus.begin_at(context_.now);
  kept.booked_until = kept.plan.end;
  kept.free_before.clear();
  free_.add_part(kept.plan.gpus, kept.plan.end, -1);
  ++num_kept_;
  return num_kept_ + plan(all.subspan(num_kept_), free_, true);
}

bool ElasticFlow::try_admit(std::span<const std::uint32_t> arrived, bool always) {
  const auto deadline = [](const PlannedJob& planned) { return planned.job->deadline; };
  std::vector<std::uint32_t> newcomers(arrived.begin(), arrived.end());
  std::ranges::stable_sort(newcomers, {}, [this](std::uint32_t id) { return live_job(id).deadline; });
  const std::span<PlannedJob> old = planned();
  // Jobs that keep their plans stay before all others.
  const auto first_behind =
      std::ranges::upper_bound(old.subspan(num_kept_), live_job(newcomers.front()).deadline, {}, deadline);
  const auto first = num_kept_ + static_cast<std::size_t>(first_behind - old.subspan(num_kept_).begin());
  const auto forbids = [](const PlannedJob& job) { return job.is_late() && !job.is_lost; };
  if (!always && std::ranges::any_of(old.first(first), forbids)) return false;

  const std::size_t num_trial = old.size() - first + newcomers.size();
  grow_to(trial_jobs_, num_trial);
  std::size_t next_old = first;
  auto newcomer = newcomers.begin();
  for (std::size_t i = 0; i < num_trial; ++i) {
    const bool take_old = newcomer == newcomers.end() ||
                          (next_old < old.size() && deadline(old[next_old]) <= live_job(*newcomer).deadline);
    trial_jobs_[i].is_lost = take_old && old[next_old].is_lost;
    trial_jobs_[i].id = take_old ? old[next_old++].id : *newcomer++;
    trial_jobs_[i].job = &live_job(trial_jobs_[i].id);
  }
  trial_free_ = free_;
  give_back(old.subspan(first), trial_free_);
  if (plan(std::span(trial_jobs_).first(num_trial), trial_free_, !always) < num_trial) return false;

  live_.resize(first + num_trial);
  grow_to(jobs_, live_.size());
  for (std::size_t i = 0; i < num_trial; ++i) {
    std::swap(jobs_[first + i], trial_jobs_[i]);
    live_[first + i] = jobs_[first + i].id;
  }
  std::swap(free_, trial_free_);
  return true;
}

void ElasticFlow::admit(SchedulingPass& pass, const std::vector<std::uint32_t>& arrived) {
  if (arrived.empty()) return;
  if (options_.admission == AdmissionTest::Batch && try_admit(arrived, false)) return;
  for (const std::uint32_t id : arrived) {
    const bool best_effort = live_job(id).best_effort;
    const bool tested = best_effort || options_.admission == AdmissionTest::Job;
    if (!tested || !try_admit(std::span(&id, 1), best_effort)) pass.reject(live_job(id).job);
  }
}

MadePolicy make_elasticflow(const PolicyArguments& arguments) {
  ElasticFlowOptions options;
  options.admission = arguments["admission"] == "job" ? AdmissionTest::Job : AdmissionTest::Batch;
  options.greedy = arguments["greedy"] == "smallest" ? SpareGpus::Smallest : SpareGpus::Largest;
  options.overhead = arguments["overhead"] == "none" ? DecisionOverhead::None : DecisionOverhead::Table;
  const auto slot = parse_slot(arguments);
  if (!slot) return fail(slot.error());
  options.slot = *slot;
  return std::make_unique<ElasticFlow>(options);
}

}  // namespace vtrain
