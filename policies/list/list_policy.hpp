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

/// Keeps all live jobs in one list. Each pass adds the arrivals at the list's end, sorts it stably by the
/// policy's key and walks it. A job that fits in the GPUs left by those before it holds GPUs; an elastic
/// policy decides the number. Any other job holds none and is preempted if it runs. Only the keys of running
/// jobs may change between passes.
///
/// The walk selects by the number of GPUs, of each type if jobs request types. A job that waits for its type
/// does not delay jobs that may use others. (A running job that may use several types makes room by moving to
/// another, but only under `count` placement: other placements might put it back.) A policy that
/// `chooses_types` gives a job, in its turn, the type on which it is fastest on the GPUs left. Of equal types
/// it prefers the one that the job holds, then one with enough free GPUs, then the first. Its jobs move to
/// get that type.
///
/// A placement may refuse a selected job although enough GPUs are free (`yarn`). Then the list is walked once
/// more, and every job on it may have the GPUs that are free now. A job that the first walk preempted or
/// shrank has its gang back unless some of it went to a job before it. Any other waiting job is started if
/// placement finds room, on fewer GPUs if it is elastic; a running elastic one grows. So no job waits for
/// GPUs that are free, and none loses its GPUs unless another job uses them. The second walk preempts no job.
/// It always happens if jobs use parts of GPUs, because the first walk counts whole ones.
///
/// Jobs on drained nodes keep their GPUs, even if other jobs come before them in the list.
///
/// Running jobs are a short sorted array, waiting ones a search structure, and the walk merges the two. A
/// pass costs O(running jobs + starts and preemptions x log waiting jobs): waiting jobs that do not fit are
/// never visited. If jobs keep their sizes, running jobs before all that start are only added up. If the
/// order can be found later, a pass in which no job waits and all arrivals find room costs O(arrivals). A
/// second walk visits the waiting jobs that need no more GPUs than are free. If jobs differ only in size, it
/// skips blocks of refused sizes.
class ListPolicy : public Policy {
 public:
  void begin(const SchedulingPass& view) final;
  void schedule(SchedulingPass& pass) final;

 protected:
  /// Key of a job that arrives, or that waits when the policy begins.
  virtual PriorityKey key_of_arrival(const SchedulingPass& pass, JobId job) = 0;
  /// Updates the keys of the running jobs, given in list order. A changed key needs a new stamp. Returns true
  /// if any key changed. Jobs started by passes that skipped the order come last, in the order in which they
  /// were started.
  virtual bool update_running(const SchedulingPass&, std::span<ListedJob>) { return false; }
  /// True if `update_running` can find the order of the jobs that run or arrive now after any number of
  /// passes without it. Then a pass in which all jobs find room skips the order. Not for policies that reject
  /// jobs.
  virtual bool may_skip_order(const SchedulingPass&) { return false; }
  /// True if a job that arrives is admitted; otherwise it is rejected.
  virtual bool admits(const SchedulingPass&, JobId) { return true; }
  /// True if the policy promises to meet the deadline of each job that it admits.
  virtual bool gives_promises() const { return false; }
  /// A deadline with which a rejected job would have been admitted. Asked only where somebody reads it.
  virtual std::optional<SimTime> admitting_deadline(const SchedulingPass&, JobId) { return {}; }
  /// Fewest GPUs on which a job can run.
  virtual GpuCount least_gpus(const SchedulingPass& pass, JobId job) const { return pass.job(job).num_gpus; }
  /// True if running jobs may get other numbers of GPUs.
  virtual bool resizes() const { return false; }
  /// Number of GPUs that a job gets of those that the jobs before it leave; these are at least its least
  /// number. It is the requested number unless the policy resizes. Let N be the number that it would get of
  /// the whole cluster: it gets N whenever N are left. If the policy chooses types, `left` has a type and may
  /// be too little: 0.
  virtual GpuCount gpus_within(const SchedulingPass&, const ListedJob& job,
                               const Allocation& /*left*/) const {
    return job.num_gpus;
  }
  /// Number of GPUs if some are left that no waiting job can use: at least `gpus_within`. The first jobs of
  /// the list are asked first.
  virtual GpuCount gpus_with_spare(const SchedulingPass& pass, const ListedJob& job,
                                   const Allocation& left) const {
    return gpus_within(pass, job, left);
  }
  /// True if, of types that are equal to a job, those with enough free GPUs come first, so that fewer jobs
  /// move. Then the GPUs of a job depend on jobs after it.
  virtual bool prefers_free_types() const { return true; }
  /// Least number above `gpus` that `gpus_with_spare` may give to a job that `gpus_within` gave `gpus` with
  /// enough left; 0: none. Only if the policy resizes.
  virtual GpuCount next_size(const SchedulingPass&, const ListedJob&, GpuCount /*gpus*/) const {
    return GpuCount(0);
  }
  /// Called after the pass with the running jobs in list order and those that it started. May change their
  /// stamps without changing that order, and may request a timer.
  virtual void after_walk(SchedulingPass&, std::span<ListedJob> /*running*/,
                          std::span<const ListedJob> /*started*/) {}
  /// Replaces `after_walk` in a pass that skipped the order; may request a timer.
  virtual void after_start(SchedulingPass&, std::span<const ListedJob> /*started*/) {}

