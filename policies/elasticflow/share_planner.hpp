/// Plans of the jobs that share the GPUs of one type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "policies/elasticflow/marginal_scaling.hpp"
#include "policies/elasticflow/satisfactory_share.hpp"

namespace vtrain {

/// A live job, by the index of its `JobId`.
struct PlannerJob {
  std::uint32_t id = 0;
  SlottedJob* job = nullptr;
};

/// Plans jobs in the order of deadlines, each with its minimum satisfactory share of the GPUs that earlier
/// ones leave. Tests if others can be admitted (Gu et al., "ElasticFlow", ASPLOS'23). In one decision
/// `plan_live` comes first, then tests, then `scale`.
class SharePlanner {
 public:
  /// Plans of the last decision, and the time from which its slots count.
  struct Plans {
    std::vector<std::pair<std::uint32_t, SharePlan>> jobs{};  ///< by id
    WholeSeconds slots_from = 0;
  };
  /// Copies the plans of the last decision.
  Plans plans() const;
  /// Takes over the plans of another planner's last decision. `job_of` gives each id its job.
  void take_over(const Plans& plans, const std::function<PlannerJob(std::uint32_t)>& job_of);

  /// Plans all live jobs in the order of deadlines, after those that keep their plans. Equal ones keep their
  /// order.
  void plan_live(const FillContext& context, std::vector<PlannerJob> live);
  /// Plans new jobs in their places among the others, and all jobs after the first of them. False if some job
  /// is late then; `always` ignores that. Nothing changes before `admit`.
  bool test(std::vector<PlannerJob> newcomers, bool always);
  /// GPU-seconds of all plans with the new jobs of the last, successful test, divided by the GPUs.
  double tested_load() const;
  /// Makes the plans of the last, successful test those of the live jobs.
  void admit();
  /// Copies the plans to the jobs and gives them the spare GPUs. Returns the indexes in `planned`, the next
  /// to grow first.
  std::span<const std::uint32_t> scale(SpareGpus greedy);
  /// The live jobs with their plans.
  std::span<const PlannedJob> planned() const { return std::span(jobs_).first(num_live_); }

 private:
  std::span<PlannedJob> planned() { return std::span(jobs_).first(num_live_); }
  /// Gives the job at a place of the order its plan of the last decision, and plans all others again after
  /// it. Returns the place of the first one that is late then. A job without such a plan stays late.
  std::size_t keep_plan(std::size_t late);
  /// True if a job cannot be in time on any number of GPUs, where such jobs are planned last.
  bool is_hopeless(const SlottedJob& job) const;
  /// Plans jobs one after another on the free GPUs and subtracts the GPUs that they hold. Returns the place
  /// of the job at which it stopped, or their number.
  std::size_t plan(std::span<PlannedJob> jobs, GpuTimeline& free, bool stop_when_late);
  /// Returns the GPUs of jobs that were planned last.
  static void give_back(std::span<const PlannedJob> jobs, GpuTimeline& free);

  FillContext context_;
  ShareFill fill_;
  MarginalScaling scaling_;
  // Vectors of plans may be longer than their count of jobs, to reuse the memory of former elements.
  std::vector<PlannedJob> jobs_;  ///< live jobs in the order of planning
  std::size_t num_live_ = 0;
  GpuTimeline free_;                    ///< GPUs that these jobs leave
  std::size_t num_hopeless_ = 0;        ///< number of jobs that come last
  std::size_t num_kept_ = 0;            ///< number of jobs that keep their plans; these come first
  std::vector<PlannedJob> last_jobs_;   ///< plans of the last decision, by id
  std::size_t num_last_ = 0;            ///<   number of these plans
  WholeSeconds slots_from_ = 0;         ///< last decision in which no job kept its plan: slots count from it
  std::vector<PlannedJob> trial_jobs_;  ///< jobs from `trial_begin_` on, including those to be admitted
  std::size_t num_trial_ = 0;
  std::size_t trial_begin_ = 0;
  GpuTimeline trial_free_;
};

}  // namespace vtrain
