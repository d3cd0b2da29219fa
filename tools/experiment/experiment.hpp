/// From a trace, a cluster and a list of policies to all that a replay needs: what `replay` and `compare`
/// share.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "sched/cluster/cluster.hpp"
#include "tools/experiment/prepared_policy.hpp"
#include "tools/options/disruption_arguments.hpp"
#include "tools/options/pricing_arguments.hpp"
#include "tools/options/trace_arguments.hpp"
#include "tools/options/transformations.hpp"
#include "workloads/jobs/gang_speed_model.hpp"
#include "workloads/jobs/job.hpp"

namespace CLI {
class App;
}

namespace vtrain {

/// The arguments of `replay` and `compare`, as given.
struct ExperimentArguments {
  TraceArguments trace;  ///< without files: the embedded default, a generated day of LLM jobs
  std::string cluster;   ///< empty: what the trace names, or the default
  std::string placement = "count";
  CurveArguments curves{};  ///< what prices jobs given by model and iterations
  TransformationArguments transformations{};
  DisruptionArguments disruptions{};
  std::vector<std::string> policies;  ///< specs
  std::filesystem::path out;          ///< empty: nothing is written
  std::string timeline = "auto";
  unsigned threads = 0;  ///< 0: one per processor
  bool json = false;
  std::string command_line;  ///< to repeat the run
};

/// Adds the options that both commands have.
void add_experiment_options(CLI::App& command, ExperimentArguments& arguments);

/// The jobs, the cluster on which they will run and the policies, and where all came from.
struct Experiment {
  Workload workload;
  ClusterSpec cluster;
  PlacementKind placement = PlacementKind::Count;
  std::vector<PreparedPolicy> policies{};    ///< until they run, which takes them
  std::unique_ptr<ClusterPricing> curves{};  ///< what prices jobs
  std::unique_ptr<GangSpeedModel>
      gang_speed_model{};                    ///< of jobs that the predictor can price; needs the curves
  std::optional<Disruptions> disruptions{};  ///< none: nothing happens to jobs beside what policies do
  std::string trace_name;                    ///< the file, or a description of the generated jobs
  std::string trace_format;                  ///< as read; empty for generated jobs
  SkippedRows skipped;                       ///< rows of the trace that are no jobs
  std::vector<std::string> assumptions;      ///< what is synthetic or assumed, one sentence each
  /// Label and value of each input: file hashes, seeds, what priced the jobs.
  std::vector<std::pair<std::string, std::string>> provenance;
  std::vector<std::string> input_files;  ///< that were read
  double read_s = 0;                     ///< time limit of reading, pricing and deadline assignment
};

/// Makes the policies, reads or generates the jobs, gives each a duration and a deadline, and reads the
/// cluster.
Result<Experiment> prepare_experiment(const ExperimentArguments& arguments);

/// The lines above the table: trace, cluster, what was assumed.
std::string describe_experiment(const Experiment& experiment);

}  // namespace vtrain
