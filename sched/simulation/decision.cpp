#include "sched/simulation/decision.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sched/cluster/gpu_types.hpp"
#include "sched/simulation/gpus_by_type.hpp"
#include "sched/simulation/rounds.hpp"
#include "sched/tenants/tenant_tree.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {
namespace {

constexpr std::uint32_t kOnlyType[] = {0};

std::span<const std::uint32_t> types_of(const SchedulingPass& pass, const Job& job) {
  return pass.gpus_by_type() == nullptr ? std::span<const std::uint32_t>(kOnlyType)
                                        : pass.gpus_by_type()->allowed(job.gpu_type);
}

/// An allocation as policies name it: without a type if all GPUs are alike.
Allocation on_type(const SchedulingPass& pass, GpuCount gpus, std::uint32_t type) {
  return pass.gpus_by_type() == nullptr ? Allocation{gpus} : Allocation{gpus, type};
}

/// Name of this number in a table; empty for none.
template <class NameId>
std::string name_of(const NameTable& names, NameId id) {
  return id ? names[id.value] : std::string();
}

}  // namespace

void DecisionPolicy::begin(const SchedulingPass& view) {
  ClusterView cluster;
  if (const GpusByType* const by_type = view.gpus_by_type()) {
    for (std::size_t i = 0; i < by_type->total().size(); ++i)
      cluster.types.push_back({by_type->names()[i], by_type->total()[i]});
  } else {
    cluster.types.push_back({view.cluster().groups.front().gpu_type, view.total_gpus().value});
  }
  const TenantTree& tree = view.tenants();
  for (const Tenant& tenant : tree.tenants) {
    TenantView& added = cluster.tenants.emplace_back();
    added.name = tenant.name;
    added.weight = tenant.weight;
    if (tenant.parent) added.parent = tree.tenants[*tenant.parent].name;
    for (const Quota& quota : tenant.quotas)
      added.quotas.push_back({quota.gpu_type, quota.nominal, quota.borrowing_limit, quota.lending_limit});
  }
  for (const std::string& name : view.tenant_names().names()) {
    if (!tree.find(name)) cluster.tenants.push_back({.name = name});
  }
  events_ = {};
  live_.assign(view.running().begin(), view.running().end());
  live_.insert(live_.end(), view.waiting().begin(), view.waiting().end());
  std::ranges::sort(live_);
  for (const JobId job : live_)
    events_.arrived.push_back(view_of(view, job));
  begin_on(cluster);
}

void DecisionPolicy::schedule(SchedulingPass& pass) {
  gather(pass);
  carry_out(pass, decide(events_));
}

JobView DecisionPolicy::view_of(const SchedulingPass& pass, JobId id) const {
  const Job& job = pass.job(id);
  JobView view{.id = id,
               .name = std::string(job.name),
               .tenant = name_of(pass.tenant_names(), job.tenant),
               .user = name_of(pass.user_names(), job.user),
               .account = name_of(pass.account_names(), job.account),
               .queue = name_of(pass.queue_names(), job.queue),
               .qos = name_of(pass.qos_names(), job.qos),
               .submit = job.submit,
               .time_limit = job.time_limit(),
               .num_gpus = job.num_gpus,
               .max_gpus = job.max_gpus,
               .gpu_share = job.gpu_share};
  if (job.has_priority()) view.priority = job.priority;
  if (job.has_deadline()) view.deadline = job.deadline;
  if (const JobRequirements* const asked = pass.requirements(id)) {
    view.num_nodes = asked->num_nodes;
    view.gpus_per_node = asked->gpus_per_node;
    view.node_features = asked->node_features;
    append_dependencies(view.dependencies, asked->dependencies);
  }
  if (is_clairvoyant()) view.run_time = job.duration;
  const std::span<const std::uint32_t> types = types_of(pass, job);
  view.types.assign(types.begin(), types.end());
  const SpeedByGpus* const levels = progress_rule() == ProgressRule::Duration ? nullptr : pass.curve(id);
  if (levels != nullptr) view.iterations = job.iterations;
  for (const std::uint32_t type : types) {
    const auto add = [&](GpuCount gpus) {
      const Allocation allocation = on_type(pass, gpus, type);
      if (const double speed = pass.speed(id, allocation); speed > 0)
        view.speeds.push_back({allocation, speed});
    };
    if (levels == nullptr) add(job.num_gpus);
    if (levels == nullptr) continue;
    for (const SpeedByGpus::Level& level : levels->levels())
      add(level.num_gpus);
  }
  return view;
}

LiveView DecisionPolicy::live_view(const SchedulingPass& pass, JobId id) const {
  LiveView view{.id = id, .holds = pass.held(id), .work_done = pass.work_done(id)};
  if (view.holds.gpus.value > 0) view.holds_since = pass.holds_since(id);
  view.planned = std::max(pass.planned_remaining(id), SimDuration(0));
  view.must_keep = std::ranges::binary_search(pass.staying(), id);
  if (progress_rule() == ProgressRule::Iterations && pass.curve(id) != nullptr)
    view.iterations_left = pass.remaining_iterations(id);
  return view;
}

