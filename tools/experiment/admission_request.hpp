/// A request of `vtrain admit`: a training job, priced on a cluster, with the changes that would admit it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "sched/disruption/disruptions.hpp"
#include "tools/experiment/admission.hpp"
#include "tools/experiment/arguments.hpp"
#include "tools/experiment/prediction_error.hpp"
#include "tools/experiment/pricing.hpp"
#include "tools/experiment/training_job.hpp"
#include "workloads/jobs/gang_speed_model.hpp"
#include "workloads/model/model.hpp"
#include "workloads/search/ranked_plan.hpp"

namespace vtrain {

/// A training job for `vtrain admit`, and how it is judged.
struct AdmissionSpec : TrainingJobSpec {
  std::string deadline{};  ///< time from now, such as `10d`
  std::string policy = "deadline";
  PlacementKind placement = PlacementKind::Count;
  PricingArguments pricing{};
  bool promises_at_once = false;           ///< as `AdmissionSetup` has it
  std::string interruption_cost = "auto";  ///< as `DisruptionArguments` has it
  std::int64_t samples = 0;                ///< simulations with errors; 0: by the number of live jobs
  std::uint64_t seed = 1;                  ///< seed of the errors
  unsigned threads = 0;                    ///< 0: one per processor
};

/// Something to ask for instead, which would be a yes.
struct AdmissionChange {
  /// Part of the request that is changed.
  enum class Kind : std::uint8_t { Deadline, Tokens, Gpus, GpuType };
  Kind kind = Kind::Deadline;
  std::string option{};  ///< what to say instead: `--deadline 12d`
  SimTime deadline{};    ///< deadline with which it is a yes
  AdmissionAnswer answer{};
};

/// Number of simulations with errors, by the number of live jobs.
std::int64_t usual_samples(std::int64_t live_jobs);

/// A training job that is ready to be considered.
class AdmissionRequest {
 public:
  /// Reads the job and prices it on the cluster. Errors name options. Adds warnings, also on failure.
  /// `pricing` is of this cluster; null: one of the spec's is opened.
  static Result<std::unique_ptr<AdmissionRequest>> prepare(AdmissionSpec spec, ClusterToday today,
                                                           const PolicyRegistry& registry,
                                                           std::vector<std::string>& warnings,
                                                           std::shared_ptr<ClusterPricing> pricing = {});

  /// Answers for the job as it is asked for.
  Result<AdmissionAnswer> answer() const { return admission_->consider(name(), job_); }
  /// Ends of the job if its iterations take longer or shorter than predicted. None under
  /// `--prediction-error none`.
  Result<std::optional<LikelyEnds>> likely_ends();
  /// Number of these simulations.
  std::int64_t samples() const;
  /// For each kind of change that makes sense under the policy the smallest that is a yes. The first is the
  /// deadline.
  Result<std::vector<AdmissionChange>> changes();

  const AdmissionSpec& spec() const { return spec_; }
  const Job& job() const { return job_; }
  const std::string& name() const { return spec_.model; }
  const TransformerModel& model() const { return model_; }
  double tokens() const { return tokens_; }
  bool assumes_batch() const { return assumes_batch_; }
  bool assumes_gpus() const { return spec_.gpus == 0; }
  const ClusterSpec& cluster() const { return cluster_; }
  /// All jobs by number, with their names.
  const Workload& jobs() const { return jobs_; }
  SimTime now() const { return job_.submit; }
  /// State of the jobs that run or wait.
  const SimulationState& state() const { return state_; }
  /// True if the job may hold other numbers of GPUs than it requests.
  bool is_elastic() const { return is_elastic_; }
  const Admission& admission() const { return *admission_; }
  /// As `Admission::give_up_when`.
  void give_up_when(std::function<bool()> is_late) { admission_->give_up_when(std::move(is_late)); }
  /// Type of GPUs of a segment; none where placement does not tell.
  std::optional<std::uint32_t> type_of(const JobSegment& segment) const;
  /// True if the cluster has several types of GPUs.
  bool has_types() const;
  /// Name of a type.
  std::string type_name(std::uint32_t type) const;
  /// Best plan on the GPUs of a segment.
  Result<RankedPlan> plan_of(const JobSegment& segment);
  /// Assumptions of the answer.
  const std::vector<std::string>& assumptions() const { return assumptions_; }
  /// GPU profile and software stack that price the job.
  std::string predictor() const { return pricing_->made_with(); }

 private:
  Result<void> read(std::vector<std::string>& warnings);
  Result<void> price(const PolicyRegistry& registry);
  Result<void> set_up_admission(Workload workload, SimulationState state, const PolicyRegistry& registry);
  /// The job with another amount of work.
  Job with_tokens(double tokens) const;
  /// The answer to another request, if it is a yes.
  Result<std::optional<AdmissionChange>> with_spec(AdmissionChange::Kind kind, std::string option,
                                                   AdmissionSpec spec);
  Result<std::optional<AdmissionChange>> later_deadline();
  Result<std::optional<AdmissionChange>> fewer_tokens();
  Result<std::optional<AdmissionChange>> other_gpus();
  Result<std::optional<AdmissionChange>> other_type();

  AdmissionSpec spec_;
  ClusterSpec cluster_{};
  SimulationState state_{};
  bool others_have_curves_ = false;
  const PolicyRegistry* registry_ = nullptr;
  TransformerModel model_{};
  double tokens_ = 0;
  SimDuration time_{0};
  bool assumes_batch_ = false;
  bool is_elastic_ = false;
  std::shared_ptr<ClusterPricing> pricing_{};
  Workload jobs_{};  ///< all jobs, the one to be considered last
  Job job_{};
  std::unique_ptr<GangSpeedModel> speeds_{};
  std::optional<Disruptions> disruptions_{};
  PredictionErrorRule errors_{};
  std::vector<std::string> assumptions_{};
  std::optional<Admission> admission_{};
};

}  // namespace vtrain
