/// Runs that were logged: what a log measured, with the model and the plan that it ran.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "workloads/calibration/accuracy.hpp"
#include "workloads/calibration/calibration.hpp"
#include "workloads/config/predict_config.hpp"
#include "workloads/logs/steady_time.hpp"
#include "workloads/logs/training_log.hpp"
#include "workloads/model/parallel_plan.hpp"
#include "workloads/target.hpp"

namespace vtrain {

/// Facts about a run that its log may lack.
struct LoggedRunNames {
  std::string config{};       ///< configuration of `vtrain predict`; empty: the log's arguments
  std::string profile{};      ///< name or file of a GPU profile; empty: the configuration's
  std::string stack{};        ///< empty: the configuration's, or the default one of the GPU
  std::int64_t num_gpus = 0;  ///< GPUs of the run; 0: the arguments say
};

/// Memory of the fullest stage as predicted, in the terms of PyTorch's allocator.
struct AllocatorMemory {
  Bytes allocated{0};  ///< memory of tensors
  Bytes reserved{0};   ///< memory that the allocator holds
};

/// A log with its plan.
struct LoggedRun {
  TrainingLog log{};
  PredictConfig config{};           ///< model and plan from the arguments or from a file
  bool profile_is_assumed = false;  ///< nothing names the GPUs
  ParallelPlan plan{};              ///< plan with its precision
  Target target{};                  ///< without calibration
  SteadyTime time{};
};

/// Reads a log and its plan.
///
/// Errors: those of `read_training_log`, `steady_time`, the readers of configurations and `resolve_target`; a
/// log without arguments if `config` is empty; a global batch of the log that the plan does not have.
Result<LoggedRun> read_logged_run(const std::string& log, const LoggedRunNames& names);

/// Predicted time of an iteration with factors on its kernels, without anything but the time.
Seconds predict_time(const LoggedRun& run, const KernelFactors& factors);

/// Predicted memory of the fullest stage; `stage` is `MemoryEstimate::stage`.
AllocatorMemory predict_allocator(const LoggedRun& run, std::int64_t stage);

/// Fits the factors of every stack and GPU to all its runs (`fit_own_factors`). With three or more runs,
/// `CalibratedStack::left_out` has what is left of each run when the others are fitted.
Calibration calibrate_runs(const std::vector<LoggedRun>& runs);

/// Fewest runs for which one can be left out and still be predicted.
inline constexpr std::size_t kLeastRunsToLeaveOut = 3;

}  // namespace vtrain
