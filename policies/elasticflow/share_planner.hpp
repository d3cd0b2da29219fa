/// Plans of the jobs that share the GPUs of one type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policies/elasticflow/marginal_scaling.hpp"
#include "policies/elasticflow/satisfactory_share.hpp"

namespace vtrain {

/// A live job, by the index of its `JobId`.
struct PlannerJob {
  std::uint32_t id = 0;
  SlottedJob* job = nullptr;
};

/// Plans jobs in the order of deadlines, each with its minimum satisfactory share of what the ones before
/// leave, and tests whether others can be admitted (Gu et al., "ElasticFlow", ASPLOS'23). In one decision
/// `plan_live` comes first, then tests, then `scale`.
class SharePlanner {
 public:
  /// Plans all live jobs, in the order of deadlines behind those that keep their plans. Equals keep their
  /// order.
  void plan_live(const FillContext& context, std::vector<PlannerJob> live);
  /// Plans newcomers in their places among the others, and all that come behind the first of them. False if
  /// somebody is late then; `always` takes that for admitted nevertheless. Nothing changes before `admit`.
  bool test(std::vector<PlannerJob> newcomers, bool always);
  /// GPU-seconds of all plans with the newcomers of the last test, which was passed, as a part of the GPUs.
  double tested_load() const;
  /// Makes the plans of the last test, which was passed, those of the live jobs.
  void admit();
  /// Makes the plans the jobs' and gives them the GPUs that are left over. Returns the indexes in `planned`,
  /// the next to grow first.
  std::span<const std::uint32_t> scale(SpareGpus greedy);
  /// The live jobs with their plans.
  std::span<const PlannedJob> planned() const { return std::span(jobs_).first(num_live_); }

 private:
  std::span<PlannedJob> planned() { return std::span(jobs_).first(num_live_); }
  /// Gives the job at a place of the order its plan of the last decision and plans all others anew behind it.
  /// Returns the place of the first one that is late then.
  std::size_t keep_plan(std::size_t late);
  /// Plans jobs one after the other on what is free and takes what they hold from it.
  /// Returns the place of the job at which it stopped, or their number.
  std::size_t plan(std::span<PlannedJob> jobs, GpuTimeline& free, bool stop_when_late);
  /// Gives back what jobs hold that were planned last.
  static void give_back(std::span<const PlannedJob> jobs, GpuTimeline& free);

  FillContext context_;
  ShareFill fill_;
  MarginalScaling scaling_;
  // Vectors of plans are longer than they need to be, for the memory of what they held.
  std::vector<PlannedJob> jobs_;  ///< the live ones, in the order of planning
  std::size_t num_live_ = 0;
  GpuTimeline free_;                   ///< what they leave
  std::size_t num_kept_ = 0;           ///< jobs that keep their plans, which come first
  std::vector<PlannedJob> last_jobs_;  ///< the plans of the last decision, by id
  std::size_t num_last_ = 0;           ///<   and how many these are
  WholeSeconds slots_from_ = 0;  ///< the last decision in which no job kept its plan: slots count from it
  std::vector<PlannedJob> trial_jobs_;  ///< those from `trial_begin_` on, with somebody to be admitted
  std::size_t num_trial_ = 0;
  std::size_t trial_begin_ = 0;
  GpuTimeline trial_free_;
};

}  // namespace vtrain
