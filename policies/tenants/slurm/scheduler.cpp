#include "policies/tenants/slurm/scheduler.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace vtrain::slurm {
namespace {

/// The whole second in which a time is: slurmctld knows no parts of seconds.
SimTime whole_second(SimTime time) {
  return time - time.time_since_epoch() % std::chrono::seconds(1);
}

}  // namespace

Scheduler::Scheduler(const SchedulerState& state) : state_(state) {
  const Configuration& conf = state_.setup.configuration;
  for (const PartitionConf& partition : conf.partitions) {
    NodeSet& nodes = partition_nodes_.emplace_back(conf.nodes.size());
    for (const std::uint32_t node : partition.nodes)
      nodes.add(node);
    for (const std::uint32_t node : state_.out_of_service)
      nodes.remove(node);
  }
}

bool Scheduler::is_before(const QueueEntry& a, const QueueEntry& b) const {
  return std::tuple(!a.has_reservation, -a.tier, -a.priority, a.job) <
         std::tuple(!b.has_reservation, -b.tier, -b.priority, b.job);
}

void Scheduler::sort() {
  std::ranges::sort(queue_, [this](const QueueEntry& a, const QueueEntry& b) { return is_before(a, b); });
}

void Scheduler::enqueue(std::uint32_t job, const std::vector<std::int64_t>& priorities) {
  const JobRecord& record = state_.jobs[job];
  for (std::size_t i = 0; i < record.partitions.size(); ++i) {
    const std::uint32_t partition = record.partitions[i];
    const QueueEntry entry{.job = job,
                           .partition = partition,
                           .has_reservation = record.reservation.has_value(),
                           .tier = state_.setup.configuration.partitions[partition].priority_tier,
                           .priority = priorities[i]};
    const auto place = std::ranges::upper_bound(
        queue_, entry, [this](const QueueEntry& a, const QueueEntry& b) { return is_before(a, b); });
    queue_.insert(place, entry);
  }
}

void Scheduler::sweep() {
  constexpr std::size_t kMostStarted = 128;
  if (num_started_ <= kMostStarted) return;
  num_started_ = 0;
  std::erase_if(queue_,
                [this](const QueueEntry& entry) { return state_.jobs[entry.job].stage != JobStage::Queued; });
}

bool Scheduler::may_start(const QueueEntry& entry) const {
  return state_.setup.configuration.partitions[entry.partition].is_up &&
         !state_.dependencies.is_throttled(entry.job) &&
         state_.limits.fits_now(state_.jobs[entry.job].limited);
}

bool Scheduler::may_start(std::uint32_t job) const {
  return std::ranges::any_of(state_.jobs[job].partitions, [&](std::uint32_t partition) {
    return may_start(QueueEntry{.job = job, .partition = partition});
  });
}

std::optional<std::uint32_t> Scheduler::head_of(std::uint32_t partition) const {
  for (const QueueEntry& entry : queue_) {
    if (entry.partition == partition && state_.jobs[entry.job].stage == JobStage::Queued && may_start(entry))
      return entry.job;
  }
  return std::nullopt;
}

std::vector<std::uint32_t> Scheduler::jobs_behind_nobody() const {
  std::vector<std::uint32_t> jobs;
  std::vector<bool> has_head(partition_nodes_.size());
  for (const QueueEntry& entry : queue_) {
    const JobRecord& record = state_.jobs[entry.job];
    if (record.stage != JobStage::Queued) continue;
    const bool is_head = !has_head[entry.partition] && may_start(entry);
    if (is_head) has_head[entry.partition] = true;
    // Of a job in several partitions, this one stands for all.
    const bool is_held = entry.partition == record.partitions.front() && !may_start(entry.job);
    if (is_held || (is_head && std::ranges::find(jobs, entry.job) == jobs.end())) jobs.push_back(entry.job);
  }
  return jobs;
}

