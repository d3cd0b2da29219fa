/// Run times of training jobs from the predictor, each with its spread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "tools/experiment/arguments.hpp"
#include "tools/experiment/eta.hpp"
#include "workloads/calibration/prediction_interval.hpp"
#include "workloads/model/parallel_plan.hpp"

namespace vtrain {

/// Work of a training job.
struct TrainingWork {
  std::string model{};            ///< name in the zoo
  std::int64_t global_batch = 0;  ///< sequences an iteration; 0: as published for the model
  std::int64_t iterations = 0;    ///< above 0
  std::string plan{};             ///< as `parse_plan_spec` reads it; empty: the best one
};

/// Predicted time of some work.
struct TrainingTime {
  ParallelPlan plan{};       ///< plan of the prediction
  Nanoseconds iteration{0};  ///< time of one iteration
  Interval interval{};       ///< factors on it, between which nine in ten runs are
  /// Quantiles of a log-normal time of all iterations: 5 % are below the interval, 5 % above.
  RunTimes times{};

  /// All iterations at the predicted time.
  SimDuration total(std::int64_t iterations) const;
};

/// Predicts on the GPUs of a cluster. Threads may not share it.
class TrainingTimes {
 public:
  /// A named profile is that of all GPUs. Without one each type has the profile of its name, or none. Errors:
  /// those of `ClusterPricing::open`.
  static Result<TrainingTimes> open(const PricingArguments& arguments, const ClusterSpec& cluster,
                                    std::vector<std::string>& warnings);
  TrainingTimes(TrainingTimes&&) noexcept;
  ~TrainingTimes();

  /// The time on GPUs of a type of the cluster; an empty name is the first type. Each kind of work is
  /// searched once. Errors, which carry only the message: GPUs without a profile, an unknown model, a plan
  /// that does not divide GPUs or batch, too little memory.
  Result<TrainingTime> predict(const TrainingWork& work, GpuCount num_gpus, std::string_view gpu_type);
  /// `iterations x the iteration time of the best plan, profile a100, ...`.
  std::string describe() const;

 private:
  struct Parts;
  explicit TrainingTimes(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace vtrain
