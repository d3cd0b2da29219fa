/// The parts of specs (`spec.hpp`) as a user gives them: words and numbers that nothing has read yet.
/// `tools/options` binds the options of the command line to them; the other headers of this folder read them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/search/plan_search.hpp"

namespace vtrain {

/// Traces to read; several are joined into one.
struct TraceArguments {
  std::vector<std::string> files;  ///< paths; empty: generated jobs
  std::string format = "auto";     ///< name of a `TraceFormat`, or `auto`
  std::string throughputs;         ///< file or folder with throughput tables; empty: those next to the trace
  std::string throughputs_gpu = "v100";  ///< GPU type whose throughputs give run times
  bool strict = false;                   ///< true if a row that would be skipped is an error
};

/// The predictor that prices jobs given by model and iterations.
struct PricingArguments {
  std::string profile;             ///< empty: the profile of the cluster's GPUs
  std::string stack;               ///< empty: the default one of each type of GPUs
  std::string calibration;         ///< file of `vtrain profile calibrate`, empty for none
  std::string kind = "best-plan";  ///< `best-plan`, `data-parallel` or `none`
  /// Errors of predicted run times, which policies do not know: `none`, `empirical` or `lognormal:SIGMA`.
  std::string prediction_error = "none";
  bool no_cache = false;  ///< true: the cache of iteration times is not used
};

/// Changes to the jobs of a trace; the defaults of all but `deadlines` leave the jobs as they are.
struct TransformationArguments {
  std::string statuses{};           ///< names joined by commas; empty: all
  std::string resample = "auto";    ///< blocks of the trace to draw anew: `none`, `days`, `weeks` or `auto`
  std::string tenants = "trace";    ///< `trace`, `clusters`, `users` or a number of tenants
  std::string assign = "none";      ///< models for jobs without one: `none`, `lingjun`, `zoo` or `model=NAME`
  std::string run_times = "trace";  ///< `trace` or `predicted`
  std::string deadlines = "auto";   ///< `none`, `elasticflow`, `LOW:HIGH`, a factor, or `auto`
  std::string estimates = "trace";  ///< `trace`, `exact` or a rule such as `lognormal:SIGMA`
  std::uint64_t seed = 1;           ///< seeds everything random
  double load = 0;  ///< offered load on the cluster; 0: of the trace, or of the embedded default
};

/// Interruptions of jobs and their costs; by default only the policy interrupts jobs, which costs those of a
/// known model a checkpoint.
struct DisruptionArguments {
  std::string interruption_cost = "auto";  ///< `none`, a duration, `elasticflow`, `checkpoint` or `auto`
  std::string checkpoints = "none";  ///< work between checkpoints: `none`, a duration, `young` or `daly`
  /// Time that a checkpoint takes: a duration, or `bytes` of the model and bandwidth.
  std::string checkpoint_cost = "30s";
  std::string checkpoint_bandwidth = "10GB/s";  ///< bandwidth of the storage for one job
  std::string failures = "none";                ///< `none`, or times such as `mtbf=100h,repair=4h`
  std::string outages{};                        ///< file, empty for none
  double spread_factor = 1;  ///< factor on a job's speed for each level that its gang crosses, 0.01 to 1
};

/// GPUs and software to train on; empty where the user names none.
struct TargetArguments {
  std::string cluster{};                     ///< `64x8:a100`, or a file of nodes
  std::string profile{};                     ///< name or file of a GPU profile
  std::string stack{};                       ///< name of a software stack
  std::string calibration{};                 ///< file of `vtrain profile calibrate`
  std::string precision{};                   ///< `fp32`, `fp16`, `bf16`, `fp8` or `fp4`; empty: the stack's
  std::string set_up = "own";                ///< who chose the settings of the runs: `own` or `recipe`
  double headroom = 100 * kDefaultHeadroom;  ///< per cent of the GPUs' memory that plans leave free
};

}  // namespace vtrain
