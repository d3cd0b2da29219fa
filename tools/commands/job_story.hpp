/// The story of one job in a replay, as text for a terminal.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "sched/simulation/reasons.hpp"
#include "tools/experiment/scenario.hpp"

namespace vtrain {

/// Keeps the changes of reasons of the job that is watched.
class WatchedReasons final : public ReasonObserver {
 public:
  void take(std::span<const ReasonChange> changes) override {
    changes_.insert(changes_.end(), changes.begin(), changes.end());
  }
  /// Changes so far, in the order of time.
  const std::vector<ReasonChange>& changes() const { return changes_; }

 private:
  std::vector<ReasonChange> changes_;
};

/// The job with this id in the trace. Error: there is none; the message shows what ids look like.
Result<JobId> find_job(const Workload& workload, const std::string& name);

/// One job's life under a policy, a line for each wait and each gang: when, how long, and why. Ends with
/// totals: time waited by reason, time and GPUs held, and the deadline. A long life is cut in its middle.
std::string job_story(const Scenario& scenario, const RunResult& run, JobId job,
                      std::span<const ReasonChange> reasons);

}  // namespace vtrain