NodeSet Scheduler::nodes_for(const QueueEntry& entry, SimTime from, std::optional<SimTime>& later) const {
  const JobRecord& record = state_.jobs[entry.job];
  NodeSet nodes = partition_nodes_[entry.partition];
  const SimTime until = saturating_sum(from, record.limit);
  for (std::uint32_t i = 0; i < state_.reservations.size(); ++i) {
    const Reservation& reservation = state_.reservations[i];
    if (record.reservation == i) {
      if (from < reservation.start || until > reservation.end)
        nodes = NodeSet(nodes_count());
      else
        nodes.keep(reservation.nodes);
      if (from < reservation.start) later = later ? std::min(*later, reservation.start) : reservation.start;
    } else if (reservation.meets(from, until)) {
      if (!nodes.meets(reservation.nodes)) continue;
      nodes.remove(reservation.nodes);
      if (reservation.end > from) later = later ? std::min(*later, reservation.end) : reservation.end;
    }
  }
  return nodes;
}

bool Scheduler::try_start(const QueueEntry& entry, const NodeSet& allowed, SimTime now, Actions& actions) {
  JobRecord& record = state_.jobs[entry.job];
  const auto nodes = state_.pool.choose(record.request, allowed);
  if (!nodes || !actions.start(entry.job, *nodes)) return false;
  state_.pool.take({entry.job, saturating_sum(whole_second(now), record.limit), record.request, *nodes});
  state_.limits.count_running(record.limited, 1);
  state_.dependencies.count_task(entry.job, 1);
  record.stage = JobStage::Running;
  record.runs_in = entry.partition;
  num_started_ += record.partitions.size();
  return true;
}

PreemptMode Scheduler::mode_against(const QueueEntry& entry, std::uint32_t victim) const {
  const Configuration& conf = state_.setup.configuration;
  const JobRecord& job = state_.jobs[entry.job];
  const JobRecord& other = state_.jobs[victim];
  if (other.stage != JobStage::Running) return PreemptMode::Off;
  PreemptMode mode = conf.preempt_mode;
  if (conf.preempt_type == PreemptType::PartitionPrio) {
    const PartitionConf& partition = conf.partitions[other.runs_in];
    if (conf.partitions[entry.partition].priority_tier <= partition.priority_tier) return PreemptMode::Off;
    mode = partition.preempt_mode.value_or(mode);
  } else {
    if (!job.limited.qos || !other.limited.qos) return PreemptMode::Off;
    const Qos& qos = state_.setup.qos[*other.limited.qos];
    const std::vector<std::string>& takes = state_.setup.qos[*job.limited.qos].preempts;
    if (std::ranges::find(takes, qos.name) == takes.end()) return PreemptMode::Off;
    mode = qos.preempt_mode.value_or(mode);
  }
  if (mode == PreemptMode::Requeue && !conf.requeues) return PreemptMode::Cancel;
  return mode;
}

std::pair<std::int64_t, std::int64_t> Scheduler::victim_rank(std::uint32_t victim) const {
  const JobRecord& record = state_.jobs[victim];
  const std::int64_t rank = state_.setup.configuration.preempt_type == PreemptType::PartitionPrio
                                ? state_.setup.configuration.partitions[record.runs_in].priority_tier
                            : record.limited.qos ? state_.setup.qos[*record.limited.qos].priority
                                                 : 0;
  return {rank, -record.request.nodes};
}

bool Scheduler::try_preempt(const QueueEntry& entry, const NodeSet& allowed, SimTime now, Actions& actions) {
  const Configuration& conf = state_.setup.configuration;
  if (conf.preempt_type == PreemptType::None) return false;
  JobRecord& record = state_.jobs[entry.job];
  // Jobs that were stopped for it still leave their nodes.
  if (record.nodes_awaited > now) return false;
  std::vector<const Holder*> victims;
  for (const Holder& holder : state_.pool.holders()) {
    if (mode_against(entry, holder.job) == PreemptMode::Off) continue;
    if (std::ranges::any_of(holder.nodes, [&](std::uint32_t node) { return allowed.has(node); }))
      victims.push_back(&holder);
  }
  std::ranges::stable_sort(victims, [this](const Holder* a, const Holder* b) {
    return std::pair(victim_rank(a->job), a->job) < std::pair(victim_rank(b->job), b->job);
  });
  // Slurm takes jobs away one by one until the job fits, puts those on the chosen nodes first, and does it
  // once more.
  std::optional<std::vector<std::uint32_t>> nodes;
  std::vector<const Holder*> removed;
  const auto overlap = [&nodes](const Holder* holder) {
    return std::ranges::count_if(
        holder->nodes, [&nodes](std::uint32_t node) { return std::ranges::binary_search(*nodes, node); });
  };
  for (int round = 0; round < 2; ++round) {
    if (round == 1)
      std::ranges::stable_sort(victims,
                               [&](const Holder* a, const Holder* b) { return overlap(a) > overlap(b); });
    nodes.reset();
    removed.clear();
    std::vector<FreeNode> free = state_.pool.free();
    // Jobs that are leaving free their nodes for nobody yet, but need not be stopped again.
    for (const Holder& holder : state_.pool.holders()) {
      if (state_.jobs[holder.job].stage != JobStage::Leaving) continue;
      for (const std::uint32_t node : holder.nodes)
        free[node].take(holder.request, -1);
    }
    for (const Holder* const victim : victims) {
      for (const std::uint32_t node : victim->nodes)
        free[node].take(victim->request, -1);
      removed.push_back(victim);
      nodes = NodePool::choose(record.request, allowed, free);
      if (nodes) break;
    }
    if (!nodes) return false;
  }
  std::vector<std::uint32_t> stopped;
  for (const Holder* const victim : removed) {
    if (overlap(victim) > 0) stopped.push_back(victim->job);
  }
  for (const std::uint32_t victim : stopped)
    record.nodes_awaited = std::max(record.nodes_awaited, actions.stop(victim, mode_against(entry, victim)));
  return true;
}

