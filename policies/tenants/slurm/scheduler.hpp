/// The schedulers of slurmctld (22.05): the main one, backfill, and preemption, on values.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "policies/tenants/slurm/backfill_map.hpp"
#include "policies/tenants/slurm/dependency_book.hpp"
#include "policies/tenants/slurm/job_record.hpp"
#include "policies/tenants/slurm/node_pool.hpp"
#include "policies/tenants/slurm/running_limits.hpp"

namespace vtrain::slurm {

/// A job in one of its partitions, in the queue.
struct QueueEntry {
  std::uint32_t job = 0;         ///< number of the job
  std::uint32_t partition = 0;   ///< position of the partition
  bool has_reservation = false;  ///< jobs with a reservation go first
  std::int64_t tier = 0;         ///< `PriorityTier`: higher ones go first
  std::int64_t priority = 0;     ///< then by priority, then by number
};

/// Carries out decisions.
class Actions {
 public:
  virtual ~Actions() = default;
  /// Starts a job on nodes. False, with nothing changed, if it can't start.
  virtual bool start(std::uint32_t job, const std::vector<std::uint32_t>& nodes) = 0;
  /// Stops a running job for another. Returns when it has left its nodes.
  virtual SimTime stop(std::uint32_t job, PreemptMode mode) = 0;
};

/// What the schedulers decide on. All outlives them.
struct SchedulerState {
  const SlurmSetup& setup;
  const std::vector<Reservation>& reservations;
  const std::vector<std::uint32_t>& out_of_service;  ///< nodes that take no jobs
  std::vector<JobRecord>& jobs;                      ///< [job]
  NodePool& pool;
  RunningLimits& limits;
  DependencyBook& dependencies;
  SimDuration clock{};  ///< what Slurm's clock is ahead of a whole half-minute at second 0
};

/// The queue with both schedulers.
class Scheduler {
 public:
  explicit Scheduler(const SchedulerState& state);

  /// Adds a job that may start, with a priority for each of its partitions.
  void enqueue(std::uint32_t job, const std::vector<std::int64_t>& priorities);
  /// Calls `priority_of` for each entry, and sorts the queue.
  template <class Priority>
  void update_priorities(Priority priority_of) {
    for (QueueEntry& entry : queue_)
      entry.priority = priority_of(entry);
    sort();
  }
  /// True if limits, throttles and partitions let a job start in one of its partitions.
  bool may_start(std::uint32_t job) const;
  /// The waiting job that comes first in a partition, of those that may start.
  std::optional<std::uint32_t> head_of(std::uint32_t partition) const;
  /// The heads of all partitions, and the queued jobs that may not start, in the order of the queue.
  std::vector<std::uint32_t> jobs_behind_nobody() const;
  /// Number of entries of waiting jobs.
  std::size_t size() const { return queue_.size() - num_started_; }
  /// The main scheduler: starts jobs in order. A job that finds no nodes stops its partition, and all nodes
  /// of it. Looks at the first `depth` entries.
  void main_pass(SimTime now, std::size_t depth, Actions& actions);
  /// Backfill: promises nodes to jobs in order, from time limits, and starts those that harm no promise.
  void backfill_pass(SimTime now, Actions& actions);

 private:
  bool is_before(const QueueEntry& a, const QueueEntry& b) const;
  void sort();
  /// Removes entries of jobs that no longer wait, where they are many.
  void sweep();
  /// True if limits, throttles and partitions let a job start.
  bool may_start(const QueueEntry& entry) const;
  /// Nodes on which a job may run from one time for its time limit, by its partition and reservations. Sets
  /// `later` to the end of a reservation that takes nodes from it, if it is earlier.
  NodeSet nodes_for(const QueueEntry& entry, SimTime from, std::optional<SimTime>& later) const;
  bool try_start(const QueueEntry& entry, const NodeSet& allowed, SimTime now, Actions& actions);
  /// Stops running jobs so that a job finds nodes. True if it will.
  bool try_preempt(const QueueEntry& entry, const NodeSet& allowed, SimTime now, Actions& actions);
  /// How a running job is stopped for another; `Off` if it isn't.
  PreemptMode mode_against(const QueueEntry& entry, std::uint32_t victim) const;
  /// Rank of a running job among victims: lower ones are stopped first.
  std::pair<std::int64_t, std::int64_t> victim_rank(std::uint32_t victim) const;

  /// State of one backfill pass.
  struct BackfillPass;
  void backfill(const QueueEntry& entry, BackfillPass& pass, Actions& actions);
  /// Begin of the slot of `bf_resolution` that holds a time.
  SimTime slot_of(SimTime time) const;
  bool may_promise(const QueueEntry& entry, BackfillPass& pass, SimTime start) const;

  std::size_t nodes_count() const { return state_.setup.configuration.nodes.size(); }

  SchedulerState state_;
  std::vector<QueueEntry> queue_;
  std::vector<NodeSet> partition_nodes_;  ///< [partition]
  std::size_t num_started_ = 0;           ///< entries of jobs that no longer wait
};

}  // namespace vtrain::slurm
