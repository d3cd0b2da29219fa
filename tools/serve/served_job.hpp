/// A job of the service, as it is now or was at its end.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.hpp"
#include "tools/serve/clock.hpp"
#include "tools/serve/job_inputs.hpp"

namespace vtrain::serve {

/// Conditions of a job.
enum class JobPhase { Waiting, Running, Completed, Failed, Cancelled, Refused };
/// `waiting`, `running`, `completed`, `failed`, `cancelled`, `refused`.
std::span<const std::string_view> job_phase_names();
std::string_view name_of(JobPhase phase);

/// The last report of a job's progress.
struct LastReport {
  double fraction = 0;  ///< part of the work that was done
  double part = 0;      ///< the simulation's part at that time, after it was corrected

  /// Progress by now, when the simulation has got to another part.
  double progress_at(double part_now) const {
    return part < 1 ? fraction + (1 - fraction) * (part_now - part) / (1 - part) : fraction;
  }
};

/// A job as it is now.
struct ServedJob {
  LoggedJob job{};
  UnixTime submitted = 0;
  JobPhase phase = JobPhase::Waiting;
  bool promised = false;       ///< its deadline was promised
  std::string reason{};        ///< why it was refused; empty: it was not
  std::int64_t held_gpus = 0;  ///< GPUs that it holds
  std::optional<UnixTime> started{};
  std::optional<UnixTime> ended{};
  double progress = 0;      ///< part of its work that is done
  LastReport report{};      ///< by which `progress` goes on
  std::string external{};   ///< its id in the cluster's scheduler; empty: not known
  bool is_foreign = false;  ///< it did not come through the service

  bool is_live() const { return phase == JobPhase::Waiting || phase == JobPhase::Running; }
  /// True if a promise was made and the job was done in time.
  bool kept_promise() const {
    return promised && phase == JobPhase::Completed && ended && *ended <= job.deadline_ns;
  }
};

/// A job as the state keeps it, without loss.
nlohmann::ordered_json to_kept_json(const ServedJob& job);
/// Reads a part of a document. Errors name the document.
Result<ServedJob> served_job_from(const JsonDocument& document, const nlohmann::json& object);

}  // namespace vtrain::serve
