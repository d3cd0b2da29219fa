/// ElasticFlow: admission by deadline, and GPUs to spare where they help.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/base/result.hpp"
#include "policies/elasticflow/node_sets.hpp"
#include "policies/elasticflow/share_planner.hpp"
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
///
/// On a cluster of several GPU types a job is planned on one type from admission to its end, with T(gpus,
/// type), and each type has its own plans. Of the types that the job may use, and on which it and all that
/// are there can be in time, it gets the one that is then the least loaded: the GPU-seconds of all plans
/// there, its own among them, over the GPUs of the type. The first of equals goes first. So a gang has GPUs
/// of one type. Where gangs may have several and no job asks for one, all GPUs count as equal. With
/// `admission=batch` or `overhead=table`, which repeat the artifact, all GPUs count as equal.
class ElasticFlow final : public SlottedPolicy {
 public:
  explicit ElasticFlow(const ElasticFlowOptions& options)
      : SlottedPolicy(options.slot, options.keeps_plans()), options_(options) {}

  /// The table of overheads counts time as the artifact does; `--interruption-cost` is for all the others.
  bool copes_with_disruptions() const override { return options_.overhead == DecisionOverhead::None; }

  bool chooses_types() const override { return options_.keeps_plans(); }

 private:
  void decide(SchedulingPass& pass, WholeSeconds now, std::vector<std::uint32_t> arrived) override;
  std::optional<WholeSeconds> next_change() const override { return next_change_; }

  /// Plans all live jobs, on GPUs of the types that they have.
  void plan_live(const SchedulingPass& pass, WholeSeconds now);
  void admit(SchedulingPass& pass, const std::vector<std::uint32_t>& arrived);
  /// Admits jobs if nobody is late then; `always` admits them nevertheless.
  bool try_admit(const std::vector<std::uint32_t>& arrived, bool always);
  /// Admits one job to one of several types if nobody is late then.
  bool try_admit_on_types(const SchedulingPass& pass, std::uint32_t id);
  /// Gives the GPUs that are left over and puts `live_` into the order in which gangs are placed.
  void scale(WholeSeconds now);
  /// Charges every running job for the decision: its end moves, and so much of the time to come is lost.
  void charge_overhead(const SchedulingPass& pass);

  ElasticFlowOptions options_;
  std::vector<SharePlanner> planners_;  ///< by type; one where all GPUs are alike
  std::optional<NodeSets> node_sets_;   ///< under `DecisionOverhead::Table`
  std::int64_t num_decisions_ = 0;
  std::optional<WholeSeconds> next_change_;
};

}  // namespace vtrain
