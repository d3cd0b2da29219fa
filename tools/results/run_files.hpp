/// The files that one policy's run leaves behind.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/io/file.hpp"
#include "tools/experiment/policy_runs.hpp"

namespace vtrain {

/// Adds to `files`, for `folder`, which is made:
/// - `jobs.csv`: one row a job, in the order of submission. Times are seconds from the trace's origin with as
///   many digits as needed; what a job never had (a start, a deadline) is empty. Under policies that work in
///   slots (`elasticflow`, presets of `las` and `edf`) `end_s` is the end that the policy books, in whole
///   seconds or slots. `deadline_met` goes by the instant at which the work was done, which may lie before;
/// - `interruptions.csv` and `outages.csv`, for a run in which something could happen to jobs and did to
///   nodes;
/// - `timeline.json`, for a run with recorded intervals;
/// - `summary.json`, last, so that a folder with a summary is whole.
///
/// Returns their names.
Result<std::vector<std::string>> write_run(FileGroup& files, const std::filesystem::path& folder,
                                           const Experiment& experiment, const ExperimentRun& run);

}  // namespace vtrain
