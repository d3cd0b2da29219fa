/// The common part of the preemptive policies that walk a sorted list of jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/ids.hpp"
#include "policies/list/gpu_pool.hpp"
#include "policies/list/ordered_jobs.hpp"
#include "sched/simulation/policy.hpp"

namespace vtrain {

/// Keeps all live jobs in one list. Each pass takes in the arrivals at the list's end, sorts it stably by the
/// policy's key and walks it: a job that fits in the GPUs left by those before it holds GPUs (how many, an
/// elastic policy says), any other does not, and is preempted if it runs. Only the keys of running jobs may
/// change between passes.
///
/// The walk selects by the number of GPUs, of each type where jobs ask for types: a job that waits for its
/// type does not delay jobs that may use others. (A running job that may use several types moves to another
/// for it, but only under `count` placement: other placements might put it back.) A policy that
/// `chooses_types` gives a job, in its turn, the type on which it is fastest on what is left; of equals the
/// one that it holds, then one with GPUs enough free, then the first. Its jobs move for that.
///
/// A placement may refuse a selected job although enough GPUs are free (`yarn`). Then the list is walked once
/// more, and every job on it may have what is free now: one that was preempted or shrunk by the first walk
/// has its gang back, as if nothing had been, unless some of it went to a job ahead of it; any other that
/// waits is started if placement finds room, on fewer GPUs if it is elastic; a running elastic one grows.
/// So no job waits for GPUs that are free, and none loses its GPUs unless another job uses them. The second
/// walk preempts no job. There is always one where jobs use parts of GPUs, as the first
/// walk counts whole ones.
///
/// Jobs on drained nodes keep what they hold, whatever comes before them in the list.
///
/// Running jobs are a short sorted array, waiting ones a search structure, and the walk merges the two. A
/// pass costs O(running jobs + starts and preemptions x log waiting jobs): jobs that wait and do not fit are
/// never looked at. Where jobs keep their sizes, running jobs ahead of all that start are only summed up.
/// Where the order can be found later, a pass in which no job waits and all arrivals find room costs
/// O(arrivals). A second walk looks at the waiting jobs that need no more GPUs than are free, but where jobs
/// are alike in all but size not at blocks of sizes that were refused.
class ListPolicy : public Policy {
 public:
  void begin(const SchedulingPass& view) final;
  void schedule(SchedulingPass& pass) final;

 protected:
  /// The key of a job that arrives, or that waits as the policy begins.
  virtual PriorityKey key_of_arrival(const SchedulingPass& pass, JobId job) = 0;
  /// Updates the keys of the running jobs, which come in list order. A changed key needs a new stamp. Returns
  /// whether any key changed. Jobs that were started by passes that skipped the order come last,
  /// in the order in which they were started.
  virtual bool update_running(const SchedulingPass&, std::span<ListedJob>) { return false; }
  /// True if `update_running` can tell the order of the jobs that run or arrive now from what it sees,
  /// however many passes go by without it. Then a pass in which all jobs find room skips the order. Not for
  /// policies that reject jobs.
  virtual bool may_skip_order(const SchedulingPass&) { return false; }
  /// True if a job that arrives is admitted; otherwise it is rejected.
  virtual bool admits(const SchedulingPass&, JobId) { return true; }
  /// The fewest GPUs on which a job can run.
  virtual GpuCount least_gpus(const SchedulingPass& pass, JobId job) const { return pass.job(job).num_gpus; }
  /// True if jobs that run may get other numbers of GPUs.
  virtual bool resizes() const { return false; }
  /// Number of GPUs that a job gets of those that the jobs before it leave, which are at least its least
  /// number. The number it asks for unless the policy resizes. It is the same wherever as many are left as it
  /// would get of all GPUs of the cluster. `left` has a type where the policy chooses types, and may be too
  /// little then: 0.
  virtual GpuCount gpus_within(const SchedulingPass&, const ListedJob& job,
                               const Allocation& /*left*/) const {
    return job.num_gpus;
  }
  /// The number if GPUs are left that no waiting job can use: at least `gpus_within`. The first jobs of the
  /// list are asked first.
  virtual GpuCount gpus_with_spare(const SchedulingPass& pass, const ListedJob& job,
                                   const Allocation& left) const {
    return gpus_within(pass, job, left);
  }
  /// True if of types that are equal to a job those come first that have GPUs enough free, so that fewer jobs
  /// move. Then what a job gets depends on jobs behind it.
  virtual bool prefers_free_types() const { return true; }
  /// The least number above `gpus` that `gpus_with_spare` may give to a job that `gpus_within` gave `gpus`,
  /// where the latter had enough left; 0: none. Only where the policy resizes.
  virtual GpuCount next_size(const SchedulingPass&, const ListedJob&, GpuCount /*gpus*/) const {
    return GpuCount(0);
  }
  /// Sees the running jobs after the pass, in list order, and which of them it started; may change their
  /// stamps without changing that order, and may ask for a timer.
  virtual void after_walk(SchedulingPass&, std::span<ListedJob> /*running*/,
                          std::span<const ListedJob> /*started*/) {}
  /// Replaces `after_walk` in a pass that skipped the order; may ask for a timer.
  virtual void after_start(SchedulingPass&, std::span<const ListedJob> /*started*/) {}

