/// Differences between the jobs of the service and those of the cluster's own scheduler.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "tools/live/live_state.hpp"
#include "tools/serve/clock.hpp"
#include "tools/serve/job_inputs.hpp"
#include "tools/serve/job_setting.hpp"
#include "tools/serve/served_job.hpp"

namespace vtrain::serve {

/// Kinds of differences.
enum class DriftKind {
  Unknown,         ///< a job that did not come through the service
  Gone,            ///< a job that is over, or that the scheduler no longer has
  StartedEarlier,  ///< a job that runs and was expected to wait
  StartedLater,    ///< a job that waits and was expected to run
  RunsLonger,      ///< a job that runs and was expected to be done
  OtherGpus,       ///< a job that runs on other GPUs than expected
  NodeState,       ///< a node that is in service, or out of it, unlike here
  Seen,            ///< no difference: a job is there as expected
};
/// `unknown`, `gone`, `started_earlier`, `started_later`, `runs_longer`, `other_gpus`, `node_state`, `seen`.
std::span<const std::string_view> drift_kind_names();

/// One job of the scheduler that differs, as it is there.
struct JobDrift {
  DriftKind kind = DriftKind::Unknown;
  std::int64_t id = 0;                                         ///< number in the service; 0: unknown to it
  std::string external{};                                      ///< id in the scheduler
  LoggedJob job{};                                             ///< the job, if it is unknown
  JobPhase phase = JobPhase::Waiting;                          ///< condition there
  UnixTime since = 0;                                          ///< start of a job that runs
  std::vector<std::pair<std::uint32_t, std::int64_t>> gang{};  ///< GPUs by number of the node, if known
  std::int64_t gpus = 0;                                       ///< GPUs that it holds
};

/// A node that differs.
struct NodeDrift {
  std::uint32_t number = 0;
  NodeState state = NodeState::Up;
};

/// All differences at one instant.
struct Drift {
  std::vector<JobDrift> jobs{};
  std::vector<NodeDrift> nodes{};
  std::vector<std::string> names{};  ///< the scheduler's names of all nodes; empty: as before, or not known

  bool empty() const { return jobs.empty() && nodes.empty() && names.empty(); }
  /// Differences by kind.
  std::map<DriftKind, std::int64_t> counts() const;
};

/// Compares. Jobs are known by their ids in the scheduler, by `job=ID` in a comment, or by a name and tenant
/// that only one live job has. A job that was never seen there is not missed: it may be on its way. Nodes are
/// known by `names`, or else take the cluster's places in their order where all numbers of GPUs fit.
Drift find_drift(const LiveState& state, std::span<const ServedJob> jobs, std::span<const ServedNode> nodes,
                 bool names_are_known, UnixTime now);

nlohmann::ordered_json to_json(const Drift& drift);
/// Reads a part of a document. Errors name the document.
Result<Drift> drift_from(const JsonDocument& document, const nlohmann::json& object);

}  // namespace vtrain::serve
