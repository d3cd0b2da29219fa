/// Kueue's feature gates and settings, as far as they change what its scheduler decides.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace vtrain::kueue {

/// Feature gates with their defaults at Kueue's commit ff69552 (2026-08-22).
struct Gates {
  bool priority_sorting_within_cohort = true;
  bool fair_sharing_preempt_within_nominal = true;
  bool fair_sharing_prioritize_non_borrowing = true;
  bool scheduling_equivalence_hashing = true;
  bool flavor_fungibility_preserve_scan_progress = true;
  bool recompute_assignment_upon_preemption_targets_overlap = true;
  bool partial_admission = true;
  bool reclaimable_pods = true;
  bool prioritize_preemptor_workloads = false;
};

/// A gate by Kueue's name.
struct GateName {
  std::string_view name;
  bool Gates::*member;
};

/// All gates that this scheduler knows.
inline constexpr std::array<GateName, 9> kGateNames = {
    {{"PrioritySortingWithinCohort", &Gates::priority_sorting_within_cohort},
     {"FairSharingPreemptWithinNominal", &Gates::fair_sharing_preempt_within_nominal},
     {"FairSharingPrioritizeNonBorrowing", &Gates::fair_sharing_prioritize_non_borrowing},
     {"SchedulingEquivalenceHashing", &Gates::scheduling_equivalence_hashing},
     {"FlavorFungibilityPreserveScanProgress", &Gates::flavor_fungibility_preserve_scan_progress},
     {"RecomputeAssignmentUponPreemptionTargetsOverlap",
      &Gates::recompute_assignment_upon_preemption_targets_overlap},
     {"PartialAdmission", &Gates::partial_admission},
     {"ReclaimablePods", &Gates::reclaimable_pods},
     {"PrioritizePreemptorWorkloads", &Gates::prioritize_preemptor_workloads}}};

/// When fair sharing lets a workload evict one of another ClusterQueue.
enum class FairStrategy : std::uint8_t { LessThanOrEqualToFinalShare, LessThanInitialShare };
/// Names of the strategies, by value.
inline constexpr std::array<std::string_view, 2> kFairStrategyNames = {"LessThanOrEqualToFinalShare",
                                                                       "LessThanInitialShare"};

/// What decides the queue time of a workload that was evicted because its pods were not ready in time.
enum class RequeuingTimestamp : std::uint8_t { Eviction, Creation };

/// The configuration of the scheduler.
struct Settings {
  Gates gates{};
  bool fair_sharing = false;
  std::vector<FairStrategy> strategies{FairStrategy::LessThanOrEqualToFinalShare,
                                       FairStrategy::LessThanInitialShare};
  RequeuingTimestamp requeuing_timestamp = RequeuingTimestamp::Eviction;
};

}  // namespace vtrain::kueue
