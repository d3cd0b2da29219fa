/// Best plans of models on each number of GPUs, each searched for once, and their curves T(gpus).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "core/profile/gpu_profile.hpp"
#include "workloads/jobs/speed_by_gpus.hpp"
#include "workloads/search/ranked_plan.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {

class CurveStore;

/// Rule that picks the plan of a job on a number of GPUs.
enum class CurveKind : std::uint8_t {
  BestPlan,  ///< fastest plan that fits into memory
  /// Tensor, context and pipeline parallelism are those of the fastest plan with a single replica on the
  /// smallest number of GPUs on which any plan fits. More GPUs are more replicas. Micro-batch and
  /// recomputation are the fastest that fit.
  DataParallel,
};

/// `best-plan`, `data-parallel`.
std::string_view name_of(CurveKind kind);
/// Looks up a kind by name; the error lists the names.
Result<CurveKind> parse_curve_kind(std::string_view name);

/// The numbers of GPUs at which a curve has points: the powers of two below a node and the multiples of a
/// node, ascending, up to `largest`.
std::vector<GpuCount> curve_gpu_counts(GpuCount largest, std::int64_t gpus_per_node);

/// One model's curve at one global batch.
struct ThroughputCurve {
  /// Points ascending by GPUs. Each is faster than all before it: numbers of GPUs without a gain are left
  /// out.
  std::vector<RankedPlan> points{};

  /// Iterations a second, for schedulers.
  SpeedByGpus levels() const;
};

/// Rule and software stack of the plans in a cache.
struct CurveSettings {
  CurveKind kind = CurveKind::BestPlan;
  /// Identifies the content of the profile in addition to its name: a hash of its file, empty for an embedded
  /// one.
  std::string profile_content{};
  Stack stack{};  ///< software stack; without a name: the default one of the GPU
};

/// Profile for a gang with only `ranks_together` consecutive ranks on a node. NVLink joins only these. Each
/// rank has the part of the node's network that it would have on a full node; others use the rest.
GpuProfile spread_over_nodes(GpuProfile profile, std::int64_t ranks_together);

/// Iteration times of models of the zoo, computed on first use and then kept in memory, and between runs in
/// an optional store. Threads may share it; they wait while another one searches. Every instance gives the
/// same answers, with or without a store.
class PlanCache {
 public:
  /// `store` may be null. `save` and the destructor save new results; the destructor ignores exceptions.
  explicit PlanCache(GpuProfile profile, CurveSettings settings = {}, CurveStore* store = nullptr);
  /// Saves results since the last save.
  ~PlanCache();
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;

  /// Best plan of a model (`find_model`) on exactly this number of GPUs. `global_batch` 0 takes the published
  /// one. Errors: an unknown model, and those of `PlanSearch::find`.
  Result<RankedPlan> best_plan(const std::string& model, std::int64_t global_batch, GpuCount num_gpus);
  /// Iteration time of the best plan.
  Result<Nanoseconds> iteration_time(const std::string& model, std::int64_t global_batch, GpuCount num_gpus);
  /// Iteration time when at most `ranks_together` consecutive ranks share a node, from 1 to the GPUs of a
  /// node (`spread_over_nodes`). It uses the packed gang's plan or, under `BestPlan`, the fastest plan on the
  /// spread gang if that is faster. It is never less than with more ranks together. Equal to `iteration_time`
  /// for full nodes, and if NVLink joins more GPUs than a node has. Errors: those of `best_plan`.
  Result<Nanoseconds> spread_iteration_time(const std::string& model, std::int64_t global_batch,
                                            GpuCount num_gpus, std::int64_t ranks_together);
  /// The curve over `curve_gpu_counts`. Errors: an unknown model; no plan on any of the counts.
  Result<ThroughputCurve> curve(const std::string& model, std::int64_t global_batch, GpuCount largest);

  /// Adds new results to the store, which reports failures.
  void save();

  /// GPU of the curves.
  const GpuProfile& profile() const { return profile_; }
  /// Settings of the curves; the stack always has a name.
  const CurveSettings& settings() const { return settings_; }

 private:
  struct Known;

  Result<Known*> known(const std::string& model, std::int64_t global_batch);
  Result<RankedPlan> find_plan(Known& known, GpuCount num_gpus);
  /// The curves of gangs with only `ranks_together` consecutive ranks on a node.
  PlanCache& spread(std::int64_t ranks_together);
  /// Iteration time of a plan, even if it does not fit into memory.
  Nanoseconds time_of(const std::string& model, std::int64_t global_batch, const ParallelPlan& plan);

  GpuProfile profile_;
  CurveSettings settings_;
  CurveStore* store_;
  std::recursive_mutex mutex_;  ///< guards all below, in each public function
  std::map<std::pair<std::string, std::int64_t>, std::unique_ptr<Known>>
      known_;                                                  ///< plans by model and global batch
  std::map<std::int64_t, std::unique_ptr<PlanCache>> spread_;  ///< caches by ranks together
};

}  // namespace vtrain
