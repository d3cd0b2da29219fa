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
/// The walk chooses by the number of GPUs, of each type where jobs ask for types: one that waits for its type
/// holds up nobody who may use others. (For it a running job that may use several types moves to another, but
/// only under `count` placement: others might put it back.)
///
/// A placement may refuse a chosen job although enough GPUs are free (`yarn`). Then the list is walked once
/// more, and every job on it may have what is free now: one that was preempted or shrunk by the first walk
/// has its gang back, as if nothing had been, unless some of it went to a job ahead of it; any other that
/// waits is started if placement finds room, on fewer GPUs if it is elastic; a running elastic one grows.
/// So nobody waits for GPUs that are free, and no job loses its GPUs unless another job uses
/// them. Nobody is preempted in this walk. There is always one where jobs use parts of GPUs, as the first
/// walk counts whole ones.
///
/// Jobs on drained nodes keep what they hold, whatever comes before them in the list.
///
/// Running jobs are a short sorted array, waiting ones a search structure, and the walk merges the two. A
/// pass costs O(running jobs + starts and preemptions x log waiting jobs): jobs that wait and do not fit are
/// never looked at. Where jobs keep their sizes, those that run and stay ahead of whoever starts are only
/// summed up. Where the order can be told later, a pass in which nobody waits and all who arrive find room
/// costs O(arrivals). A second walk looks at the waiting jobs that need no more GPUs than are free, but where
/// jobs are alike in all but size not at blocks of sizes that were refused.
class ListPolicy : public Policy {
 public:
  void schedule(SchedulingPass& pass) final;

 protected:
  /// The key of a job that arrives.
  virtual PriorityKey key_of_arrival(const SchedulingPass& pass, JobId job) = 0;
  /// Brings the keys of the running jobs, which come in list order, up to date. Those whose key changed need
  /// a new stamp. Returns whether any did. Jobs that were started by passes that skipped the order come last,
  /// in the order in which they were started.
  virtual bool update_running(const SchedulingPass&, std::span<ListedJob>) { return false; }
  /// Whether `update_running` can tell the order of the jobs that run or arrive now from what it sees,
  /// however many passes go by without it. Then nobody asks for that order in a pass in which all jobs find
  /// room. Not for policies that turn jobs away.
  virtual bool may_skip_order(const SchedulingPass&) { return false; }
  /// Whether a job that arrives is let in; it is rejected otherwise.
  virtual bool admits(const SchedulingPass&, JobId) { return true; }
  /// The fewest GPUs on which a job can run.
  virtual GpuCount least_gpus(const SchedulingPass& pass, JobId job) const { return pass.job(job).num_gpus; }
  /// Whether jobs that run may get other numbers of GPUs.
  virtual bool resizes() const { return false; }
  /// How many of the GPUs left by those before it a job gets; they are no fewer than its least number. What
  /// it asks for unless the policy resizes.
  virtual GpuCount gpus_within(const SchedulingPass&, const ListedJob& job, GpuCount) const {
    return job.num_gpus;
  }
  /// Sees the running jobs after the pass, in list order, and which of them it started; may change their
  /// stamps without changing that order, and may ask for a timer.
  virtual void after_walk(SchedulingPass&, std::span<ListedJob> /*running*/,
                          std::span<const ListedJob> /*started*/) {}
  /// Comes instead after a pass that skipped the order; may ask for a timer.
  virtual void after_start(SchedulingPass&, std::span<const ListedJob> /*started*/) {}

  /// A stamp behind all jobs of the same key.
  std::int64_t last_stamp() { return ++last_stamp_; }
  /// So many of them in a row: the first.
  std::int64_t last_stamps(std::int64_t count) { return (last_stamp_ += count) - count + 1; }

 private:
  /// What a pass does with a job beside preempting it.
  struct Change {
    ListedJob job;
    bool runs = false;  ///< already
    GpuCount num_gpus{0};
  };
  /// A gang for which placement has no room, and will have none as long as GPUs are only taken.
  struct Refusal {
    std::uint32_t kind = 0;
    GpuCount num_gpus{0};
    std::int16_t gpu_share = kWholeGpu;
    friend bool operator==(const Refusal&, const Refusal&) = default;
  };

  /// Starts a job; keeps it in mind if that is refused.
  bool start(SchedulingPass& pass, const ListedJob& job, GpuCount num_gpus);
  /// Gives a running job a larger gang.
  bool resize(SchedulingPass& pass, const ListedJob& job, GpuCount num_gpus);
  /// A job that arrives.
  ListedJob listed(const SchedulingPass& pass, JobId job);
  /// Whether nobody waits and there are GPUs enough for all who arrive, so that nobody need know the order of
  /// those that run.
  bool all_fit(const SchedulingPass& pass);
  /// Starts them, as far as placement finds room.
  void start_arrivals(SchedulingPass& pass);
  /// Lets go of the jobs that have ended, and puts those that run in order.
  void bring_up_to_date(const SchedulingPass& pass);
  /// Sorts jobs whose keys have changed: what is out of order is taken out, sorted, and merged in again.
  void restore_order(std::span<ListedJob> jobs);
  /// Jobs that a failure stopped wait again, with the keys that they have now.
  void take_back_interrupted(const SchedulingPass& pass);
  void choose(const SchedulingPass& pass);
  /// Walks over running jobs that follow one another in the list.
  void keep(const SchedulingPass& pass, std::span<const ListedJob> jobs);
  /// Preempts and shrinks.
  void make_room(SchedulingPass& pass);
  /// Starts and grows.
  void start_chosen(SchedulingPass& pass);
  /// The second walk, over what is free.
  void use_free_gpus(SchedulingPass& pass);
  /// The same for jobs that run and follow one another in the list.
  void grow(SchedulingPass& pass, std::span<const ListedJob> jobs);
  /// Starts a waiting job on what is free, if placement finds room.
  bool start_on_free_gpus(SchedulingPass& pass, const ListedJob& job);
  bool was_refused(const SchedulingPass& pass, const ListedJob& job, GpuCount num_gpus) const;
  /// Sizes for which there is no room, where nothing else tells one waiting job from another. Those that were
  /// preempted are no exception: their own GPUs would be room.
  OrderedJobs::Sizes refused_sizes(const SchedulingPass& pass) const;
  /// Puts jobs that have got GPUs, in list order, among the running ones.
  void let_run(std::span<const ListedJob> jobs);

  GpuPool pool_;
  std::vector<ListedJob> running_;    ///< in list order
  std::vector<ListedJob> unordered_;  ///< those that run besides, and belong behind others of the same key
  bool some_ended_ = false;           ///< and are still among these
  std::optional<OrderedJobs> waiting_;
  std::vector<Change> changes_;       ///< chosen by this pass, in list order
  std::vector<ListedJob> preempted_;  ///< by the walk of this pass, in list order
  std::vector<ListedJob> shrunk_;     ///< by this pass, in list order
  std::vector<ListedJob> started_;    ///< by this pass, in list order
  std::vector<Refusal> refusals_;     ///< of this pass, since a job last moved to another gang
  bool all_found_room_ = true;        ///< in this pass
  std::vector<ListedJob> displaced_;  ///< while order is restored
  std::int64_t last_stamp_ = 0;
};

}  // namespace vtrain