  /// Returns a stamp that is larger than all before.
  std::int64_t last_stamp() { return ++last_stamp_; }
  /// Reserves `count` consecutive stamps of this kind and returns the first.
  std::int64_t last_stamps(std::int64_t count) { return (last_stamp_ += count) - count + 1; }

 private:
  /// A start or resize that a pass decided on.
  struct Change {
    ListedJob job;
    bool runs = false;  ///< true if it is a resize
    Allocation gpus{};
  };
  /// Sizes of a job that is resized.
  struct ElasticSizes {
    GpuCount enough{0};  ///< `gpus_within` if enough are left
    GpuCount next{0};    ///< `next_size` of that; if there is none, a number larger than any
  };
  /// A gang for which placement has no room now and while GPUs are only taken.
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
  /// GPUs of one type that a job gets, given the number left of each; 0 if it fits on no type.
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
  /// Sorts jobs after changes of keys: takes out those out of order, sorts them, and merges them in again.
  void restore_order(std::span<ListedJob> jobs);
  /// Moves jobs that a failure stopped back to the waiting ones, with their present keys.
  void requeue_interrupted(const SchedulingPass& pass);
  /// Walks the list and decides which jobs start, keep their GPUs, are resized or preempted.
  void select_jobs(const SchedulingPass& pass);
  /// Decides on consecutive running jobs in the list.
  void select_running(const SchedulingPass& pass, std::span<const ListedJob> jobs);
  /// Lets the selected jobs grow on the GPUs that they leave.
  void share_spare_gpus(const SchedulingPass& pass);
  /// Number that a selected job grows to, possibly its present one; takes the difference from the pool.
  GpuCount grow(const SchedulingPass& pass, const ListedJob& job, const Allocation& gpus);
  /// Carries out preemptions and shrinking.
  void preempt_and_shrink(SchedulingPass& pass);
  /// Carries out starts and growing.
  void start_and_grow(SchedulingPass& pass);
  /// Walks the list once more and hands out the GPUs that are free.
  void fill_free_gpus(SchedulingPass& pass);
  /// Hands free GPUs to consecutive running jobs in the list.
  void grow_running(SchedulingPass& pass, std::span<const ListedJob> jobs);
  /// Starts a waiting job on free GPUs, if placement finds room.
  bool start_within_free(SchedulingPass& pass, const ListedJob& job);
  bool start_within_free_type(SchedulingPass& pass, const ListedJob& job);
  bool was_refused(const SchedulingPass& pass, const ListedJob& job, const Allocation& gpus) const;
  /// Sizes without room, if waiting jobs differ only in size. Sizes of preempted jobs are excluded: their
  /// former gangs may be free.
  OrderedJobs::Sizes refused_sizes(const SchedulingPass& pass) const;
  /// Merges jobs that have got GPUs, in list order, into the running ones.
  void insert_running(std::span<const ListedJob> jobs);

  GpuPool pool_;
  std::vector<ListedJob> running_;    ///< running jobs in list order
  std::vector<ListedJob> unordered_;  ///< other running jobs, to be merged in after equal keys
  bool some_ended_ = false;           ///< true if jobs in these two have ended
  std::optional<OrderedJobs> waiting_;
  std::vector<ElasticSizes> sizes_;   ///< sizes of listed jobs by `JobId`, if the policy resizes
  std::vector<Change> changes_;       ///< decisions of this pass, in list order
  std::vector<Change> grown_;         ///< buffer while spare GPUs are shared
  std::vector<ListedJob> preempted_;  ///< jobs preempted by the walk of this pass, in list order
  std::vector<ListedJob> shrunk_;     ///< jobs shrunk by this pass, in list order
  std::vector<ListedJob> started_;    ///< jobs started by this pass, in list order
  std::vector<Refusal> refusals_;     ///< refused in this pass since a job last moved to another gang
  bool all_found_room_ = true;        ///< true if placement refused nothing in this pass
  std::vector<ListedJob> displaced_;  ///< buffer while order is restored
  std::int64_t last_stamp_ = 0;
};

}  // namespace vtrain
