/// Best plans of models on each number of GPUs, searched for once, and the curves T(gpus) that follow from
/// them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
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
  BestPlan,  ///< the fastest that fits into memory
  /// Tensor, context and pipeline parallelism are those of the smallest number of GPUs on which any plan
  /// fits, the fastest plan there with a single replica; more GPUs are more replicas. Micro-batch and
  /// recomputation are the fastest that fit.
  DataParallel,
};

/// `best-plan`, `data-parallel`.
std::string_view name_of(CurveKind kind);
/// The kind of a name; the error lists the names.
Result<CurveKind> parse_curve_kind(std::string_view name);

/// The numbers of GPUs at which a curve has points: the powers of two below a node and the multiples of a
/// node, ascending, up to `largest`.
std::vector<GpuCount> curve_gpu_counts(GpuCount largest, std::int64_t gpus_per_node);

/// One model's curve at one global batch.
struct ThroughputCurve {
  /// Ascending by GPUs; each is faster than all before it, which leaves out GPUs that bring nothing.
  std::vector<RankedPlan> points{};

  /// Iterations a second, for schedulers.
  SpeedByGpus levels() const;
};

/// Rule and software stack of the plans in a cache.
struct CurveSettings {
  CurveKind kind = CurveKind::BestPlan;
  /// Names the content of the profile beyond its name: empty for an embedded one, for a file a hash of it.
  std::string profile_content{};
  Stack stack{};  ///< without a name: the default one of the GPU
};

/// The GPU as a gang sees it of which only `ranks_together` ranks in a row share a node: NVLink joins no
/// more, and each has the part of the node's network that it would have on a full node, the rest being
/// others'.
GpuProfile spread_over_nodes(GpuProfile profile, std::int64_t ranks_together);

/// Iteration times of models of the zoo, computed when first asked for and then kept: in memory, and between
/// runs in a store if there is one. Not safe to share between threads; every instance gives the same
/// answers, with a store and without.
class PlanCache {
 public:
  /// `store` may be null. What was computed is saved by `save` and on destruction, then without a word where
  /// that throws.
  explicit PlanCache(GpuProfile profile, CurveSettings settings = {}, CurveStore* store = nullptr);
  /// Saves what was computed since.
  ~PlanCache();
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;

  /// The plan of a model (`find_model`) on exactly this number of GPUs. `global_batch` 0 takes the published
  /// one. Errors: an unknown model, and those of `PlanSearch::find`.
  Result<RankedPlan> best_plan(const std::string& model, std::int64_t global_batch, GpuCount num_gpus);
  /// Its iteration time.
  Result<Nanoseconds> iteration_time(const std::string& model, std::int64_t global_batch, GpuCount num_gpus);
  /// How long an iteration takes when no more than `ranks_together` ranks in a row share a node, from 1 to
  /// the GPUs of a node (`spread_over_nodes`): with the same plan or, under `BestPlan`, with the fastest one
  /// there if that is faster; never less than with more ranks together. `iteration_time` where as many share
  /// a node as a node has, and where NVLink joins more GPUs than that. Errors: those of `best_plan`.
  Result<Nanoseconds> spread_iteration_time(const std::string& model, std::int64_t global_batch,
                                            GpuCount num_gpus, std::int64_t ranks_together);
  /// The curve over `curve_gpu_counts`. Errors: an unknown model; no plan on any of the counts.
  Result<ThroughputCurve> curve(const std::string& model, std::int64_t global_batch, GpuCount largest);

  /// Adds what was computed since to the store. A failure is the store's to report.
  void save();

  /// What the curves are of.
  const GpuProfile& profile() const { return profile_; }
  /// What they are made with; the stack is never without a name.
  const CurveSettings& settings() const { return settings_; }

 private:
  struct Known;

  Result<Known*> known(const std::string& model, std::int64_t global_batch);
  Result<RankedPlan> find_plan(Known& known, GpuCount num_gpus);
  /// The curves of gangs of which only so many ranks in a row share a node.
  PlanCache& spread(std::int64_t ranks_together);
  /// How long an iteration takes with a plan, also one that does not fit.
  Nanoseconds time_of(const std::string& model, std::int64_t global_batch, const ParallelPlan& plan);

  GpuProfile profile_;
  CurveSettings settings_;
  CurveStore* store_;
  std::map<std::pair<std::string, std::int64_t>, std::unique_ptr<Known>>
      known_;                                                  ///< by model and global batch
  std::map<std::int64_t, std::unique_ptr<PlanCache>> spread_;  ///< by ranks together
};

}  // namespace vtrain
