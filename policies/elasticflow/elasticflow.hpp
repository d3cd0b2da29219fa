/// ElasticFlow: admission by deadline, and spare GPUs for the jobs that use them best.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/base/result.hpp"
#include "policies/elasticflow/node_sets.hpp"
#include "policies/elasticflow/share_planner.hpp"
#include "policies/elasticflow/slotted_policy.hpp"

namespace vtrain {

/// Jobs that are tested together at admission.
enum class AdmissionTest : std::uint8_t {
  Job,    ///< each job alone, in the order of arrival
  Batch,  ///< all jobs of a slot: they are admitted or rejected together, as in the artifact
};

/// Cost of a decision for the jobs that run.
enum class DecisionOverhead : std::uint8_t {
  None,
  Table,  ///< seconds by gang and cluster size, fewer for a gang that keeps its place, as in the artifact
};

/// The parameters of `elasticflow`.
struct ElasticFlowOptions {
  AdmissionTest admission = AdmissionTest::Job;
  SpareGpus greedy = SpareGpus::Smallest;
  WholeSeconds slot = 60;
  DecisionOverhead overhead = DecisionOverhead::None;

  /// True if jobs are admitted with plans that they can rely on.
  bool keeps_plans() const { return admission == AdmissionTest::Job && overhead == DecisionOverhead::None; }
};

/// `elasticflow` (Gu et al., "ElasticFlow: An Elastic Serverless Training Platform for Distributed Deep
/// Learning", ASPLOS'23). A job is admitted if it and all admitted jobs can meet their deadlines with their
/// minimum satisfactory shares. Spare GPUs go to the jobs one level at a time. Jobs without a deadline are
/// always admitted and take free GPUs. Every decision makes new plans, in the order of deadlines.
///
/// No admitted job is late if gangs find room, decisions and resizing are free, and nothing fails. Still, a
/// new plan may be late. Its slots count from the decision, so they may no longer begin when GPUs become
/// free. Also, a job may get other GPUs than at its admission. Then the job keeps its plan of the last
/// decision and is planned before all others, and so on. At worst all jobs keep theirs, which are in time
/// together. While one does, whole slots count as before. Planned events happen at their exact second; only
/// arrivals wait for a slot after a decision.
///
/// With `admission=batch` no job keeps its plan and all events wait for a slot after a decision, as in the
/// artifact: jobs may be late. They may also be late because of overheads, failures or placements that refuse
/// gangs. Jobs that became late because nodes went out of service or had no room do not block admission.
///
/// On a cluster of several GPU types a job is planned on one type from admission to its end, with T(gpus,
/// type). Each type has its own plans. A type is possible if the job may use it and if it and all jobs there
/// can be in time. Of the possible ones the job gets the least loaded, the first if equal. The load is the
/// GPU-seconds of all plans there, including its own, over the GPUs of the type. So a gang has GPUs of one
/// type. All GPUs count as equal if gangs may have several types and no job requests one, and with
/// `admission=batch` or `overhead=table`, which repeat the artifact.
class ElasticFlow final : public SlottedPolicy {
 public:
  explicit ElasticFlow(const ElasticFlowOptions& options)
      : SlottedPolicy(options.slot, options.keeps_plans()), options_(options) {}

  /// The table of overheads counts time as the artifact does; `--interruption-cost` is for the other
  /// settings.
  bool supports_disruptions() const override { return options_.overhead == DecisionOverhead::None; }

  bool chooses_types() const override { return options_.keeps_plans(); }

  void begin(const SchedulingPass& view) override;
  bool can_begin_with_jobs() const override { return options_.keeps_plans(); }
  std::shared_ptr<const PolicyMemory> memory(const SchedulingPass& view,
                                             std::span<const JobId> live) const override;
  Result<std::shared_ptr<const PolicyMemory>> read_memory(const nlohmann::json& memory,
                                                          const SimulationState& state) const override;
  bool gives_promises() const override { return true; }
  bool decides_at_once() const override { return false; }

 private:
  struct PlansMemory;

  void decide(SchedulingPass& pass, WholeSeconds now, std::vector<std::uint32_t> arrived) override;
  std::optional<WholeSeconds> next_change() const override { return next_change_; }

  /// Plans all live jobs, on GPUs of their types.
  void plan_live(const SchedulingPass& pass, WholeSeconds now);
  void admit(SchedulingPass& pass, const std::vector<std::uint32_t>& arrived);
  /// Admits jobs if no job is late then; `always` admits them nevertheless.
  bool try_admit(const std::vector<std::uint32_t>& arrived, bool always);
  /// Admits one job to one of several types if no job is late then.
  bool try_admit_on_types(const SchedulingPass& pass, std::uint32_t id);
  /// A deadline with which a rejected job would have been admitted.
  std::optional<SimTime> admitting_deadline(const SchedulingPass& pass, std::uint32_t id);
  /// Gives the spare GPUs and puts `live_` into the order in which gangs are placed.
  void scale(WholeSeconds now);
  /// Charges every running job for the decision: its end moves, and the overhead is lost from its future
  /// time.
  void charge_overhead(const SchedulingPass& pass);

  ElasticFlowOptions options_;
  std::vector<SharePlanner> planners_;  ///< planners by type; a single one if all GPUs are alike
  std::optional<NodeSets> node_sets_;   ///< set under `DecisionOverhead::Table`
  std::int64_t num_decisions_ = 0;
  std::optional<WholeSeconds> next_change_;
};

}  // namespace vtrain
