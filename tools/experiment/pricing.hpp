/// Run times of jobs from the predictor, on the GPUs of a cluster.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "sched/cluster/cluster.hpp"
#include "tools/experiment/arguments.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

class CurveCache;
class CurvesByType;
class PlanCache;
struct CurveSettings;
struct TargetNames;

/// The throughput curves of each type of a cluster's GPUs, with the folder that keeps them between runs of
/// the program: `$XDG_CACHE_HOME/vtrain/curves`, or `~/.cache/vtrain/curves`. A relative XDG_CACHE_HOME is
/// ignored (XDG Base Directory Specification).
class ClusterPricing {
 public:
  /// A named profile applies to all GPUs. Without one, each type uses the profile of its name if there is
  /// one, and else `a100`. Each type is taken in its largest nodes in the cluster (`NodeShape`). Errors: an
  /// unknown profile or kind; an unreadable profile. Warns if the named profile differs from the cluster's
  /// GPUs.
  static Result<ClusterPricing> open(const PricingArguments& arguments,
                                     const std::optional<ClusterSpec>& cluster,
                                     std::vector<std::string>& warnings);
  ClusterPricing(ClusterPricing&&) noexcept;
  ~ClusterPricing();

  /// Curves of the first type.
  PlanCache& curves() { return *by_type_.front(); }
  /// Curves of each type, and the types that the jobs of a workload may use. `cluster` is the cluster passed
  /// to `open`.
  CurvesByType on(const ClusterSpec& cluster, const Workload& workload);
  /// True if jobs may hold other numbers of GPUs than they request: all kinds but `--curves none`.
  bool elastic() const { return elastic_; }
  /// `the best plan` or `replicas of the smallest plan that fits`.
  std::string plans() const;
  /// `profile a100, stack megatron-2021; profile h100, stack megatron-2021, calibrated with published`.
  std::string made_with() const;
  /// Intervals of predicted run times, a sentence for each profile and kind of model in the workload.
  std::vector<std::string> intervals(const Workload& workload) const;
  /// True if types of GPUs have different software stacks. By default they do if only some types support 8
  /// bits.
  bool stacks_differ() const;
  /// Sources of run times: `iterations x the iteration time of the best plan, profile a100, ...`.
  std::string describe() const;
  /// Warning with the number of damaged cache records among those read so far; empty without any.
  std::vector<std::string> cache_warnings() const;
  /// The input files, each with its description.
  const std::vector<std::pair<std::string, std::string>>& files() const { return files_; }
  /// Assumptions about profiles, one sentence each.
  const std::vector<std::string>& assumptions() const { return assumptions_; }
  /// Message about the first type of GPUs without a profile, with the nearest names; empty for none.
  const std::string& missing_profile() const { return missing_profile_; }

 private:
  ClusterPricing();
  /// Adds the next type, with the target of these names. Warns as `open` does.
  Result<void> add_type(const TargetNames& names, CurveSettings settings, std::vector<std::string>& warnings);

  std::unique_ptr<CurveCache> cache_;  ///< null: nothing is kept
  std::vector<std::unique_ptr<PlanCache>>
      curves_;                       ///< one for each profile; saved to the cache on destruction
  std::vector<PlanCache*> by_type_;  ///< one for each type of GPUs; a single one without a cluster
  std::string calibration_;          ///< file as given; empty for none
  std::vector<std::pair<std::string, std::string>> files_;
  bool elastic_ = true;
  std::vector<std::string> assumptions_;
  std::string missing_profile_;
};

/// A pricing that returns to its pool.
using PricingHandle = std::unique_ptr<ClusterPricing, std::function<void(ClusterPricing*)>>;

/// Pricings that scenarios use one after the other, so that each iteration time is predicted once for each
/// scenario of a time. Results do not depend on it. Threads may share it.
class PricingPool {
 public:
  PricingPool();

  /// An idle pricing of these arguments and of a cluster with the same nodes, or a new one
  /// (`ClusterPricing::open`). Only a new one warns. A handle may outlive the pool.
  Result<PricingHandle> take(const PricingArguments& arguments, const std::optional<ClusterSpec>& cluster,
                             std::vector<std::string>& warnings);

 private:
  struct Idle;

  std::shared_ptr<Idle> idle_;
};

/// Gives the jobs curves (`make_elastic`), unless `--curves none`. Returns sentences on elastic jobs,
/// including those with curves from their trace, and on assumptions.
Result<std::vector<std::string>> add_curves(Workload& workload, const ClusterSpec& cluster,
                                            ClusterPricing& curves, bool strict);

}  // namespace vtrain
