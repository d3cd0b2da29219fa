/// Files that replays leave behind: those of one policy's run, and those of the folder of all runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/io/csv.hpp"
#include "core/io/file.hpp"
#include "core/io/staged_folder.hpp"
#include "tools/experiment/scenario.hpp"

namespace vtrain {

/// A summary under the key names of `summary.json`, in that order. Ratios and averages over nothing are null.
nlohmann::ordered_json summary_to_json(const Summary& summary);

/// What a summary is of: trace, cluster, placement, seed, offered load and what was assumed of deadlines and
/// costs; the object `scenario` of `summary.json`.
nlohmann::ordered_json scenario_to_json(const Scenario& scenario);

/// The answer of a comparison in a sentence or a few, for people.
std::string answer_of(const Scenario& scenario, const std::vector<RunResult>& runs);

/// Hints on these runs for who wonders about the numbers, a sentence each.
std::vector<std::string> hints_on(const Scenario& scenario, const std::vector<RunResult>& runs);

/// One run as Chrome trace events for Perfetto: counters of waiting jobs and GPUs in use; a process for each
/// of the `num_nodes` nodes with its jobs (category `job`) and the times at which it was out of service
/// (category `outage`, with its cause); a process for each tenant with its waiting jobs (category `wait`).
/// With 0 nodes, where the placement knows none, tenants have processes of their jobs, too. Slices have the
/// job's model, tenant and deadline, and are coloured by whether it was met.
std::string cluster_timeline(const Workload& workload, std::int32_t num_nodes,
                             const SimulationResult& result);

/// Writes the text of `jobs.csv`: one row a job, in the order of submission. Times are seconds from the
/// trace's origin with as many digits as needed; what a job never had (a start, a deadline) is empty. Under
/// policies that work in slots (`elasticflow`, `elasticflow-edf`, `elasticflow-las`) `end_s` is the end that
/// the policy books, in whole seconds or slots. `finished_s`, by which `deadline_met` goes, is the instant at
/// which the work was done and may lie before. `cells` says how names are written.
void write_jobs_csv(OutputFile& file, const Workload& workload, const SimulationResult& result,
                    CellText cells);

/// The text of `interruptions.csv`: lost GPU time, a row for each job that was interrupted or lost any.
std::string interruptions_to_csv(const Workload& workload, const SimulationResult& result, CellText cells);

/// Writes the files of one policy's run to `place` within `folder`: `jobs.csv`; `interruptions.csv` and
/// `outages.csv`, for a run in which something happened to jobs and to nodes; `timeline.json`, for a
/// run with recorded intervals; `summary.json`, with the scenario. Returns their names within `folder`.
Result<std::vector<std::string>> write_run(StagedFolder& folder, const std::filesystem::path& place,
                                           const Scenario& scenario, const RunResult& run);

/// Policy specs as names of folders: `las:timer=peer` is `las-timer=peer`. A name that would be too long or
/// is taken ends in a hash of its spec.
std::vector<std::string> policy_folders(const std::vector<std::string>& specs);

/// The files in `folder` that the run whose `run.json` is there wrote, relative to it. None where there is no
/// such run.
std::vector<std::filesystem::path> previous_files(const std::filesystem::path& folder);

/// Finds out before the work whether a run can be written to `folder`, and to these `places` within it
/// (`StagedFolder::check`). An error, too, if a file that is read would be replaced, or removed with the run
/// before it.
Result<void> check_run_folder(const std::filesystem::path& folder, const std::vector<std::string>& places,
                              const std::vector<std::string>& inputs);

/// Where runs are written, and by which command.
struct RunPlace {
  std::filesystem::path folder;
  std::vector<std::string> places;  ///< within the folder, one for each run; `{""}` for a single one
  std::string command{};            ///< that was typed, for `run.json`
};

/// The page of all runs of a scenario.
std::string scenario_report(const Scenario& scenario, const std::vector<RunResult>& runs);

/// Writes the files of every run (`write_run`), `report.html`, and `run.json`: what differs when the same
/// command is run again (times, host, version), the spec that repeats the run, the inputs with their hashes,
/// and the files that the run wrote. Then the folder takes the place of what is there.
Result<void> write_runs(StagedFolder& folder, const RunPlace& place, const Scenario& scenario,
                        const std::vector<RunResult>& runs);

/// The same to a new folder, or in the place of an earlier run's: a single run at its top, several in folders
/// of their own. No exception leaves it.
Result<void> write_runs(const std::filesystem::path& folder, const Scenario& scenario,
                        const std::vector<RunResult>& runs);

}  // namespace vtrain
