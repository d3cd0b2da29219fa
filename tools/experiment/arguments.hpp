/// Arguments of replays and of plan searches as a user gives them: words and numbers that nothing has read
/// yet. `tools/options` binds the options of the command line to them; the other headers of this folder read
/// them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace vtrain {

/// Traces to read, one or several as one.
struct TraceArguments {
  std::vector<std::string> files;
  std::string format = "auto";
  std::string throughputs;
  std::string throughputs_gpu = "v100";
  bool strict = false;
};

/// The predictor that prices jobs given by model and iterations.
struct PricingArguments {
  std::string profile;      ///< empty: that of the cluster's GPUs
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

/// Interruptions of jobs and their costs; by default only the policy interrupts jobs, at no cost.
struct DisruptionArguments {
  std::string interruption_cost = "none";
  std::string checkpoints = "none";
  std::string checkpoint_cost = "30s";
  std::string checkpoint_bandwidth = "10GB/s";
  std::string failures = "none";
  std::filesystem::path outages{};  ///< empty: none
  double spread_factor = 1;         ///< from 0.01 to 1
};

/// The arguments of `replay` and `compare`.
struct ExperimentArguments {
  TraceArguments trace;  ///< without files: the embedded default, a generated day of LLM jobs
  std::string cluster;   ///< empty: what the trace names, or the default
  std::string placement = "count";
  PricingArguments pricing{};
  TransformationArguments transformations{};
  DisruptionArguments disruptions{};
  std::vector<std::string> policies;  ///< specs
  std::filesystem::path out;          ///< empty: nothing is written
  std::string timeline = "auto";
  bool spreadsheet_safe = false;  ///< of the names in tables
  unsigned threads = 0;           ///< 0: one per processor
  bool json = false;
  std::string command_line;  ///< to repeat the run
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

/// The arguments of `plan`.
struct PlanArguments {
  std::string model;
  std::string gpus;
  TargetArguments target;
  std::int64_t global_batch = 0;
  std::string objective;
  std::string deadline;
  std::string tokens;
  double price = 0;
  std::int64_t top = 3;
  std::string beside;
  std::int64_t sequence_length = 0;
  bool offload = false;
  bool partial_recompute = false;
  bool zero_bubble = false;
  std::string out;  ///< file for the best plan; empty for none
  bool json = false;
};

}  // namespace vtrain
