/// Admission of jobs to a cluster: a simulation that goes on as jobs come, and dry runs from its state.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "policies/registry.hpp"
#include "sched/simulation/simulation.hpp"

namespace vtrain {

/// A cluster whose jobs a policy decides on. Jobs have numbers: their places in `workload`, then one more for
/// each job that is admitted. `options.gang_speed_model` knows jobs by these numbers.
struct AdmissionSetup {
  ClusterSpec cluster{};
  std::string policy = "deadline";  ///< spec of a policy that `can_begin_with_jobs`
  SimulationOptions options{};      ///< placement, disruptions, tenants and speeds; the rest is not used
  Workload workload{};              ///< jobs that run or wait, then those that come later, with their names
  bool promises_at_once = false;    ///< a promise counts only if it is made when the job comes
  SimulationState state{};          ///< state of the first jobs; empty: an empty cluster
};

/// A cluster as it is now: empty, or with jobs.
struct ClusterToday {
  ClusterSpec cluster{};
  Workload workload{};  ///< jobs that run or wait, then those that come later
  SimulationState state{};
  /// Jobs of known models have their curves; those without one are rigid. False: they are elastic.
  bool has_curves = false;
};

/// Reasons for a yes (the first two) or a no.
enum class AdmissionReason : std::uint8_t {
  Promised,     ///< the policy promises the deadline, and no promise breaks
  InTime,       ///< the simulation is in time, and no deadline of another job is missed because of it
  TooLarge,     ///< the empty cluster has no room for it
  Rejected,     ///< the policy turns it away
  NeverStarts,  ///< it gets no GPUs
  Late,         ///< it is done after its deadline
  NotPromised,  ///< it would be in time by luck: the policy promises nothing
  BreaksOther,  ///< another job would miss its deadline, or lose its promise
};

/// A job that is done later because another one is admitted.
struct DisplacedJob {
  JobId number{};
  SimDuration by{0};             ///< time by which it is later; `SimDuration::max()`: it is never done
  bool has_promise = false;      ///< a policy has promised its deadline
  bool misses_deadline = false;  ///< it would be in time without the other job
};

/// Course of one job in a simulation.
struct JobCourse {
  JobOutcome outcome{};
  std::vector<JobSegment> segments{};  ///< what it held, in the order of time
};

/// An answer with the simulation that it rests on.
struct AdmissionAnswer {
  AdmissionReason reason = AdmissionReason::Rejected;
  JobCourse course{};
  std::vector<DisplacedJob> displaced{};  ///< the latest first

  bool is_yes() const { return reason <= AdmissionReason::InTime; }
};

/// The course of all jobs if no other job comes.
struct AdmissionForecast {
  std::vector<JobOutcome> outcomes{};  ///< by number; those of jobs that are over are empty
  std::vector<ClusterSample> gpus{};   ///< GPUs in use from now on, where they change
};

/// Ends of a job in simulations with errors of run times.
struct LikelyEnds {
  std::int64_t samples = 0;
  std::int64_t in_time = 0;
  std::vector<SimTime> ends{};  ///< ascending; fewer than `samples` if it is sometimes never done
};

/// Jobs, cluster and policy of a live service. Its decisions are those of a replay of the same jobs.
///
///     auto admission = Admission::begin(std::move(setup), PolicyRegistry::built_in());
///     admission->run_until(nine_o_clock);
///     const auto answer = admission->consider("mine", job);  // changes nothing
///     if (answer->is_yes()) admission->admit("mine", job);
///
/// `const` functions may be called by several threads at once.
class Admission {
 public:
  /// Errors: those of the policy's spec and of `Simulation::begin`; a policy that cannot begin with jobs.
  /// `registry` and all that the options refer to outlive it.
  static Result<Admission> begin(AdmissionSetup setup, const PolicyRegistry& registry);
  Admission(Admission&&) noexcept;
  Admission& operator=(Admission&&) noexcept;
  ~Admission();

  /// A job of another workload as one to admit or consider here: its names and curves become known.
  Job adopt(const Workload& from, const Job& job);
  /// Submits a job and handles all events up to its submission. Returns its id in `simulation`. The decision
  /// is that of `state_of` then; a policy that decides later leaves it open. Errors: those of
  /// `Simulation::submit`.
  Result<JobId> admit(std::string_view name, const Job& job);
  /// Handles all events up to a time.
  Result<void> run_until(SimTime time);
  /// Says what happens outside, to jobs by their ids in `simulation`.
  Result<void> tell(SimTime time, const Fact& fact);
  /// Handles all events that are left. Afterwards nothing else may be called.
  Result<SimulationResult> finish();

  /// Answers whether a job would be in time if it came next, and no other job came. Nothing changes.
  Result<AdmissionAnswer> consider(std::string_view name, const Job& job) const;
  /// Answers only yes or no, as soon as the policy promises or rejects; a promise counts as a yes without a
  /// look at other jobs. Without promises it is `consider`.
  Result<bool> would_admit(std::string_view name, const Job& job) const;
  /// Ends of a job if run times differ from predictions by the errors of each sample, by job numbers.
  Result<LikelyEnds> likely_ends(
      std::string_view name, const Job& job, std::int64_t samples, unsigned threads,
      const std::function<std::unique_ptr<RunTimeErrors>(std::int64_t)>& errors_of) const;

  /// Outcomes by sample, then by number, if no other job comes and run times have the errors of each sample.
  Result<std::vector<std::vector<JobOutcome>>> likely_outcomes(
      std::int64_t samples, unsigned threads,
      const std::function<std::unique_ptr<RunTimeErrors>(std::int64_t)>& errors_of) const;

  /// The live jobs and those that come later, with all that another admission needs to go on from here.
  ClusterToday today() const;
  /// The forecast, which is made once for each state.
  Result<std::shared_ptr<const AdmissionForecast>> forecast() const;
  /// The simulation of what has been admitted. Jobs that come later are not in it before their time.
  const Simulation& simulation() const;
  /// Number of the next job that is admitted.
  JobId next_number() const;
  /// Number of a job of the simulation.
  JobId number_of(JobId id) const;
  /// True if the policy may give a job other numbers of GPUs than it requests.
  bool is_elastic() const;
  /// True if the policy promises deadlines.
  bool gives_promises() const;
  /// From now on questions that need one more simulation fail once `is_late` is true. Threads call it.
  void give_up_when(std::function<bool()> is_late);
  /// True if the policy decides on a job when it comes.
  bool decides_at_once() const;

 private:
  struct Run;
  struct Parts;
  explicit Admission(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace vtrain
