/// Runs of `vtrain compare` and `vtrain replay` as the tables of a sweep.
#pragma once

#include <filesystem>

#include "core/base/result.hpp"
#include "tools/studies/study_results.hpp"

namespace vtrain {

/// Runs of folders, in a database in memory.
struct FolderRuns {
  Database database;
  StudyGrid grid;
  StudySubject subject;
};

/// Reads the runs of a folder with `run.json`, or of the folders in it that have one. Options that differ
/// between folders vary. Errors: no run; a file that is missing or is not what vtrain writes; two different
/// runs of one combination, seed and policy.
Result<FolderRuns> read_run_folders(const std::filesystem::path& folder);

}  // namespace vtrain
