/// Checkpoints: the intervals at which jobs save their state, and the time that this takes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Young's interval, in seconds of work between checkpoints: sqrt(2 d M). d is the time of a checkpoint and M
/// the job's mean time between failures (Young, "A first order approximation to the optimum checkpoint
/// interval", CACM 17(9), 1974).
double young_interval_s(double checkpoint_s, double mtbf_s);

/// Daly's interval: sqrt(2 d M) (1 + sqrt(d / 2M) / 3 + d / 18M) - d where d < 2M, else M (Daly, "A higher
/// order estimate of the optimum checkpoint interval for restart dumps", FGCS 22(3), 2006).
double daly_interval_s(double checkpoint_s, double mtbf_s);

/// Periodic checkpoints, against failures. A job that a policy interrupts is always saved first.
struct CheckpointRule {
  /// Rule that gives the interval: none, a fixed one, Young's or Daly's.
  enum class Kind : std::uint8_t {
    None,      ///< no checkpoints
    Interval,  ///< a fixed interval
    Young,     ///< Young's interval
    Daly       ///< Daly's interval
  };
  Kind kind = Kind::None;   ///< rule that gives the interval
  SimDuration interval{0};  ///< work between checkpoints, with `Interval`

  /// Reads `none`, `young`, `daly` or a duration such as `30m`.
  static Result<CheckpointRule> parse(std::string_view text);

  /// True if intervals depend on the failure rate of nodes.
  bool needs_mtbf() const { return kind == Kind::Young || kind == Kind::Daly; }
  /// Work between two checkpoints of a job, at least 1 ns; none: it writes none. `mtbf_s` is the job's mean
  /// time between failures in seconds, infinite if its nodes never fail.
  std::optional<SimDuration> interval_of(double checkpoint_s, double mtbf_s) const;
};

/// Bytes of a checkpoint per parameter: weights in half precision (2) and the state of mixed-precision Adam
/// (12). Gradients are not saved.
inline constexpr double kCheckpointBytesPerParameter = 14;

/// Number of parameters of a model by its name; the error explains what is wrong with the name.
using ParametersOfModel = std::function<Result<std::int64_t>(std::string_view)>;

/// Treatment of a job whose model is absent or unknown, so that the size of its checkpoint is not known.
enum class UnknownModel : std::uint8_t {
  Error,   ///< an error that names the job
  NoTime,  ///< saving and loading take no time
};

/// Times that jobs take to save their state to the cluster's storage.
class CheckpointTimes {
 public:
  /// Gives periodic checkpoints of all jobs this time.
  explicit CheckpointTimes(SimDuration periodic = SimDuration(0)) : periodic_(periodic) {}
  /// Computes times from the parameters of each job's model, `kCheckpointBytesPerParameter` and the bandwidth
  /// that one job gets from the storage. Periodic checkpoints take `periodic` or, without it, the computed
  /// time. Errors: a job whose model is absent or unknown, unless `unknown` allows it; a state that takes
  /// more than `kHundredYears` to save and load.
  static Result<CheckpointTimes> from_models(const Workload& workload, const ParametersOfModel& parameters_of,
                                             BytesPerSecond bandwidth,
                                             std::optional<SimDuration> periodic = std::nullopt,
                                             UnknownModel unknown = UnknownModel::Error);

  /// Time of one periodic checkpoint of a job.
  SimDuration periodic_checkpoint_time(const Job& job) const {
    return periodic_ ? *periodic_ : state_transfer_time(job);
  }
  /// True if saving and loading the state of some model takes time.
  bool any_state_transfer() const {
    return std::ranges::any_of(by_model_, [](SimDuration time) { return time.count() > 0; });
  }
  /// Time to save all of a job's state, and to load it; 0 unless computed from models.
  SimDuration state_transfer_time(const Job& job) const {
    return by_model_.empty() || !job.model ? SimDuration(0) : by_model_[job.model.value];
  }

 private:
  std::optional<SimDuration> periodic_;
  std::vector<SimDuration> by_model_;  ///< time by `ModelId`
};

}  // namespace vtrain
