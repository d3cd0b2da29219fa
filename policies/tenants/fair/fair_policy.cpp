#include "policies/tenants/fair/fair_policy.hpp"

#include <algorithm>
#include <queue>

#include "core/base/numbers.hpp"
#include "policies/list/gpu_pool.hpp"
#include "sched/cluster/cluster.hpp"

namespace vtrain {
namespace {

constexpr std::uint32_t kOneType[] = {0};

bool is_on_drained_node_of(const SchedulingPass& pass, JobId job) {
  return std::ranges::binary_search(pass.staying(), job);
}

}  // namespace

void FairPolicy::begin(const SchedulingPass& view) {
  types_ = GpuPool::types(view);
  num_kinds_ = types_ == nullptr ? 1 : GpuPool::num_kinds(view);
  allowed_.assign(num_kinds_, kOneType);
  if (types_ != nullptr) {
    for (std::uint32_t kind = 0; kind < num_kinds_; ++kind)
      allowed_[kind] = types_->allowed(kind == 0 ? GpuTypeId() : GpuTypeId(kind - 1));
  }
  shares_->begin(view, allowed_);
  tenants_.assign(shares_->num_leaves(), Tenant(num_kinds_));
  type_held_.clear();
  held_.assign(types_ == nullptr ? 1 : types_->names().size(), 0);
  num_waiting_ = 0;
  for (const JobId job : view.running()) {
    const std::uint32_t type = types_ == nullptr ? 0 : view.held(job).type.value_or(0);
    note_start(view, job, type, view.holds_since(job));
  }
  for (const JobId job : view.waiting())
    queue(view, job);
  update_capacity(view);
}

void FairPolicy::update_capacity(const SchedulingPass& pass) {
  if (types_ == nullptr)
    usable_.assign(1, pass.usable_gpus().value);
  else
    types_->get_usable(usable_);
  std::vector<std::int64_t> by_pool(shares_->num_pools());
  for (std::uint32_t type = 0; type < usable_.size(); ++type)
    by_pool[types_ == nullptr ? 0 : shares_->pool_of(type)] += usable_[type];
  for (std::size_t pool = 0; pool < by_pool.size(); ++pool)
    shares_->set_capacity(pool, by_pool[pool]);
}

ListedJob FairPolicy::listed(const SchedulingPass& pass, JobId job) const {
  const Job& description = pass.job(job);
  const std::int64_t priority = description.has_priority() ? description.priority : 0;
  const std::uint32_t kind = num_kinds_ == 1 ? 0 : GpuPool::kind_of(pass, description.gpu_type);
  return {{.primary = -priority}, job.value, job, description.num_gpus, kind};
}

void FairPolicy::queue(const SchedulingPass& pass, JobId job) {
  const ListedJob entry = listed(pass, job);
  Tenant& tenant = tenants_[shares_->leaf_of(pass.job(job))];
  tenant.waiting.insert(entry);
  tenant.fewest = std::min(tenant.fewest, entry.num_gpus);
  shares_->add_waiting(pass, job, entry.kind, 1);
  ++num_waiting_;
}

void FairPolicy::unqueue(const SchedulingPass& pass, const ListedJob& job) {
  tenants_[shares_->leaf_of(pass.job(job.job))].waiting.erase(job);
  shares_->add_waiting(pass, job.job, job.kind, -1);
  --num_waiting_;
}

void FairPolicy::note_start(const SchedulingPass& pass, JobId job, std::uint32_t type, SimTime since) {
  if (type_held_.size() <= job.value) type_held_.resize(job.value + std::size_t{1}, kNoType);
  type_held_[job.value] = type;
  held_[type] += pass.job(job).num_gpus.value;
  shares_->add_held(pass, job, types_ == nullptr ? 0 : shares_->pool_of(type), 1);
  tenants_[shares_->leaf_of(pass.job(job))].running.emplace(since, job);
}

void FairPolicy::note_stop(const SchedulingPass& pass, JobId job, SimTime since) {
  const std::uint32_t type = type_held_[job.value];
  type_held_[job.value] = kNoType;
  held_[type] -= pass.job(job).num_gpus.value;
  shares_->add_held(pass, job, types_ == nullptr ? 0 : shares_->pool_of(type), -1);
  tenants_[shares_->leaf_of(pass.job(job))].running.erase({since, job});
}

std::int64_t FairPolicy::free(const SchedulingPass& pass, std::uint32_t type) const {
  return types_ == nullptr ? pass.free_gpus().value : usable_[type] - held_[type];
}

void FairPolicy::schedule(SchedulingPass& pass) {
  for (const JobId job : pass.ended()) {
    if (type_held(job) != kNoType) note_stop(pass, job, pass.holds_since(job));
  }
  for (const JobId job : pass.interrupted()) {
    note_stop(pass, job, pass.holds_since(job));
    queue(pass, job);
  }
  if (pass.capacity_changed()) update_capacity(pass);
  for (const JobId job : pass.arrived()) {
    const auto& types = allowed_[listed(pass, job).kind];
    const bool may_start = std::ranges::any_of(types, [&](std::uint32_t type) {
      return shares_->ever_allows(pass, job, types_ == nullptr ? 0 : shares_->pool_of(type));
    });
    if (may_start)
      queue(pass, job);
    else
      pass.reject(job);
  }
  if (num_waiting_ == 0) return;
  refused_.assign(num_kinds_, 0);
  for (std::size_t pool = 0; pool < shares_->num_pools(); ++pool) {
    start_jobs(pass, pool);
    if (!options_.reclaims || num_waiting_ == 0) continue;
    bool some = false;
    while (reclaim(pass, pool))
      some = true;
    if (!some) continue;
    refused_.assign(num_kinds_, 0);
    start_jobs(pass, pool);
  }
}

bool FairPolicy::set_most(const SchedulingPass& pass, std::uint32_t leaf, std::size_t pool) {
  const std::int64_t room = shares_->room(leaf, pool);
  most_.assign(num_kinds_, GpuCount(0));
  bool any = false;
  for (std::size_t kind = 0; kind < num_kinds_; ++kind) {
    for (const std::uint32_t type : allowed_[kind]) {
      if (types_ != nullptr && shares_->pool_of(type) != pool) continue;
      const auto gpus = static_cast<std::int32_t>(std::clamp<std::int64_t>(free(pass, type), 0, room));
      most_[kind] = std::max(most_[kind], GpuCount(gpus));
    }
    any |= most_[kind].value > 0;
  }
  return any;
}

std::optional<std::uint32_t> FairPolicy::choose_type(const SchedulingPass& pass, const ListedJob& job,
                                                     std::size_t pool) const {
  if (types_ == nullptr)
    return pass.free_gpus() >= job.num_gpus ? std::optional<std::uint32_t>(0) : std::nullopt;
  std::optional<std::uint32_t> best;
  double speed_of_best = 0;
  for (const std::uint32_t type : allowed_[job.kind]) {
    if (shares_->pool_of(type) != pool || free(pass, type) < job.num_gpus.value) continue;
    const double speed = pass.speed(job.job, {job.num_gpus, type});
    if (best && speed <= speed_of_best) continue;
    best = type;
    speed_of_best = speed;
  }
  return best;
}

bool FairPolicy::start(SchedulingPass& pass, const ListedJob& job, std::uint32_t type) {
  const bool started =
      types_ == nullptr ? pass.try_start(job.job) : pass.try_start(job.job, Allocation{job.num_gpus, type});
  if (!started) return false;
  unqueue(pass, job);
  note_start(pass, job.job, type, pass.now());
  return true;
}

bool FairPolicy::may_fit(const SchedulingPass& pass, std::uint32_t leaf, std::size_t pool) {
  const Tenant& tenant = tenants_[leaf];
  if (tenant.waiting.empty()) return false;
  if (num_kinds_ == 1 && types_ == nullptr && tenant.fewest > pass.free_gpus()) return false;
  return set_most(pass, leaf, pool);
}

bool FairPolicy::start_next(SchedulingPass& pass, std::uint32_t leaf, std::size_t pool) {
  if (!may_fit(pass, leaf, pool)) return false;
  Tenant& tenant = tenants_[leaf];
  // A part of a GPU may fit where the whole does not, so refusals of such jobs say little.
  const bool skips = num_kinds_ == 1 && !pass.shares_gpus();
  const OrderedJobs::Sizes without = skips ? refused_[0] : 0;
  auto at = tenant.waiting.first_fitting({}, most_, without);
  if (!at && num_kinds_ == 1 && without == 0) tenant.fewest = std::max(tenant.fewest, most_[0] + GpuCount(1));
  for (; at; at = tenant.waiting.first_fitting(*at, most_, skips ? refused_[0] : 0)) {
    const ListedJob job = tenant.waiting.at(*at);
    ++at->index;
    const OrderedJobs::Sizes size = pass.shares_gpus() ? 0 : OrderedJobs::size(job.num_gpus);
    if ((refused_[job.kind] & size) != 0 || !shares_->allows(pass, job.job, pool)) continue;
    const auto type = choose_type(pass, job, pool);
    if (!type) continue;
    if (start(pass, job, *type)) return true;
    if (types_ == nullptr) refused_[job.kind] |= size;
  }
  return false;
}

FairPolicy::Try FairPolicy::start_first(SchedulingPass& pass, std::uint32_t leaf, std::size_t pool) {
  const std::vector<GpuCount> any(num_kinds_, GpuCount(INT32_MAX));
  const auto at = tenants_[leaf].waiting.first_fitting({}, any);
  if (!at) return Try::Nothing;
  const ListedJob job = tenants_[leaf].waiting.at(*at);
  const bool is_here = types_ == nullptr || std::ranges::any_of(allowed_[job.kind], [&](std::uint32_t type) {
                         return shares_->pool_of(type) == pool;
                       });
  if (!is_here || shares_->is_limited(pass, job.job, pool)) return Try::Nothing;
  const auto type = choose_type(pass, job, pool);
  return type && shares_->allows(pass, job.job, pool) && start(pass, job, *type) ? Try::Started : Try::Waits;
}

void FairPolicy::start_jobs(SchedulingPass& pass, std::size_t pool) {
  contenders_.clear();
  for (std::uint32_t leaf = 0; leaf < tenants_.size(); ++leaf) {
    const bool contends = options_.overtakes ? may_fit(pass, leaf, pool) : !tenants_[leaf].waiting.empty();
    if (contends) contenders_.push_back({0, leaf});
  }
  if (contenders_.empty()) return;
  if (options_.overtakes && contenders_.size() == 1) {
    const std::uint32_t leaf = contenders_.front().leaf;
    while (start_next(pass, leaf, pool)) {
    }
    return;
  }
  for (Contender& each : contenders_)
    each.ratio = shares_->ratio(each.leaf, pool);
  const auto later = [](const Contender& a, const Contender& b) { return b < a; };
  std::ranges::make_heap(contenders_, later);
  while (!contenders_.empty()) {
    std::ranges::pop_heap(contenders_, later);
    Contender& next = contenders_.back();
    const Try tried = !options_.overtakes                 ? start_first(pass, next.leaf, pool)
                      : start_next(pass, next.leaf, pool) ? Try::Started
                                                          : Try::Nothing;
    if (tried == Try::Waits) return;
    if (tried == Try::Nothing) {
      contenders_.pop_back();
      continue;
    }
    next.ratio = shares_->ratio(next.leaf, pool);
    std::ranges::push_heap(contenders_, later);
  }
}

bool FairPolicy::reclaim(SchedulingPass& pass, std::size_t pool) {
  contenders_.clear();
  bool any_above = false;
  for (std::uint32_t leaf = 0; leaf < tenants_.size(); ++leaf) {
    if (tenants_[leaf].waiting.empty() && tenants_[leaf].running.empty()) continue;
    const double ratio = shares_->ratio(leaf, pool);
    any_above |= ratio > 1 && !tenants_[leaf].running.empty();
    if (ratio < 1 && !tenants_[leaf].waiting.empty()) contenders_.push_back({ratio, leaf});
  }
  if (!any_above || contenders_.empty()) return false;
  std::sort(contenders_.begin(), contenders_.end());
  return std::ranges::any_of(contenders_,
                             [&](const Contender& each) { return reclaim_for(pass, each.leaf, pool); });
}

bool FairPolicy::reclaim_for(SchedulingPass& pass, std::uint32_t leaf, std::size_t pool) {
  std::vector<GpuCount> most(num_kinds_, GpuCount(0));
  for (std::size_t kind = 0; kind < num_kinds_; ++kind) {
    const bool is_here = types_ == nullptr || std::ranges::any_of(allowed_[kind], [&](std::uint32_t type) {
                           return shares_->pool_of(type) == pool;
                         });
    if (is_here) most[kind] = GpuCount(INT32_MAX);
  }
  OrderedJobs& waiting = tenants_[leaf].waiting;
  for (auto at = waiting.first_fitting({}, most); at; at = waiting.first_fitting(*at, most)) {
    const ListedJob job = waiting.at(*at);
    for (const std::uint32_t type : allowed_[job.kind]) {
      if (types_ != nullptr && shares_->pool_of(type) != pool) continue;
      if (reclaim_for(pass, job, type, pool)) return true;
    }
    if (!options_.overtakes) return false;
    // Only a smaller one may fare better.
    most[job.kind] = job.num_gpus - GpuCount(1);
  }
  return false;
}

bool FairPolicy::reclaim_for(SchedulingPass& pass, const ListedJob& job, std::uint32_t type,
                             std::size_t pool) {
  const std::vector<JobId> victims = choose_victims(pass, job, type, pool);
  if (victims.empty()) return false;
  for (const JobId victim : victims)
    pass.preempt(victim);
  const bool started =
      types_ == nullptr ? pass.try_start(job.job) : pass.try_start(job.job, Allocation{job.num_gpus, type});
  std::int64_t gpus = 0;
  for (auto victim = victims.rbegin(); victim != victims.rend(); ++victim) {
    const bool goes_on = !started && pass.try_resume(*victim);
    shift(pass, *victim, pool, false);
    if (goes_on) continue;
    gpus += pass.job(*victim).num_gpus.value;
    note_stop(pass, *victim, pass.holds_since(*victim));
    queue(pass, *victim);
  }
  if (!started) return false;
  ++num_reclaims_;
  reclaimed_gpus_ += gpus;
  unqueue(pass, job);
  note_start(pass, job.job, type, pass.now());
  return true;
}

void FairPolicy::shift(const SchedulingPass& pass, JobId job, std::size_t pool, bool to_waiting) {
  shares_->add_held(pass, job, pool, to_waiting ? -1 : 1);
  shares_->add_waiting(pass, job, listed(pass, job).kind, to_waiting ? 1 : -1);
}

bool FairPolicy::is_kept(const SchedulingPass& pass, JobId job) const {
  if (pass.holds_since(job) == pass.now() || is_on_drained_node_of(pass, job)) return true;
  const Job& description = pass.job(job);
  return !options_.kept_qos.empty() && description.qos &&
         std::ranges::find(options_.kept_qos, pass.qos_names()[description.qos.value]) !=
             options_.kept_qos.end();
}

std::vector<JobId> FairPolicy::choose_victims(SchedulingPass& pass, const ListedJob& job, std::uint32_t type,
                                              std::size_t pool) {
  const std::uint32_t taker = shares_->leaf_of(pass.job(job.job));
  // Those that got their GPUs last come first, over all tenants.
  using Next = std::pair<std::pair<SimTime, JobId>, std::uint32_t>;
  std::priority_queue<Next> next;
  for (std::uint32_t leaf = 0; leaf < tenants_.size(); ++leaf) {
    if (leaf != taker && !tenants_[leaf].running.empty() && shares_->ratio(leaf, pool) > 1)
      next.emplace(*tenants_[leaf].running.rbegin(), leaf);
  }
  std::vector<JobId> victims;
  std::int64_t freed = 0;
  const auto suffices = [&](std::int64_t gpus) {
    return free(pass, type) + gpus >= job.num_gpus.value && shares_->allows(pass, job.job, pool);
  };
  while (!next.empty() && !suffices(freed)) {
    const auto [run, leaf] = next.top();
    next.pop();
    const auto place = tenants_[leaf].running.find(run);
    if (place != tenants_[leaf].running.begin()) next.emplace(*std::prev(place), leaf);
    const JobId victim = run.second;
    if (type_held(victim) != type || is_kept(pass, victim) || !shares_->may_take(pass, taker, victim, pool))
      continue;
    shift(pass, victim, pool, true);
    victims.push_back(victim);
    freed += pass.job(victim).num_gpus.value;
  }
  const bool found = suffices(freed);
  // Spares what is not needed, those first that have had their GPUs longest.
  for (std::size_t i = victims.size(); i-- > 0;) {
    const std::int64_t gpus = pass.job(victims[i]).num_gpus.value;
    shift(pass, victims[i], pool, false);
    if (!found || suffices(freed - gpus)) {
      freed -= gpus;
      victims.erase(victims.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      shift(pass, victims[i], pool, true);
    }
  }
  return victims;
}

std::vector<PolicyFigure> FairPolicy::figures() const {
  return {{"jobs_started_by_reclaim", static_cast<double>(num_reclaims_)},
          {"gpus_reclaimed", static_cast<double>(reclaimed_gpus_)}};
}

}  // namespace vtrain
