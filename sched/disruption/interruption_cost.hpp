/// Costs of stopping a job and starting it again.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "sched/disruption/checkpoints.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Seconds that every decision costs a gang whose processes are already in place (pkusys/ElasticFlow,
/// simulator; measured on 16-GPU and larger clusters by its authors).
constexpr double elasticflow_base_overhead(std::int64_t cluster_gpus) {
  return cluster_gpus < 256 ? 2 : 7;
}

/// Seconds that starting a gang costs, more if all jobs restart (pkusys/ElasticFlow, simulator).
inline double elasticflow_start_overhead(std::int64_t num_gpus, std::int64_t cluster_gpus, bool restart) {
  const double restart_cost = cluster_gpus < 256 ? 27 : 47;
  return elasticflow_base_overhead(cluster_gpus) + (restart ? restart_cost : 0) +
         2 * (std::log2(static_cast<double>(num_gpus)) + 1);
}

/// Rule for the cost of an interruption, as read without jobs and cluster.
struct InterruptionRule {
  /// Rules for the cost.
  enum class Kind : std::uint8_t {
    None,         ///< no cost
    Fixed,        ///< equal for every job
    ElasticFlow,  ///< by the GPUs of gang and cluster (`elasticflow_start_overhead`)
    Checkpoint,   ///< the time to save the state, and as much to load it again
  };
  Kind kind = Kind::None;  ///< rule for the cost
  SimDuration fixed{0};    ///< cost under `Fixed`

  /// True if nothing costs any job time.
  bool is_free() const { return kind == Kind::None || (kind == Kind::Fixed && fixed.count() == 0); }

  /// Reads `none`, `elasticflow`, `checkpoint` or a duration such as `30s`; a number alone is seconds.
  static Result<InterruptionRule> parse(std::string_view text);
};

/// Time for which a restarted job holds its GPUs before it continues its work. It is charged at the restart;
/// a first start costs nothing.
class InterruptionCost {
 public:
  /// Makes interruptions free.
  InterruptionCost() = default;
  /// Applies `rule` on a cluster of `cluster_gpus` GPUs.
  InterruptionCost(InterruptionRule rule, GpuCount cluster_gpus) : rule_(rule), cluster_gpus_(cluster_gpus) {}

  /// Rule of the cost.
  const InterruptionRule& rule() const { return rule_; }
  /// True if it may cost some job time.
  bool may_cost(const CheckpointTimes& times) const {
    return rule_.kind == InterruptionRule::Kind::Checkpoint ? times.any_state_transfer() : !rule_.is_free();
  }
  /// Cost after a preemption or at a change of size: the state is saved, and loaded by `num_gpus`.
  SimDuration restart_time(const Job& job, GpuCount num_gpus, const CheckpointTimes& times) const;
  /// Cost after a failure: no state was saved, the last checkpoint is loaded.
  SimDuration recovery_time(const Job& job, GpuCount num_gpus, const CheckpointTimes& times) const;

 private:
  InterruptionRule rule_{};
  GpuCount cluster_gpus_{0};
};

}  // namespace vtrain
