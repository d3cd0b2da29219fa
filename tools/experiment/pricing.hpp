/// Run times of jobs from the predictor, on the GPUs of a cluster.
#pragma once

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
/// the program: `$XDG_CACHE_HOME/vtrain/curves`, or `~/.cache/vtrain/curves`. A relative XDG_CACHE_HOME does
/// not count (XDG Base Directory Specification).
class ClusterPricing {
 public:
  /// With a named profile all GPUs are like it. Without one each type has the profile of its name, if there
  /// is one, and `a100` otherwise; in either case in the largest nodes that it has in the cluster
  /// (`NodeShape`). Errors: an unknown profile or kind, a profile that cannot be read. Adds to `warnings`
  /// where the named profile is not that of the cluster's GPUs.
  static Result<ClusterPricing> open(const PricingArguments& arguments,
                                     const std::optional<ClusterSpec>& cluster,
                                     std::vector<std::string>& warnings);
  ClusterPricing(ClusterPricing&&) noexcept;
  ~ClusterPricing();

  /// Those of the first type.
  PlanCache& curves() { return *by_type_.front(); }
  /// Those of each type, and which of them the jobs of a workload may use. `cluster` is the one that they
  /// were opened for.
  CurvesByType on(const ClusterSpec& cluster, const Workload& workload);
  /// Whether jobs may hold other numbers of GPUs than they ask for: all but `--curves none`.
  bool elastic() const { return elastic_; }
  /// `the best plan` or `replicas of the smallest plan that fits`.
  std::string plans() const;
  /// `profile a100, stack megatron-2021; profile h100, stack megatron-2021, calibrated with published`.
  std::string made_with() const;
  /// Whether types of GPUs have different software stacks, as they do by default where some know 8 bits.
  bool stacks_differ() const;
  /// Where run times come from: `iterations x the iteration time of the best plan, profile a100, ...`.
  std::string describe() const;
  /// Says how many records of the cache were damaged, if any, among those looked up so far.
  std::vector<std::string> cache_warnings() const;
  /// The files that it was made from, each with what it is.
  const std::vector<std::pair<std::string, std::string>>& files() const { return files_; }
  /// What had to be assumed about profiles, one sentence each.
  const std::vector<std::string>& assumptions() const { return assumptions_; }
  /// The complaint about the first type of GPUs without a profile, with the nearest names; empty for none.
  const std::string& missing_profile() const { return missing_profile_; }

 private:
  ClusterPricing();
  /// Adds the next type, of the target with these names. Adds to `warnings` as `open` does.
  Result<void> add_type(const TargetNames& names, CurveSettings settings, std::vector<std::string>& warnings);

  std::unique_ptr<CurveCache> cache_;               ///< none: nothing is kept
  std::vector<std::unique_ptr<PlanCache>> curves_;  ///< by profile; saved to the cache when they go
  std::vector<PlanCache*> by_type_;                 ///< without a cluster one
  std::string calibration_;                         ///< as given, empty for none
  std::vector<std::pair<std::string, std::string>> files_;
  bool elastic_ = true;
  std::vector<std::string> assumptions_;
  std::string missing_profile_;
};

/// Gives the jobs curves (`make_elastic`), unless `--curves none`. Returns sentences that say which jobs are
/// elastic, also by curves that came with their trace, and what was assumed.
Result<std::vector<std::string>> add_curves(Workload& workload, const ClusterSpec& cluster,
                                            ClusterPricing& curves, bool strict);

}  // namespace vtrain
