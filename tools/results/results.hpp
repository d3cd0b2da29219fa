/// Files that replays leave behind: those of one policy's run, and those of the folder of all runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/io/file.hpp"
#include "tools/experiment/experiment.hpp"
#include "tools/experiment/policy_runs.hpp"

namespace vtrain {

/// A summary under the key names of `summary.json`, in that order. Ratios and averages over nothing are null.
nlohmann::ordered_json summary_to_json(const Summary& summary);

/// One run as Chrome trace events for Perfetto: a process for each of the `num_nodes` nodes with its jobs
/// (category `job`) and the times at which it was out of service (category `outage`, with its cause). With 0
/// nodes, where the placement knows none, a track for each job.
std::string cluster_timeline(const Workload& workload, std::int32_t num_nodes,
                             const SimulationResult& result);

/// Adds `jobs.csv` to `files`: one row a job, in the order of submission. Times are seconds from the trace's
/// origin with as many digits as needed; what a job never had (a start, a deadline) is empty. Under policies
/// that work in slots (`elasticflow`, presets of `las` and `edf`) `end_s` is the end that the policy books,
/// in whole seconds or slots. `deadline_met` goes by the instant at which the work was done, which may lie
/// before.
Result<void> write_jobs_csv(FileGroup& files, const std::filesystem::path& path, const Workload& workload,
                            const SimulationResult& result);

/// The text of `interruptions.csv`: lost GPU time, a row for each job that was interrupted or lost any.
std::string interruptions_to_csv(const Workload& workload, const SimulationResult& result);

/// Adds the files of one policy's run to `files`, for `folder`, which is made: `jobs.csv`;
/// `interruptions.csv` and `outages.csv`, for a run in which something could happen to jobs and did to nodes;
/// `timeline.json`, for a run with recorded intervals; `summary.json`, last, so that a folder with a summary
/// is whole. `num_nodes` as for `cluster_timeline`. Returns their names.
Result<std::vector<std::string>> write_run(FileGroup& files, const std::filesystem::path& folder,
                                           const Workload& workload, std::int32_t num_nodes,
                                           const ExperimentRun& run);

/// Policy specs as names of folders: `las:timer=peer` is `las-timer=peer`. A name that would be too long or
/// is taken ends in a hash of its spec.
std::vector<std::string> policy_folders(const std::vector<std::string>& specs);

/// Errors if a file that is read would be replaced by a run whose files go to `folder`, and to these `places`
/// within it, or removed with the run before it.
Result<void> check_inputs_stay(const std::filesystem::path& folder, const std::vector<std::string>& places,
                               const std::vector<std::string>& inputs);

/// Adds `run.json`: what differs when the same command is run again (times, host, version), what was run, the
/// inputs with their hashes, and the files that the run wrote: those of these `names`, itself and
/// `report.html`, which is added with it.
Result<void> write_run_provenance(FileGroup& files, const ExperimentArguments& arguments,
                                  const Experiment& experiment, const std::vector<ExperimentRun>& runs,
                                  std::vector<std::string> names, std::string_view report);

/// Puts the files of a run into `folder` in place of those of the run whose `run.json` is there: of that
/// nothing stays but what has one of these `names` (as `write_run` gives them, behind the folder of the
/// policy); folders of its policies that are empty then go, too.
Result<void> replace_previous_run(FileGroup& files, const std::filesystem::path& folder,
                                  const std::vector<std::string>& names);

}  // namespace vtrain