void Scheduler::main_pass(SimTime now, std::size_t depth, Actions& actions) {
  sweep();
  std::vector<bool> failed(partition_nodes_.size());
  std::vector<bool> failed_reservations(state_.reservations.size());
  std::size_t num_failed = 0;
  NodeSet available(nodes_count());
  for (std::uint32_t node = 0; node < nodes_count(); ++node)
    available.add(node);
  for (std::size_t i = 0; i < queue_.size() && depth > 0 && num_failed < failed.size(); ++i) {
    const QueueEntry entry = queue_[i];
    JobRecord& record = state_.jobs[entry.job];
    if (record.stage != JobStage::Queued) continue;
    --depth;
    if (failed[entry.partition]) continue;
    if (record.reservation && failed_reservations[*record.reservation]) continue;
    if (!may_start(entry)) continue;
    std::optional<SimTime> later;
    NodeSet allowed = nodes_for(entry, now, later);
    allowed.keep(available);
    if (try_start(entry, allowed, now, actions)) continue;
    try_preempt(entry, allowed, now, actions);
    if (record.reservation) {
      failed_reservations[*record.reservation] = true;
      continue;
    }
    failed[entry.partition] = true;
    ++num_failed;
    available.remove(partition_nodes_[entry.partition]);
  }
}

/// State of one backfill pass.
struct Scheduler::BackfillPass {
  SimTime now{};
  BackfillMap map;
  std::vector<std::int64_t> promises;  ///< of each partition
  std::int64_t started = 0;
  std::int64_t tested = 0;                               ///< jobs for which nodes were sought
  std::map<std::uint32_t, std::int64_t> users{};         ///< jobs looked at, of each user
  std::map<std::uint32_t, std::int64_t> partitions{};    ///< of each partition
  std::map<std::uint32_t, std::int64_t> associations{};  ///< of each association
};

void Scheduler::backfill_pass(SimTime now, Actions& actions) {
  sweep();
  now = whole_second(now);
  const SchedulerConf& conf = state_.setup.configuration.scheduler;
  BackfillPass pass{.now = now,
                    .map = BackfillMap(slot_of(now), nodes_count()),
                    .promises = std::vector<std::int64_t>(partition_nodes_.size())};
  const auto beyond = [](std::int64_t limit, std::map<std::uint32_t, std::int64_t>& counts,
                         std::uint32_t key) { return limit > 0 && ++counts[key] > limit; };
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    const QueueEntry entry = queue_[i];
    const JobRecord& record = state_.jobs[entry.job];
    if (record.stage != JobStage::Queued) continue;
    if (pass.tested >= conf.bf_max_job_test) break;
    if (conf.bf_max_job_start > 0 && pass.started >= conf.bf_max_job_start) break;
    // Slurm has room for so many steps, and ends the pass when it is used up.
    if (pass.map.num_records() >= static_cast<std::size_t>(conf.bf_node_space_size)) break;
    if (!may_start(entry)) continue;
    if (beyond(conf.bf_max_job_part, pass.partitions, entry.partition) ||
        beyond(conf.bf_max_job_user, pass.users, record.limited.user) ||
        beyond(conf.bf_max_job_assoc, pass.associations, record.limited.association))
      continue;
    backfill(entry, pass, actions);
  }
}

