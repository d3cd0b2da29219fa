/// The books of what jobs do with the time for which they hold GPUs, in replays that disrupt them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "sched/accounting/lost_time.hpp"
#include "sched/accounting/placement_speed.hpp"
#include "sched/disruption/disruptions.hpp"
#include "sched/disruption/segment_timing.hpp"
#include "sched/placement/placement.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// How a run of a job ended.
enum class SegmentEnd : std::uint8_t {
  Done,       ///< with its work
  Preempted,  ///< the policy took the GPUs away; the state was saved
  Resized,    ///< the policy gave it another number of GPUs; the state was saved
  Failed,     ///< a node failed: work since the last complete checkpoint is gone
};

/// Makes the plan of every run and books what came of it. Exists only where something costs jobs time, so
/// that other replays do not pay for it.
class SegmentAccounting {
  /// How a job's run begins.
  enum class Start : std::uint8_t { First, AfterPreemption, AfterResize, AfterFailure };

 public:
  /// `jobs`, `disruptions`, `placement` and `sites` outlive the books. Without `sites` nothing is known of
  /// the speed of gangs beyond the disruptions' `spread_factor`.
  SegmentAccounting(std::span<const Job> jobs, const Disruptions& disruptions, const Placement& placement,
                    const PlacementSpeed* sites = nullptr);

  /// What policies may ask about, by `JobId`.
  std::span<const JobOverhead> overheads() const { return overheads_; }
  /// A job is submitted.
  void submit(JobId job) { foresee(job, SimDuration(0)); }
  /// A run begins on a gang after the job has held GPUs for `attained`. Returns its plan. `shares` are empty
  /// where gangs have no nodes.
  const SegmentTiming& begin(JobId job, GpuCount num_gpus, std::span<const NodeShare> shares, SimTime now,
                             SimDuration attained);
  /// A run has ended that held `gpu_share` thousandths of each of `num_gpus` for `held`, and before it the
  /// job `attained`. Returns the work in it that lasts.
  SimDuration end(JobId job, GpuCount num_gpus, std::int16_t gpu_share, SimDuration held,
                  SimDuration attained, SegmentEnd how);
  /// All that the books say of one job.
  struct Account {
    JobOverhead overhead;
    Start start;
    LostGpuTime losses;
  };
  Account account(JobId job) const { return {overheads_[job.value], starts_[job.value], losses_[job.value]}; }
  /// Makes the books say again what they said.
  void restore(JobId job, const Account& account) {
    overheads_[job.value] = account.overhead;
    starts_[job.value] = account.start;
    losses_[job.value] = account.losses;
  }
  /// What every job lost, by `JobId`.
  std::vector<LostGpuTime> take_losses() { return std::move(losses_); }

 private:
  SegmentTiming plan(JobId job, GpuCount num_gpus) const;
  /// The speed of a job on a gang.
  SegmentSpeed speed(JobId job, std::span<const NodeShare> shares) const;
  /// The least speed that it may come to have on its next gang.
  SegmentSpeed slowest(JobId job, GpuCount num_gpus) const;
  /// Tells policies how long the job's next run will take at most.
  void foresee(JobId job, SimDuration attained);
  /// What the setup of the current run is booked as.
  LossCause setup_cause(JobId job) const;

  std::span<const Job> jobs_;
  const Disruptions& disruptions_;
  const Placement& placement_;
  const PlacementSpeed* sites_;
  std::vector<JobOverhead> overheads_;
  std::vector<Start> starts_;  ///< by `JobId`: of the current run, or the next one of a job that waits
  std::vector<LostGpuTime> losses_;
};

}  // namespace vtrain