  /// Returns a stamp that is larger than all before.
  std::int64_t last_stamp() { return ++last_stamp_; }
  /// Reserves `count` such stamps in a row and returns the first.
  std::int64_t last_stamps(std::int64_t count) { return (last_stamp_ += count) - count + 1; }

 private:
  /// A start or resize that a pass decided on.
  struct Change {
    ListedJob job;
    bool runs = false;  ///< whether it is a resize
    Allocation gpus{};
  };
  /// Sizes of a job that is resized.
  struct ElasticSizes {
    GpuCount enough{0};  ///< `gpus_within` where enough are left
    GpuCount next{0};    ///< `next_size` of that; a number larger than any where there is none
  };
  /// A gang for which placement has no room, and will have none as long as GPUs are only taken.
  struct Refusal {
    std::uint32_t kind = 0;
    Allocation gpus{};
    std::int16_t gpu_share = kWholeGpu;
    friend bool operator==(const Refusal&, const Refusal&) = default;
  };

  /// Starts a job; notes a refusal.
  bool start(SchedulingPass& pass, const ListedJob& job, const Allocation& gpus);
  /// Gives a running job a larger gang.
  bool resize(SchedulingPass& pass, const ListedJob& job, const Allocation& gpus);
  /// GPUs that a running job holds, with their type where the policy chooses types.
  Allocation held(const SchedulingPass& pass, const ListedJob& job) const;
  /// GPUs that a job gets of those left in the pool; 0 if it fits on no type.
  Allocation choose_within_left(const SchedulingPass& pass, const ListedJob& job) const;
  /// GPUs of one type that a job gets, given how many are left of each; 0 if it fits on no type.
  Allocation choose_type(const SchedulingPass& pass, const ListedJob& job,
                         std::span<const std::int64_t> left_by_type) const;
  /// Makes the list entry of a job that arrives.
  ListedJob make_listed(const SchedulingPass& pass, JobId job);
  /// True if no job waits and GPUs suffice for all arrivals, so that the order of running jobs is not needed.
  bool all_arrivals_fit(const SchedulingPass& pass);
  /// Starts all arrivals, as far as placement finds room.
  void start_arrivals(SchedulingPass& pass);
  /// Removes the jobs that have ended from the running ones, and sorts these by their present keys.
  void refresh_running(const SchedulingPass& pass);
  /// Sorts jobs whose keys have changed: what is out of order is taken out, sorted, and merged in again.
  void restore_order(std::span<ListedJob> jobs);
  /// Moves jobs that a failure stopped back to the waiting ones, with their present keys.
  void requeue_interrupted(const SchedulingPass& pass);
  /// Walks the list and decides which jobs start, keep their GPUs, are resized or preempted.
  void select_jobs(const SchedulingPass& pass);
  /// Decides on running jobs that follow one another in the list.
  void select_running(const SchedulingPass& pass, std::span<const ListedJob> jobs);
  /// Lets the selected jobs grow by what they leave.
  void share_spare_gpus(const SchedulingPass& pass);
  /// The number that a selected job grows to, which may be the one that it was given; takes the difference.
  GpuCount grow(const SchedulingPass& pass, const ListedJob& job, const Allocation& gpus);
  /// Carries out preemptions and shrinking.
  void preempt_and_shrink(SchedulingPass& pass);
  /// Carries out starts and growing.
  void start_and_grow(SchedulingPass& pass);
  /// Walks the list once more and hands out the GPUs that are free.
  void fill_free_gpus(SchedulingPass& pass);
  /// Hands free GPUs to running jobs that follow one another in the list.
  void grow_running(SchedulingPass& pass, std::span<const ListedJob> jobs);
  /// Starts a waiting job on free GPUs, if placement finds room.
  bool start_within_free(SchedulingPass& pass, const ListedJob& job);
  bool start_within_free_type(SchedulingPass& pass, const ListedJob& job);
  bool was_refused(const SchedulingPass& pass, const ListedJob& job, const Allocation& gpus) const;
  /// Sizes for which there is no room, where waiting jobs differ in nothing else. Sizes of preempted jobs are
  /// none: their former gangs may be free.
  OrderedJobs::Sizes refused_sizes(const SchedulingPass& pass) const;
  /// Merges jobs that have got GPUs, in list order, into the running ones.
  void insert_running(std::span<const ListedJob> jobs);

  GpuPool pool_;
  std::vector<ListedJob> running_;    ///< running jobs in list order
  std::vector<ListedJob> unordered_;  ///< other running jobs, to be sorted in behind equal keys
  bool some_ended_ = false;           ///< whether jobs in these two have ended
  std::optional<OrderedJobs> waiting_;
  std::vector<ElasticSizes> sizes_;   ///< by `JobId`: of listed jobs, where the policy resizes
  std::vector<Change> changes_;       ///< decided by this pass, in list order
  std::vector<Change> grown_;         ///< used while spare GPUs are shared
  std::vector<ListedJob> preempted_;  ///< by the walk of this pass, in list order
  std::vector<ListedJob> shrunk_;     ///< by this pass, in list order
  std::vector<ListedJob> started_;    ///< by this pass, in list order
  std::vector<Refusal> refusals_;     ///< refused in this pass since a job last moved to another gang
  bool all_found_room_ = true;        ///< whether placement refused nothing in this pass
  std::vector<ListedJob> displaced_;  ///< used while order is restored
  std::int64_t last_stamp_ = 0;
};

}  // namespace vtrain