bool Scheduler::may_promise(const QueueEntry& entry, BackfillPass& pass, SimTime start) const {
  const SchedulerConf& conf = state_.setup.configuration.scheduler;
  const JobRecord& record = state_.jobs[entry.job];
  if (start > saturating_sum(pass.now, std::chrono::minutes(conf.bf_window_minutes))) return false;
  if (record.limited.qos && state_.setup.qos[*record.limited.qos].no_reserve) return false;
  if (pass.now - record.eligible < std::chrono::seconds(conf.bf_min_age_reserve_s)) return false;
  if (conf.bf_job_part_count_reserve == 0) return true;
  return ++pass.promises[entry.partition] <= conf.bf_job_part_count_reserve;
}

SimTime Scheduler::slot_of(SimTime time) const {
  const SimDuration resolution = std::chrono::seconds(state_.setup.configuration.scheduler.bf_resolution_s);
  return time - (time.time_since_epoch() + state_.clock) % resolution;
}

void Scheduler::backfill(const QueueEntry& entry, BackfillPass& pass, Actions& actions) {
  const SchedulerConf& conf = state_.setup.configuration.scheduler;
  const JobRecord& record = state_.jobs[entry.job];
  const EndWindows windows{
      .now = pass.now, .linear = std::chrono::seconds(conf.bf_window_linear_s), .clock = state_.clock};
  const SimDuration resolution = std::chrono::seconds(conf.bf_resolution_s);
  constexpr int kMostTries = 1000;
  SimTime from = pass.now;
  bool is_tested = false;
  // Tries before this time find no nodes. Slurm makes them all the same, as nothing else tells it.
  const bool may_preempt = state_.setup.configuration.preempt_type != PreemptType::None;
  const auto earliest = state_.pool.not_before(record.request, partition_nodes_[entry.partition], pass.now);
  if (!earliest && !may_preempt) return;
  const SimTime not_before = may_preempt || !earliest ? pass.now : *earliest;
  for (int i = 0; i < kMostTries; ++i) {
    std::optional<SimTime> later;
    NodeSet allowed = nodes_for(entry, from, later);
    const auto wanted = static_cast<std::size_t>(record.request.nodes);
    const auto freed =
        pass.map.keep_free(allowed, from, saturating_sum(from, record.limit), wanted, not_before);
    if (freed) later = later ? std::min(*later, *freed) : freed;
    if (later && *later < not_before) {
      from = *later;
      continue;
    }
    std::optional<NodePool::Start> start;
    if (allowed.count() >= wanted) {
      if (!std::exchange(is_tested, true)) ++pass.tested;
      start = state_.pool.earliest(record.request, allowed, windows);
    }
    if (start && start->time <= pass.now && from == pass.now) {
      if (try_start(entry, allowed, pass.now, actions)) ++pass.started;
      return;
    }
    if (from == pass.now && try_preempt(entry, allowed, pass.now, actions)) {
      // Its nodes are kept for it until the jobs there have left.
      start = state_.pool.earliest(record.request, allowed, windows);
    }
    const SimTime time = start ? std::max(start->time, from) : from;
    if (!start || (later && time > *later)) {
      if (!later) return;
      from = *later;
      continue;
    }
    if (!may_promise(entry, pass, time)) return;
    const SimTime begin = slot_of(time);
    const SimTime end = std::max(slot_of(saturating_sum(time, record.limit)), begin + resolution);
    NodeSet nodes(nodes_count());
    for (const std::uint32_t node : state_.pool.nodes_of(*start, record.request, allowed))
      nodes.add(node);
    std::optional<SimTime> until;
    NodeSet unreserved = nodes_for(entry, time, until);
    unreserved.keep(nodes);
    if (!pass.map.are_free(nodes, begin, end) || unreserved != nodes) {
      if (time > from) {
        from = time;
        if (conf.bf_job_part_count_reserve > 0) --pass.promises[entry.partition];
        continue;
      }
      if (!later && !until) return;
      from = later && until ? std::min(*later, *until) : later ? *later : *until;
      if (conf.bf_job_part_count_reserve > 0) --pass.promises[entry.partition];
      continue;
    }
    pass.map.promise(nodes, begin, end);
    return;
  }
}

}  // namespace vtrain::slurm
