/// Flavor assignment: which flavors a workload would get, and what that needs.
///
/// Rules: Kueue, commit ff69552. Pod sets go in order; one flavor serves all resources of a group.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "policies/tenants/kueue/cache.hpp"

namespace vtrain::kueue {

/// What a flavor needs to serve a demand, worst first.
enum class FlavorMode : std::uint8_t {
  NoFit,         ///< not enough quota, and none can be reclaimed
  NoCandidates,  ///< preemption might help, but there is nobody to evict
  Preempt,       ///< room after evicting workloads of the same queue
  Reclaim,       ///< room after evicting workloads of other queues only
  Fit            ///< room now
};

/// Mode of a flavor, with the borrowing that it needs.
struct GranularMode {
  FlavorMode mode = FlavorMode::NoFit;
  std::int32_t borrowing_level = 0;
};

/// True if `a` is better than `b`.
bool is_preferred(const GranularMode& a, const GranularMode& b, FungibilityPreference preference);

/// What a workload needs to be admitted with its flavors.
enum class AssignmentMode : std::uint8_t { NoFit, Preempt, Fit };
/// Names of the modes, by value.
inline constexpr std::array<std::string_view, 3> kAssignmentModeNames = {"NoFit", "Preempt", "Fit"};

/// Answers what evicting workloads would do for one demand.
class PreemptionOracle {
 public:
  virtual ~PreemptionOracle() = default;
  /// The mode `NoCandidates`, `Preempt` or `Reclaim`, and the borrowing level once victims are gone.
  virtual GranularMode simulate(FlavorResource column, Amount demand) = 0;
};

/// A resource with its flavor.
struct ResourceAssignment {
  ResourceId resource = 0;
  FlavorId flavor = 0;
  AssignmentMode mode = AssignmentMode::Fit;
  std::int32_t borrowing_level = 0;
  std::int32_t last_tried_index = -1;
  Amount amount = 0;  ///< of the whole pod set
};

/// A pod set with its flavors; none if it does not fit.
struct PodSetAssignment {
  std::int64_t count = 0;
  std::vector<ResourceAssignment> resources{};
};

/// Flavors of a workload. Pod sets behind the first that does not fit are left out.
struct Assignment {
  AssignmentMode mode = AssignmentMode::NoFit;
  std::int32_t borrowing_level = 0;
  std::vector<PodSetAssignment> pod_sets{};
  Usage usage{};
  PendingReason no_fit_reason = PendingReason::None;

  /// True if flavors are left that the search has not tried.
  bool has_more_flavors() const;
  /// Columns in mode Preempt, each once.
  std::vector<FlavorResource> columns_to_preempt(const Cache& cache) const;
  /// What the assignment gives, to be recorded.
  std::vector<GivenPodSet> given() const;
};

/// A question to the assigner.
struct AssignmentRequest {
  WorkloadId workload = 0;
  QueueId queue = 0;
  /// Pods by pod set; empty: all that are not done.
  std::vector<std::int64_t> counts{};
  /// Where the search goes on; null: at the first flavors.
  const TriedFlavors* tried = nullptr;
  /// Assignment whose flavors are the only ones to try; null: all.
  const Assignment* nominated = nullptr;
};

/// Assigns flavors against the usage as it is.
Assignment assign_flavors(const Cache& cache, const AssignmentRequest& request, PreemptionOracle& oracle);

/// True if a record of tried flavors still counts.
struct ProgressCheck {
  std::int64_t cycle = 0;
  std::uint64_t generation = 0;
  std::optional<std::uint64_t> shape{};  ///< none: not known
};
bool is_progress_kept(const ProgressCheck& record, const ProgressCheck& now, const Gates& gates);

}  // namespace vtrain::kueue
