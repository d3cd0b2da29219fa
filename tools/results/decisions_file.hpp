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

/// Appends one change of a reason as a line of JSON, as `docs/reasons.md` describes it.
void append_reason_line(std::string& out, const Workload& workload, const ReasonChange& change);

/// Writes changes of reasons as they come, to a file that appears under its name when it is complete.
class DecisionsFile final : public ReasonObserver {
 public:
  /// Creates the file. `workload` is that of the replay and outlives the file.
  static Result<DecisionsFile> create(const std::filesystem::path& path, const Workload& workload);

  void take(std::span<const ReasonChange> changes) override;
  /// Renames the file into place. An error of writing is returned here.
  Result<void> commit() { return file_.commit(); }

 private:
  DecisionsFile(AtomicFile file, const Workload& workload) : file_(std::move(file)), workload_(&workload) {}

  AtomicFile file_;
  const Workload* workload_;
  std::string lines_;  ///< lines of the changes that are taken in
};

}  // namespace vtrain
