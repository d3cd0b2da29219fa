/// Files that replays write, for one policy's run and for the folder of all runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "core/io/csv.hpp"
#include "core/io/file.hpp"
#include "core/io/staged_folder.hpp"
#include "tools/experiment/scenario.hpp"
#include "tools/experiment/schedule_validation.hpp"
#include "tools/experiment/sizing.hpp"
#include "tools/report/seed_tables.hpp"
#include "tools/report/size_tables.hpp"
#include "tools/report/varied_tables.hpp"

namespace vtrain {

/// A summary under the key names of `summary.json`, in that order. Ratios and averages over nothing are null.
nlohmann::ordered_json summary_to_json(const Summary& summary);

/// Subject of a summary, as the object `scenario` of `summary.json`: trace, cluster, placement, seed, offered
/// load, and assumptions on deadlines and costs.
nlohmann::ordered_json scenario_to_json(const Scenario& scenario);

/// The answer of a comparison in a sentence or a few, for people.
std::string answer_of(const Scenario& scenario, const std::vector<RunResult>& runs);

/// Hints that explain the numbers of these runs, a sentence each.
std::vector<std::string> hints_on(const Scenario& scenario, const std::vector<RunResult>& runs);

/// One run as Chrome trace events for Perfetto: counters of waiting jobs and GPUs in use, and processes. Each
/// of the `num_nodes` nodes has a process with its jobs (category `job`) and its outages (category `outage`,
/// with the cause). Each tenant has a process with its waiting jobs (category `wait`). With 0 nodes (the
/// placement knows none), tenants have processes of their jobs, too. Slices have the job's model, tenant and
/// deadline. Their colour tells if the deadline was met.
std::string cluster_timeline(const Workload& workload, std::int32_t num_nodes,
                             const SimulationResult& result);

/// Writes the text of `jobs.csv`: one row a job, in the order of submission. Times are seconds from the
/// trace's origin with as many digits as needed; values that a job lacks (a start, a deadline) are empty.
/// Under policies that work in slots (`elasticflow`, `elasticflow-edf`, `elasticflow-las`) `end_s` is the end
/// that the policy books, in whole seconds or slots. `finished_s` is the instant at which the work was done,
/// possibly earlier; it decides `deadline_met`. `prices` give costs; `cells` selects the format of names.
void write_jobs_csv(OutputFile& file, const Workload& workload, const SimulationResult& result,
                    const GpuPrices& prices, CellText cells);

/// Text of `interruptions.csv`: a row for each job that was interrupted or lost GPU time.
std::string interruptions_to_csv(const Workload& workload, const SimulationResult& result, CellText cells);

/// Writes the files of one policy's run to `place` within `folder`: `jobs.csv`; `interruptions.csv` and
/// `outages.csv`, for a run with events of jobs or nodes; `timeline.json`, for a run with recorded intervals;
/// `summary.json`, with the scenario. Returns their names within `folder`.
Result<std::vector<std::string>> write_run(StagedFolder& folder, const std::filesystem::path& place,
                                           const Scenario& scenario, const RunResult& run);

/// Policy specs as names of folders: `las:timer=peer` is `las-timer=peer`. A name that would be too long or
/// is taken gets a hash of its spec as ending.
std::vector<std::string> policy_folders(const std::vector<std::string>& specs);

/// Files of the run whose `run.json` is in `folder`, relative to it. Empty without such a run.
std::vector<std::filesystem::path> previous_files(const std::filesystem::path& folder);

/// Checks, before a run, that its results can be written to `folder` and to these `places` within it
/// (`StagedFolder::check`). Error, too, if an input file would be replaced, or removed with the previous run.
Result<void> check_run_folder(const std::filesystem::path& folder, const std::vector<std::string>& places,
                              const std::vector<std::string>& inputs);

/// Destination of runs, and the command that writes them.
struct RunPlace {
  std::filesystem::path folder;     ///< folder to write to
  std::vector<std::string> places;  ///< folders within it, one for each run; `{""}` for a single one
  std::string command{};            ///< command line as typed, for `run.json`
};

/// The jobs of a study of sizes and the cluster that their load is stated for.
std::string jobs_of_sizes(const Scenario& scenario);

/// HTML page of all runs of a scenario, and of other seeds of it if there are any.
std::string scenario_report(const Scenario& scenario, const std::vector<RunResult>& runs,
                            const std::optional<SeedComparison>& seeds = std::nullopt);

/// Writes the files of every run (`write_run`), `report.html`, and `run.json`. The latter has the spec that
/// repeats the run, the inputs with their hashes, and the written files. It also has the values that differ
/// between repetitions: times, host, version. With `seeds`, `seeds.csv` has a row for each seed and policy.
/// Then the folder replaces the existing one.
Result<void> write_runs(StagedFolder& folder, const RunPlace& place, const Scenario& scenario,
                        const std::vector<RunResult>& runs,
                        const std::optional<SeedComparison>& seeds = std::nullopt);

/// Writes `variations.csv`, `report.html` and `run.json`, whose spec repeats the comparison, and then
/// replaces the folder. `scenarios` are those of the combinations.
Result<void> write_varied(StagedFolder& folder, const RunPlace& place, const ScenarioSpec& spec,
                          std::span<const Scenario> scenarios, const VariedComparison& comparison);

/// Writes `size.csv`, `variations.csv`, `report.html` and `run.json`, whose spec repeats the study, and then
/// replaces the folder. `largest` is the scenario of the largest cluster.
Result<void> write_sizes(StagedFolder& folder, const RunPlace& place, const ScenarioSpec& spec,
                         const Scenario& largest, const SizeStudy& study);

/// Writes `validation.csv`, `waits.csv`, `utilization.csv`, `report.html` and `run.json`, whose spec repeats
/// the validation, and then replaces the folder.
Result<void> write_validation(StagedFolder& folder, const RunPlace& place, const Scenario& scenario,
                              const std::vector<RunResult>& runs, const ScheduleValidation& validation);

/// Writes the files of every run to a new folder, or replaces an earlier run. A single run is at the top;
/// several have folders of their own. Throws no exception.
Result<void> write_runs(const std::filesystem::path& folder, const Scenario& scenario,
                        const std::vector<RunResult>& runs);

}  // namespace vtrain