void DecisionPolicy::gather(const SchedulingPass& pass) {
  events_.now = pass.now();
  events_.more_to_come = pass.more_to_come();
  events_.disrupted = pass.disrupted();
  events_.capacity_changed |= pass.capacity_changed();
  events_.ended.insert(events_.ended.end(), pass.ended().begin(), pass.ended().end());
  events_.interrupted.insert(events_.interrupted.end(), pass.interrupted().begin(), pass.interrupted().end());
  for (const JobId job : pass.arrived()) {
    events_.arrived.push_back(view_of(pass, job));
    live_.push_back(job);
  }
  std::erase_if(live_, [&](JobId job) { return !pass.is_live(job); });
  if (const GpusByType* const by_type = pass.gpus_by_type())
    by_type->get_usable(events_.usable);
  else
    events_.usable.assign(1, pass.usable_gpus().value);
  events_.live.clear();
  for (const JobId job : live_)
    events_.live.push_back(live_view(pass, job));
}

void DecisionPolicy::check_decision(const SchedulingPass& pass, const Decision& decision) {
  named_.resize(pass.jobs().size());
  ++num_decisions_;
  const auto name_once = [&](JobId job) {
    if (job.value >= named_.size() || !pass.is_live(job)) pass.refuse(job, "it neither runs nor waits");
    if (named_[job.value] == num_decisions_) pass.refuse(job, "the decision names it twice");
    named_[job.value] = num_decisions_;
  };
  for (const Completion& completion : decision.complete)
    name_once(completion.job);
  for (const JobId job : decision.reject)
    name_once(job);
  given_.assign(events_.usable.size(), 0);
  std::int64_t all = 0;
  std::int64_t usable = 0;
  for (const std::int64_t gpus : events_.usable)
    usable += gpus;
  for (const Assignment& assignment : decision.run) {
    const auto& [job, gpus] = assignment;
    name_once(job);
    if (gpus.gpus.value < 1) pass.refuse(job, fmt::format("it is given {} GPUs", gpus.gpus.value));
    if (gpus.type && *gpus.type >= given_.size())
      pass.refuse(job, fmt::format("there is no GPU type number {}", *gpus.type));
    if (std::ranges::binary_search(pass.staying(), job) &&
        (pass.held_gpus(job) != gpus.gpus || (gpus.type && pass.held(job).type != gpus.type)))
      pass.refuse(job, "it runs on a node that drains and must keep what it holds");
    if (pass.shares_gpus()) continue;
    all += gpus.gpus.value;
    if (gpus.type && (given_[*gpus.type] += gpus.gpus.value) > events_.usable[*gpus.type]) {
      pass.refuse(job, fmt::format("with it {} GPUs of type number {} are given out, of {}",
                                   given_[*gpus.type], *gpus.type, events_.usable[*gpus.type]));
    }
    if (all > usable) pass.refuse(job, fmt::format("with it {} GPUs are given out, of {}", all, usable));
  }
  for (const JobId job : pass.staying()) {
    if (pass.is_live(job) && named_[job.value] != num_decisions_)
      pass.refuse(job, "it runs on a node that drains and must keep what it holds");
  }
}

void DecisionPolicy::carry_out(SchedulingPass& pass, const Decision& decision) {
  check_decision(pass, decision);
  events_.arrived.clear();
  events_.capacity_changed = false;
  events_.ended.clear();
  events_.interrupted.clear();
  events_.refused.clear();
  for (const Completion& completion : decision.complete)
    pass.complete(completion.job, completion.end, completion.finished);
  for (const JobId job : decision.reject)
    pass.reject(job);
  preempted_.clear();
  for (const LiveView& live : events_.live) {
    if (live.holds.gpus.value == 0 || named_[live.id.value] == num_decisions_) continue;
    pass.preempt(live.id);
    preempted_.push_back(live.id);
  }
  // Jobs that shrink make room for jobs that start and grow.
  for (const auto& [job, gpus] : decision.run) {
    const GpuCount held = pass.held_gpus(job);
    if (held.value > 0 && gpus.gpus < held) pass.try_resize(job, gpus);
  }
  for (const auto& [job, gpus] : decision.run) {
    const bool runs = pass.held_gpus(job).value > 0;
    if (!(runs ? pass.try_resize(job, gpus) : pass.try_start(job, gpus))) events_.refused.push_back(job);
  }
  if (!events_.refused.empty()) {
    for (const JobId job : preempted_)
      pass.try_resume(job);
  }
  if (decision.wake_at) pass.wake_at(*decision.wake_at);
}

void RoundPolicy::schedule(SchedulingPass& pass) {
  gather(pass);
  const SimTime begin(round_of(pass.now(), round_) * round_);
  if (begin == pass.now()) carry_out(pass, decide(events_));
  if (!events_.live.empty()) pass.wake_at(begin + round_);
}

std::optional<SimTime> RoundPolicy::next_round(const SchedulingPass& pass) const {
  const SimTime begin(round_of(pass.now(), round_) * round_);
  return begin == pass.now() ? std::nullopt : std::optional(begin + round_);
}

std::optional<SimTime> RoundPolicy::considers_at(const SchedulingPass& pass, JobId job) const {
  const bool is_new = std::ranges::binary_search(events_.arrived, job, {}, &JobView::id);
  return is_new ? next_round(pass) : std::nullopt;
}

WaitCause RoundPolicy::holds_back(const SchedulingPass& pass, JobId) const {
  const auto next = next_round(pass);
  return next ? WaitCause{.reason = WaitReason::NextDecision, .at = next} : WaitCause{};
}

}  // namespace vtrain
