/// ElasticFlow: admission by deadline, and GPUs to spare where they help.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/result.hpp"
#include "policies/node_sets.hpp"
#include "policies/registry.hpp"
#include "policies/satisfactory_share.hpp"
#include "policies/slotted_policy.hpp"

namespace vtrain {

/// Who is tested at admission.
enum class AdmissionTest : std::uint8_t {
  Job,    ///< each job on its own, in the order of arrival
  Batch,  ///< all jobs of a slot together: they are admitted or turned away as one, as in the artifact
};

/// Which job gets spare GPUs first.
enum class SpareGpus : std::uint8_t {
  Smallest,  ///< the one whose plan then takes the fewest more GPU-seconds per GPU
  Largest,   ///< the one whose plan takes the most, as in the artifact
};

/// What a decision costs the jobs that run.
enum class DecisionOverhead : std::uint8_t {
  None,
  Table,  ///< seconds by gang and cluster size, less for a gang that stays where it is, as in the artifact
};

struct ElasticFlowOptions {
  AdmissionTest admission = AdmissionTest::Job;
  SpareGpus greedy = SpareGpus::Smallest;
  WholeSeconds slot = 60;
  DecisionOverhead overhead = DecisionOverhead::None;
};

/// `elasticflow` (Gu et al., "ElasticFlow: An Elastic Serverless Training Platform for Distributed Deep
/// Learning", ASPLOS'23): a job is admitted if it and all admitted jobs can meet their deadlines with their
/// minimum satisfactory shares; what is left over goes to the jobs one level at a time. Jobs without a
/// deadline are always admitted and take what is free. Plans are made anew at every decision, in the order of
/// deadlines.
class ElasticFlow final : public SlottedPolicy {
 public:
  explicit ElasticFlow(const ElasticFlowOptions& options) : SlottedPolicy(options.slot), options_(options) {}

  /// The table of overheads counts time as the artifact does; `--interruption-cost` is for all the others.
  bool copes_with_disruptions() const override { return options_.overhead == DecisionOverhead::None; }

 private:
  /// A live job's plan and the one in which it holds its next level at once.
  struct Planned {
    SharePlan plan;
    SharePlan larger;
    std::int64_t larger_gpus = 0;
    double gain = 0;  ///< GPU-seconds that `larger` takes beyond `plan`, per GPU
  };

  void decide(SchedulingPass& pass, WholeSeconds now, std::vector<std::uint32_t> arrived) override;
  std::optional<WholeSeconds> next_change() const override { return next_change_; }

  void admit(SchedulingPass& pass, const std::vector<std::uint32_t>& arrived);
  /// Whether all of these can meet their deadlines, planned one after the other in that order.
  bool feasible(std::vector<std::uint32_t> jobs) const;
  void plan_all();
  void give_spare_gpus();
  /// Plans the job with its next level; its gain is the lowest there is when that does not fit.
  void try_larger(std::uint32_t id, std::int64_t spare);
  void sort_by_gain();
  /// Charges every running job for the decision: its end moves, and so much of the time to come is lost.
  void charge_overhead(const SchedulingPass& pass);

  ElasticFlowOptions options_;
  FillContext context_;
  GpuTimeline free_;
  std::vector<Planned> plans_;         ///< by `JobId`
  std::optional<NodeSets> node_sets_;  ///< under `DecisionOverhead::Table`
  std::int64_t num_decisions_ = 0;
  std::optional<WholeSeconds> next_change_;
};

/// Reads the parameters `admission`, `greedy`, `slot` and `overhead`.
Result<std::unique_ptr<Policy>> make_elasticflow(const PolicyArguments& arguments);

}  // namespace vtrain
