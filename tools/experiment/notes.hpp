/// Notes on a scenario: what is assumed, generated or extrapolated, what policies know of its jobs, what
/// placements ignore, which options have no effect.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "sched/cluster/cluster.hpp"
#include "sched/placement/placement.hpp"
#include "sched/tenants/tenant_tree.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

/// What a note is about.
enum class NoteKind : std::uint8_t {
  Trace,         ///< the trace, as its reader took it
  Cluster,       ///< the cluster, as its reader took it
  Generated,     ///< jobs that nobody recorded
  Changed,       ///< jobs that rules changed: models, run times, deadlines, estimates, tenants
  RunTimes,      ///< where run times come from
  Extrapolated,  ///< run times that rest on numbers beyond what was measured
  Speeds,        ///< speeds of jobs on other numbers, types and sites of GPUs
  Tenants,       ///< who shares the cluster, and what jobs ask for that no policy looks at
  Policies,      ///< what policies know and ignore
  Placement,     ///< what the placement ignores
  Disruptions,   ///< failures, checkpoints and what interruptions cost
};

/// `trace`, `cluster`, `generated`, `changed`, `run-times`, ...
std::string_view name_of(NoteKind kind);

/// One fact that decides how far results can be trusted.
struct Note {
  NoteKind kind = NoteKind::Trace;
  std::int64_t count = 0;  ///< jobs that it is about; 0 where it is about all, or about none
  std::string text;        ///< a sentence for the reader of the results
};

/// The texts alone.
std::vector<std::string> texts_of(std::span<const Note> notes);

class CurvesByType;
class GangSpeedModel;
class PredictedSpeeds;
struct PreparedPolicy;

/// Knowledge that policies have of run times, and deadlines, requested times, GPU types and recorded starts
/// that have no effect under some of them. `types_differ`: the speed of jobs depends on the type of GPUs.
/// Errors: a policy needs recorded starts, and no job has one.
Result<std::vector<Note>> policy_notes(const Workload& workload, const ClusterSpec& cluster,
                                       bool types_differ, std::span<const PreparedPolicy> policies);

/// Counts the deadlines that no schedule can meet which gives jobs the GPUs that they ask for; none if there
/// are none.
std::optional<Note> tight_deadlines(const Workload& workload);

/// Quotas of tenants, jobs of tenants, queues and QoS that the tree lacks, and requirements of
/// jobs that nothing heeds.
std::vector<Note> tenant_notes(const Workload& workload, const TenantTree& tree);

/// GPU types and shares that jobs ask for and that the cluster lacks or the placement ignores.
std::vector<Note> placement_notes(const Workload& workload, const ClusterSpec& cluster,
                                  PlacementKind placement);

/// Speeds of the jobs that `speeds` knows by the sites of their gangs, the policies that ignore sites, and
/// assumptions; none where sites make no difference. `curves` are those of the speeds.
std::vector<Note> gang_speed_notes(PredictedSpeeds& speeds, const CurvesByType& curves,
                                   const Workload& workload, const ClusterSpec& cluster,
                                   PlacementKind placement, std::span<const PreparedPolicy> policies);

/// The speed that spread gangs have under `--spread-factor`; `speeds` may be null.
std::string spread_factor_note(double factor, const Workload& workload, const GangSpeedModel* speeds);

/// Consequences of the order of the GPU types in the cluster for jobs that ask for none; empty where there is
/// one type, all jobs ask for theirs, or all policies choose types. `keeps_durations`: run times are not
/// predicted for the type that jobs get.
std::string order_of_types(const Workload& workload, const ClusterSpec& cluster, PlacementKind placement,
                           bool keeps_durations, std::span<const PreparedPolicy> policies);

}  // namespace vtrain
