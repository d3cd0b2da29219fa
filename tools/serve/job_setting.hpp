/// Cluster and rules by which the service decides on jobs, with all that follows from them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "sched/disruption/disruptions.hpp"
#include "sched/placement/placement.hpp"
#include "tools/experiment/admission.hpp"
#include "tools/experiment/arguments.hpp"
#include "tools/experiment/pricing.hpp"
#include "tools/serve/job_inputs.hpp"
#include "workloads/pricing/predicted_speeds.hpp"

namespace vtrain::serve {

/// A node with its service.
struct ServedNode {
  std::string name{};
  std::string gpu_type{};
  std::int64_t gpus = 0;
  NodeState state = NodeState::Up;
};

/// An admission with the speeds that it refers to.
struct SpeedyAdmission {
  std::unique_ptr<PredictedSpeeds> speeds{};
  std::optional<Admission> admission{};
};

/// A setup that has been read. It does not change, so threads may share it.
class JobSetting {
 public:
  /// Errors name options: those of cluster, policy and predictor; a policy that promises nothing, or
  /// that does not decide at once.
  static Result<std::shared_ptr<const JobSetting>> read(JobsSetup setup, const PricingArguments& pricing);

  const JobsSetup& setup() const { return setup_; }
  const ClusterSpec& cluster() const { return cluster_; }
  PlacementKind placement() const { return placement_; }
  /// Predictor of the cluster's jobs; threads may share it.
  const std::shared_ptr<ClusterPricing>& pricing() const { return pricing_; }
  /// All nodes, by number, in service.
  const std::vector<ServedNode>& nodes() const { return nodes_; }
  /// Jobs: none, with all names that later jobs may have: models of the predictor and types of the cluster.
  Workload no_jobs() const;
  /// A new policy.
  Result<std::unique_ptr<Policy>> make_policy() const;
  /// A simulation that goes on from a state. This setting outlives it.
  Result<SpeedyAdmission> begin(ClusterToday today) const;

 private:
  JobsSetup setup_{};
  ClusterSpec cluster_{};
  PlacementKind placement_ = PlacementKind::Consolidate;
  std::shared_ptr<ClusterPricing> pricing_{};
  std::optional<Disruptions> disruptions_{};
  std::vector<ServedNode> nodes_{};
};

}  // namespace vtrain::serve
