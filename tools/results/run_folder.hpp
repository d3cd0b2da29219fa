/// The folder that a replay leaves behind: what is in it beside the files of each policy, and what becomes of
/// a run before.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/io/file.hpp"
#include "tools/experiment/policy_runs.hpp"

namespace vtrain {

/// Policy specs as names of folders: `las:timer=peer` is `las-timer=peer`. A name that would be too long or
/// is taken ends in a hash of its spec.
std::vector<std::string> policy_folders(const std::vector<std::string>& specs);

/// Whether none of the files that are read will be replaced by a run whose files go to `folder`, and to these
/// `places` within it, or removed with the run before it.
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
