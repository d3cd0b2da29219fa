/// Notes on a scenario: assumed, generated or extrapolated values, the knowledge of policies, requests that
/// placements ignore, options without effect.
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

/// Subject of a note.
enum class NoteKind : std::uint8_t {
  Trace,         ///< the trace, as its reader understood it
  Cluster,       ///< the cluster, as its reader understood it
  Generated,     ///< jobs that nobody recorded
  Changed,       ///< jobs that rules changed: models, run times, deadlines, estimates, tenants
  RunTimes,      ///< sources of run times
  Extrapolated,  ///< run times extrapolated beyond measurements
  Speeds,        ///< speeds of jobs on other numbers, types and sites of GPUs
  Tenants,       ///< tenants of the cluster, and requests of jobs that no policy reads
  Policies,      ///< information that policies know or ignore
  Placement,     ///< requests that the placement ignores
  Disruptions,   ///< failures, checkpoints and costs of interruptions
};

/// `trace`, `cluster`, `generated`, `changed`, `run-times`, ...
std::string_view name_of(NoteKind kind);

/// One fact that decides how far results can be trusted.
struct Note {
  NoteKind kind = NoteKind::Trace;  ///< subject of the note
  std::int64_t count = 0;           ///< number of jobs that it is about; 0 for all, or for none
  std::string text;                 ///< a sentence for the reader of the results
};

/// The texts alone.
std::vector<std::string> texts_of(std::span<const Note> notes);

class CurvesByType;
class GangSpeedModel;
class PredictedSpeeds;
struct PreparedPolicy;

/// Knowledge that policies have of run times, and deadlines, requested times, GPU types and recorded starts
/// that have no effect under some of them. `types_differ`: the speed of jobs depends on the type of GPUs.
/// `times_differ`: true run times are not the predicted ones. Errors: a policy needs recorded starts, and no
/// job has one.
Result<std::vector<Note>> policy_notes(const Workload& workload, const ClusterSpec& cluster,
                                       bool types_differ, bool times_differ,
                                       std::span<const PreparedPolicy> policies);

/// Note on deadlines that no schedule can meet with the GPUs that jobs request; none without such deadlines.
std::optional<Note> tight_deadlines(const Workload& workload);

/// Quotas of tenants, jobs of tenants, queues and QoS that the tree lacks, and requirements of jobs that
/// nothing reads.
std::vector<Note> tenant_notes(const Workload& workload, const TenantTree& tree,
                               std::span<const PreparedPolicy> policies);

/// GPU types and shares that jobs ask for and that the cluster lacks or the placement ignores.
std::vector<Note> placement_notes(const Workload& workload, const ClusterSpec& cluster,
                                  PlacementKind placement);

/// Speeds of the jobs that `speeds` knows by the sites of their gangs, the policies that ignore sites, and
/// assumptions; none if sites make no difference. `curves` belong to `speeds`.
std::vector<Note> gang_speed_notes(PredictedSpeeds& speeds, const CurvesByType& curves,
                                   const Workload& workload, const ClusterSpec& cluster,
                                   PlacementKind placement, std::span<const PreparedPolicy> policies);

struct ScenarioParts;

/// Errors of run times, jobs without one, and policies under which jobs run as predicted. `rule` is the value
/// of `--prediction-error`.
std::vector<Note> run_time_error_notes(const std::string& rule, const ScenarioParts& parts);

/// Speed of spread gangs under `--spread-factor`; `speeds` may be null.
std::string spread_factor_note(double factor, const Workload& workload, const GangSpeedModel* speeds);

/// Consequences of the order of the GPU types in the cluster for jobs that ask for none; empty where there is
/// one type, all jobs ask for theirs, or all policies choose types. `keeps_durations`: run times are not
/// predicted for the type that jobs get.
std::string order_of_types(const Workload& workload, const ClusterSpec& cluster, PlacementKind placement,
                           bool keeps_durations, std::span<const PreparedPolicy> policies);

}  // namespace vtrain
