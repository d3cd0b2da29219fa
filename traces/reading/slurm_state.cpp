#include "traces/reading/slurm_state.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/strings.hpp"

namespace vtrain {

JobStatus slurm_job_status(std::string_view state) {
  constexpr std::array<std::pair<std::string_view, JobStatus>, 18> kStates = {{
      {"COMPLETED", JobStatus::Completed},
      {"CANCELLED", JobStatus::Cancelled},
      {"FAILED", JobStatus::Failed},
      {"TIMEOUT", JobStatus::TimedOut},
      {"DEADLINE", JobStatus::TimedOut},
      {"NODE_FAIL", JobStatus::Failed},
      {"OUT_OF_MEMORY", JobStatus::Failed},
      {"BOOT_FAIL", JobStatus::Failed},
      {"LAUNCH_FAILED", JobStatus::Failed},
      {"PREEMPTED", JobStatus::Failed},
      {"REVOKED", JobStatus::Cancelled},
      {"PENDING", JobStatus::Running},
      {"RUNNING", JobStatus::Running},
      {"SUSPENDED", JobStatus::Running},
      {"REQUEUED", JobStatus::Running},
      {"RESIZING", JobStatus::Running},
      {"COMPLETING", JobStatus::Running},
      {"STOPPED", JobStatus::Running},
  }};
  const std::string_view trimmed = trim(state);
  const std::string_view word = trimmed.substr(0, trimmed.find(' '));
  const auto found =
      std::find_if(kStates.begin(), kStates.end(), [word](const auto& entry) { return entry.first == word; });
  return found == kStates.end() ? JobStatus::Unknown : found->second;
}

}  // namespace vtrain
