/// The parts of specs (`spec.hpp`) as a user gives them: words and numbers that nothing has read yet.
/// `tools/options` binds the options of the command line to them; the other headers of this folder read them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vtrain {

/// Traces to read; several are joined into one.
struct TraceArguments {
  std::vector<std::string> files;
  std::string format = "auto";
  std::string throughputs;
  std::string throughputs_gpu = "v100";
  bool strict = false;
};

/// The predictor that prices jobs given by model and iterations.
struct PricingArguments {
  std::string profile;      ///< empty: the profile of the cluster's GPUs
  std::string stack;        ///< empty: the default one of each type of GPUs
  std::string calibration;  ///< file of `vtrain profile calibrate`, empty for none
  std::string kind = "best-plan";
  bool no_cache = false;
};

/// Changes to the jobs of a trace; the defaults of all but `deadlines` leave the jobs as they are.
struct TransformationArguments {
  std::string statuses{};  ///< names joined by commas; empty: all
  std::string tenants = "trace";
  std::string assign = "none";
  std::string run_times = "trace";
  std::string deadlines = "auto";
  std::string estimates = "trace";
  std::uint64_t seed = 1;  ///< seeds everything random
};

/// Interruptions of jobs and their costs; by default only the policy interrupts jobs, which costs those of a
/// known model a checkpoint.
struct DisruptionArguments {
  std::string interruption_cost = "auto";
  std::string checkpoints = "none";
  std::string checkpoint_cost = "30s";
  std::string checkpoint_bandwidth = "10GB/s";
  std::string failures = "none";
  std::string outages{};     ///< file, empty for none
  double spread_factor = 1;  ///< factor on a job's speed for each level that its gang crosses, 0.01 to 1
};

/// GPUs and software to train on; empty where the user names none.
struct TargetArguments {
  std::string cluster{};
  std::string profile{};
  std::string stack{};
  std::string calibration{};  ///< file of `vtrain profile calibrate`
  std::string precision{};
  double headroom = 0;  ///< per cent of the GPUs' memory that plans leave free
};

}  // namespace vtrain
