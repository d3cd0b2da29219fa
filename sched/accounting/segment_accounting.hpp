/// Accounts of the time for which jobs hold GPUs, in replays that disrupt them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "sched/accounting/gpu_time.hpp"
#include "sched/accounting/placement_speed.hpp"
#include "sched/cluster/node_table.hpp"
#include "sched/disruption/disruptions.hpp"
#include "sched/disruption/segment_timing.hpp"
#include "sched/placement/placement.hpp"
#include "workloads/jobs/job.hpp"
#include "workloads/jobs/run_time_errors.hpp"

namespace vtrain {

/// The end of a job's segment.
enum class SegmentEnd : std::uint8_t {
  Done,       ///< the job finished its work
  Preempted,  ///< the policy took the GPUs away; the state was saved
  Resized,    ///< the policy gave it another number of GPUs; the state was saved
  Failed,     ///< a node failed: work since the last complete checkpoint is gone
};

/// Errors of predicted run times, and the nodes that tell the type of a gang. Both outlive their user.
struct RunTimeTruth {
  const RunTimeErrors* errors = nullptr;  ///< null: jobs run as predicted
  const NodeTable* nodes = nullptr;       ///< never null with errors
};

/// Computes the timing of every segment and accounts for it when it has ended. Exists only where something
/// costs jobs time, so that other replays do not pay for it.
class SegmentAccounting {
 public:
  /// The beginning of a job's segment.
  enum class Start : std::uint8_t {
    First,            ///< first start of the job
    AfterPreemption,  ///< start after a preemption
    AfterResize,      ///< start on another number of GPUs
    AfterFailure      ///< start after a failure of a node
  };

  /// All arguments outlive the accounts. Without `placement_speed`, the speed of gangs follows only from the
  /// disruptions' `spread_factor`.
  SegmentAccounting(const std::vector<Job>& jobs, const Disruptions& disruptions, const Placement& placement,
                    const PlacementSpeed* placement_speed = nullptr, const RunTimeTruth& truth = {});

  /// Overheads that policies may see, by `JobId`.
  std::span<const JobOverhead> overheads() const { return overheads_; }
  /// Makes room for jobs that have been added to `jobs`.
  void grow();
  /// Plans the next segment of a job that is submitted, or changed after it has held GPUs for `attained`.
  void submit(JobId job, SimDuration attained = SimDuration(0)) { foresee(job, attained); }
  /// Most work that a rigid job may do on a gang before its time limit. A job without a requested time that
  /// takes longer than predicted is not stopped.
  SimDuration work_limit(JobId job, GpuCount num_gpus, std::span<const NodeShare> shares) const;
  /// Begins a segment on a gang after the job has held GPUs for `attained`. Returns its timing. `shares` are
  /// empty where gangs have no nodes.
  const SegmentTiming& begin(JobId job, GpuCount num_gpus, std::span<const NodeShare> shares, SimTime now,
                             SimDuration attained);
  /// The state of one job's accounts.
  struct State {
    JobOverhead overhead{};      ///< overheads of the current segment
    Start start = Start::First;  ///< kind of the job's next start
  };
  /// Timing of a segment that begins after an interruption, on the slowest gang that placement may choose. Of
  /// all types that the job may use, or of one.
  SegmentTiming slowest_segment(JobId job, GpuCount num_gpus, std::optional<std::uint32_t> type) const;
  /// Predicted timing of the segment that would begin on a gang now.
  SegmentTiming next_segment(JobId job, GpuCount num_gpus, std::span<const NodeShare> shares) const;
  /// True if interruptions, checkpoints or the places of gangs may cost some job time.
  bool has_costs() const;
  /// True if they may cost a job time that is still to come.
  bool may_have_costs() const;
  /// Copies the state of a job's accounts.
  State state(JobId job) const { return {overheads_[job.value], starts_[job.value]}; }
  /// Takes the end of a segment back.
  void restore(JobId job, const State& state) {
    overheads_[job.value] = state.overhead;
    starts_[job.value] = state.start;
  }
  /// Ends a segment of length `held`, after the job had held GPUs for `attained`. Returns the segment's
  /// lasting work.
  SimDuration end(JobId job, SimDuration held, SimDuration attained, SegmentEnd how);
  /// Charges the losses of a segment that began with `state` and held `gpu_share` thousandths of each of
  /// `num_gpus` for `held`.
  void charge(JobId job, const State& state, GpuCount num_gpus, std::int16_t gpu_share, SimDuration held,
              SegmentEnd how);
  /// Moves out the GPU time that jobs lost, by `JobId`.
  std::vector<LostGpuTime> take_losses() { return std::move(losses_); }

 private:
  SegmentTiming plan(JobId job, GpuCount num_gpus) const;
  SegmentTiming plan(JobId job, GpuCount num_gpus, Start start) const;
  /// Speed of a job on a gang.
  SegmentSpeed speed(JobId job, std::span<const NodeShare> shares) const;
  /// Lowest speed that the job may have on its next gang.
  SegmentSpeed slowest(JobId job, GpuCount num_gpus) const;
  /// True over predicted time on a gang; 1 without errors.
  double time_factor(JobId job, GpuCount num_gpus, std::span<const NodeShare> shares) const;
  /// True if a job has a time limit of its own while its run time may differ from the predicted one.
  bool is_limited(const Job& job, JobId id) const;
  /// Sets the longest time of the job's next segment, for policies.
  void foresee(JobId job, SimDuration attained);
  /// Cause to which the setup of a segment is charged.
  static LossCause setup_cause(Start start);

  const std::vector<Job>& jobs_;
  const Disruptions& disruptions_;
  const Placement& placement_;
  const PlacementSpeed* placement_speed_;
  RunTimeTruth truth_;
  std::vector<JobOverhead> overheads_;
  std::vector<Start> starts_;  ///< start of the current segment, or of a waiting job's next one, by `JobId`
  std::vector<LostGpuTime> losses_;
};

}  // namespace vtrain
