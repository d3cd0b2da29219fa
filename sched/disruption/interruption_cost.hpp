/// What stopping a job and starting it again costs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Bytes of a checkpoint a parameter: the weights in half precision (2) and the state of mixed-precision Adam
/// (12), as `StageMemory::model_state` has them. Gradients are not saved.
inline constexpr double kCheckpointBytesPerParameter = 14;

/// How long jobs take to save their state to the cluster's storage.
class CheckpointTimes {
 public:
  /// Periodic checkpoints take this long, whatever the job.
  explicit CheckpointTimes(SimDuration periodic = SimDuration(0)) : periodic_(periodic) {}
  /// From the parameters of each job's model, `kCheckpointBytesPerParameter` and the bandwidth that one job
  /// gets from the storage. Periodic checkpoints take `periodic` or, where there is none, that long too.
  /// Errors: a job whose model is not given or not known, or whose state takes more than `kHundredYears` to
  /// save and load.
  static Result<CheckpointTimes> from_models(const Workload& workload, BytesPerSecond bandwidth,
                                             std::optional<SimDuration> periodic = std::nullopt);

  /// What one of a job's periodic checkpoints takes.
  SimDuration of_periodic(const Job& job) const { return periodic_ ? *periodic_ : of_state(job); }
  /// What saving all of a job's state takes, and loading it; 0 unless it was computed from models.
  SimDuration of_state(const Job& job) const {
    return by_model_.empty() ? SimDuration(0) : by_model_[job.model.value];
  }

 private:
  std::optional<SimDuration> periodic_;
  std::vector<SimDuration> by_model_;  ///< by `ModelId`
};

/// How the cost of an interruption is told: what can be read of it without jobs and cluster.
struct InterruptionRule {
  enum class Kind : std::uint8_t {
    None,
    Fixed,        ///< the same for every job
    ElasticFlow,  ///< by the GPUs of gang and cluster (`sched/disruption/elasticflow_overhead.hpp`)
    Checkpoint,   ///< the time to save the state, and as much to load it again
  };
  Kind kind = Kind::None;
  SimDuration fixed{0};  ///< of `Fixed`

  /// Reads `none`, `elasticflow`, `checkpoint` or a duration such as `30s`; a number alone is seconds.
  static Result<InterruptionRule> parse(std::string_view text);
};

/// Time for which a job that starts again holds its GPUs before it goes on with its work. It is charged when
/// the job starts again; its first start costs nothing.
class InterruptionCost {
 public:
  /// Nothing.
  InterruptionCost() = default;
  /// By `rule` on a cluster of so many GPUs.
  InterruptionCost(InterruptionRule rule, GpuCount cluster_gpus) : rule_(rule), cluster_gpus_(cluster_gpus) {}

  /// How it is told.
  const InterruptionRule& rule() const { return rule_; }
  /// After a preemption or at a change of size: the state is saved, and loaded by `num_gpus`.
  SimDuration of_restart(const Job& job, GpuCount num_gpus, const CheckpointTimes& times) const;
  /// After a failure: nothing could be saved, the last checkpoint is loaded.
  SimDuration of_recovery(const Job& job, GpuCount num_gpus, const CheckpointTimes& times) const;

 private:
  InterruptionRule rule_{};
  GpuCount cluster_gpus_{0};
};

}  // namespace vtrain
