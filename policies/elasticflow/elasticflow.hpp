/// ElasticFlow: admission by deadline, and GPUs to spare where they help.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/base/result.hpp"
#include "policies/elasticflow/marginal_scaling.hpp"
#include "policies/elasticflow/node_sets.hpp"
#include "policies/elasticflow/satisfactory_share.hpp"
#include "policies/elasticflow/slotted_policy.hpp"

namespace vtrain {

/// Who is tested at admission.
enum class AdmissionTest : std::uint8_t {
  Job,    ///< each job on its own, in the order of arrival
  Batch,  ///< all jobs of a slot together: they are admitted or turned away as one, as in the artifact
};

/// What a decision costs the jobs that run.
enum class DecisionOverhead : std::uint8_t {
  None,
  Table,  ///< seconds by gang and cluster size, less for a gang that stays where it is, as in the artifact
};

/// The parameters of `elasticflow`.
struct ElasticFlowOptions {
  AdmissionTest admission = AdmissionTest::Job;
  SpareGpus greedy = SpareGpus::Smallest;
  WholeSeconds slot = 60;
  DecisionOverhead overhead = DecisionOverhead::None;

  /// Whether jobs are admitted with plans that they can rely on.
  bool keeps_plans() const { return admission == AdmissionTest::Job && overhead == DecisionOverhead::None; }
};

/// `elasticflow` (Gu et al., "ElasticFlow: An Elastic Serverless Training Platform for Distributed Deep
/// Learning", ASPLOS'23): a job is admitted if it and all admitted jobs can meet their deadlines with their
/// minimum satisfactory shares; what is left over goes to the jobs one level at a time. Jobs without a
/// deadline are always admitted and take what is free. Plans are made anew at every decision, in the order of
/// deadlines.
///
/// No admitted job is late where gangs find room, decisions and resizing are free, and nothing fails. A new
/// plan may be late all the same: slots, which count from the decision, may no longer begin when GPUs come
/// free, and a job may get other GPUs than when it was admitted. Then the job keeps its plan of the last
/// decision and is planned before all others, and so on; at worst all keep theirs, which are in time
/// together. As long as one does, whole slots count as before. What is planned happens at its very second;
/// only arrivals wait for a slot after a decision.
///
/// With `admission=batch` no job keeps its plan and all waits for a slot after a decision, as in the
/// artifact: jobs may be late. So they may where overheads, failures or placements that refuse gangs come
/// between. Jobs that are late since nodes went out of service or had no room for them keep nobody out.
class ElasticFlow final : public SlottedPolicy {
 public:
  explicit ElasticFlow(const ElasticFlowOptions& options)
      : SlottedPolicy(options.slot, options.keeps_plans()), options_(options) {}

  /// The table of overheads counts time as the artifact does; `--interruption-cost` is for all the others.
  bool copes_with_disruptions() const override { return options_.overhead == DecisionOverhead::None; }

 private:
  void decide(SchedulingPass& pass, WholeSeconds now, std::vector<std::uint32_t> arrived) override;
  std::optional<WholeSeconds> next_change() const override { return next_change_; }

  /// Plans all live jobs, in the order of deadlines behind those that keep their plans.
  void plan_live();
  /// Gives the job at a place of the order its plan of the last decision and plans all others anew behind it.
  /// Returns the place of the first one that is late then.
  std::size_t keep_plan(std::size_t late);
  void admit(SchedulingPass& pass, const std::vector<std::uint32_t>& arrived);
  /// Plans the arrived jobs in their places among the others, and all that come behind the first of them.
  /// False, with nothing changed, if somebody is late then; `always` admits them nevertheless.
  bool try_admit(std::span<const std::uint32_t> arrived, bool always);
  /// Plans jobs one after the other on what is free and takes what they hold from it.
  /// Returns the place of the job at which it stopped, or their number.
  std::size_t plan(std::span<PlannedJob> jobs, GpuTimeline& free, bool stop_when_late);
  /// Gives back what jobs hold that were planned last.
  static void give_back(std::span<const PlannedJob> jobs, GpuTimeline& free);
  std::span<PlannedJob> planned() { return std::span(jobs_).first(live_.size()); }
  /// Charges every running job for the decision: its end moves, and so much of the time to come is lost.
  void charge_overhead(const SchedulingPass& pass);

  ElasticFlowOptions options_;
  FillContext context_;
  ShareFill fill_;
  MarginalScaling scaling_;
  // What the plans of one decision are made of; kept for its memory.
  std::vector<PlannedJob> jobs_;       ///< the live ones, in the order of planning
  GpuTimeline free_;                   ///< what they leave
  std::size_t num_kept_ = 0;           ///< jobs that keep their plans, which come first
  std::vector<PlannedJob> last_jobs_;  ///< the plans of the last decision, by id
  std::size_t num_last_ = 0;           ///<   and how many these are
  WholeSeconds slots_from_ = 0;  ///< the last decision in which no job kept its plan: slots count from it
  std::vector<PlannedJob> trial_jobs_;  ///< the same with somebody who wants to be admitted
  GpuTimeline trial_free_;
  std::optional<NodeSets> node_sets_;  ///< under `DecisionOverhead::Table`
  std::int64_t num_decisions_ = 0;
  std::optional<WholeSeconds> next_change_;
};

}  // namespace vtrain
