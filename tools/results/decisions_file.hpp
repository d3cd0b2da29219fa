/// The file of `--decisions`: the reasons for which jobs wait, as JSON lines.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "core/base/result.hpp"
#include "core/io/file.hpp"
#include "sched/simulation/reasons.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// Writes changes of reasons as they come, a line of JSON each (`docs/reasons.md`). The file appears under
/// its name when it is complete.
class DecisionsFile final : public ReasonObserver {
 public:
  /// Creates the file. `workload` is that of the replay and outlives the file.
  static Result<DecisionsFile> create(const std::filesystem::path& path, const Workload& workload);

  void take(std::span<const ReasonChange> changes) override;
  /// Renames the file into place. An error of writing is returned here.
  Result<void> commit() { return file_.commit(); }

 private:
  DecisionsFile(AtomicFile file, const Workload& workload) : file_(std::move(file)), workload_(&workload) {}

  /// Appends one change as a line.
  void append(const ReasonChange& change);

  AtomicFile file_;
  const Workload* workload_;
  std::string lines_;  ///< lines of the changes that are taken in
  SimTime time_{};     ///< time of the last line
  std::string begin_;  ///< beginning of all lines of that time; empty before the first
};

}  // namespace vtrain
