/// What stopping a job and starting it again costs.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Bytes of a checkpoint a parameter: the weights in half precision (2) and the state of mixed-precision Adam
/// (12), as `StageMemory::model_state` has them. Gradients are not saved.
inline constexpr double kCheckpointBytesPerParameter = 14;

/// How long jobs take to save their state to the cluster's storage.
class CheckpointTimes {
 public:
  /// Every job takes this long.
  explicit CheckpointTimes(SimDuration fixed = SimDuration(0)) : fixed_(fixed) {}
  /// From the parameters of each job's model, `kCheckpointBytesPerParameter` and the bandwidth that one job
  /// gets from the storage. Error: a job whose model is not given or not known.
  static Result<CheckpointTimes> from_models(const Workload& workload, BytesPerSecond bandwidth);

  SimDuration of(const Job& job) const { return by_model_.empty() ? fixed_ : by_model_[job.model.value]; }

 private:
  SimDuration fixed_;
  std::vector<SimDuration> by_model_;  ///< by `ModelId`
};

/// Time for which a job that starts again holds its GPUs before it goes on with its work. It is charged when
/// the job starts again; its first start costs nothing.
class InterruptionCost {
 public:
  enum class Kind : std::uint8_t {
    None,
    Fixed,        ///< the same for every job
    ElasticFlow,  ///< by the GPUs of gang and cluster (`sched/elasticflow_overhead.hpp`)
    Checkpoint,   ///< the time to save the state, and as much to load it again
  };

  InterruptionCost() = default;
  /// Reads `none`, `elasticflow`, `checkpoint` or seconds. `Checkpoint` needs `set_checkpoints` too.
  static Result<InterruptionCost> parse(std::string_view text);

  Kind kind() const { return kind_; }
  SimDuration fixed() const { return fixed_; }
  void set_checkpoints(CheckpointTimes times) { checkpoints_ = std::move(times); }
  void set_cluster(GpuCount cluster_gpus) { cluster_gpus_ = cluster_gpus; }

  /// After a preemption or at a change of size: the state is saved, and loaded by `num_gpus`.
  SimDuration of_restart(const Job& job, GpuCount num_gpus) const;
  /// After a failure: nothing could be saved, the last checkpoint is loaded.
  SimDuration of_recovery(const Job& job, GpuCount num_gpus) const;

 private:
  Kind kind_ = Kind::None;
  SimDuration fixed_{0};
  GpuCount cluster_gpus_{0};
  CheckpointTimes checkpoints_{};
};

}  // namespace vtrain
