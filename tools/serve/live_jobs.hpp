/// The jobs of a service: the simulation that decides on them, moved by the inputs of the log.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "sched/disruption/disruptions.hpp"
#include "tools/experiment/admission.hpp"
#include "tools/experiment/arguments.hpp"
#include "tools/experiment/pricing.hpp"
#include "tools/serve/clock.hpp"
#include "tools/serve/job_inputs.hpp"
#include "tools/serve/store.hpp"
#include "workloads/pricing/predicted_speeds.hpp"

namespace vtrain::serve {

/// The deadline of a request: a time from now, or a date later than now. 0: none.
Result<UnixTime> read_deadline(const std::string& text, UnixTime now);

/// Conditions of a job.
enum class JobPhase { Waiting, Running, Completed, Failed, Cancelled, Refused };
/// `waiting`, `running`, `completed`, `failed`, `cancelled`, `refused`.
std::span<const std::string_view> job_phase_names();

/// A job as it is now.
struct ServedJob {
  LoggedJob job{};
  UnixTime submitted = 0;
  JobPhase phase = JobPhase::Waiting;
  bool promised = false;  ///< its deadline was promised
  std::string reason{};   ///< why it was refused; empty: it was not
  std::int64_t held_gpus = 0;
  std::optional<UnixTime> started{};
  std::optional<UnixTime> ended{};
  double progress = 0;  ///< part of its work that is done

  bool is_live() const { return phase == JobPhase::Waiting || phase == JobPhase::Running; }
};

/// Expected course of a live job, if nothing else comes.
struct JobForecast {
  std::optional<UnixTime> start{};
  std::optional<UnixTime> end{};
  bool in_time = true;  ///< it is done by its deadline, or has none
};

/// Likely times of a live job.
struct JobTimes {
  ServedJob job{};
  std::optional<UnixTime> start_p50{};  ///< none: in fewer simulations it starts at all
  std::optional<UnixTime> start_p90{};
  std::optional<UnixTime> end_p50{};
  std::optional<UnixTime> end_p90{};
};

/// A node with its service.
struct ServedNode {
  std::string name{};
  std::string gpu_type{};
  std::int64_t gpus = 0;
  NodeState state = NodeState::Up;
};

/// Numbers of promises.
struct PromiseCounts {
  std::int64_t open = 0;    ///< jobs that are live
  std::int64_t kept = 0;    ///< jobs that were done in time
  std::int64_t broken = 0;  ///< jobs that were not
};

/// Numbers of the present.
struct JobCounts {
  std::int64_t gpus = 0;
  std::int64_t gpus_in_use = 0;
  std::int64_t gpus_out_of_service = 0;
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  PromiseCounts promises{};
};

/// The cluster as it is now.
struct ServedCluster {
  UnixTime now = 0;
  JobsSetup setup{};
  std::vector<ServedNode> nodes{};
  JobCounts counts{};
  std::vector<std::int64_t> at_risk{};                            ///< promised jobs that are expected late
  std::vector<std::pair<UnixTime, std::int64_t>> gpus_planned{};  ///< GPUs in use from each time on
};

/// Options of `LiveJobs::open`.
struct LiveJobsOptions {
  JobsSetup setup{};
  PricingArguments pricing{};         ///< predictor of new jobs
  std::function<UnixTime()> clock{};  ///< time now; must not run backwards
};

/// The jobs of a service. Threads may share it: inputs are taken one after the other, each durable before it
/// is acknowledged, and reads run beside each other.
class LiveJobs {
 public:
  /// Repeats the log of the store. A setup that differs from the log's becomes its next input. Errors: those
  /// of cluster, policy and predictor; a policy that promises nothing; a log that cannot be repeated.
  static Result<std::unique_ptr<LiveJobs>> open(LiveJobsOptions options, Store& store);
  ~LiveJobs();

  /// Accepts or refuses a job. A known key of the tenant gives the job that came with it first. Errors: a bad
  /// request.
  Result<ServedJob> submit(const JobRequest& request, const std::string& tenant, const std::string& key);
  /// Withdraws a live job. Errors: no such job, or it is over.
  Result<ServedJob> cancel(std::int64_t id);
  /// Corrects the prediction of a job by the part of its work that is done. Errors: as `cancel`.
  Result<ServedJob> report_progress(std::int64_t id, double fraction);
  /// Takes the true end of a job. Errors: no such job; it was withdrawn or refused.
  Result<ServedJob> report_end(std::int64_t id, ReportedEnd how);
  /// Takes a node out of service, or back. Errors: no such node; a placement without nodes.
  Result<ServedNode> report_node(const std::string& name, NodeState state);

  /// A job; none if there is no such one.
  std::optional<ServedJob> find(std::int64_t id);
  /// Expected course of a live job; none for others.
  Result<std::optional<JobForecast>> forecast(std::int64_t id);
  /// Jobs that `wanted` takes, the newest first, from those below an id on; at most `limit`.
  std::vector<ServedJob> list(std::int64_t below, std::size_t limit,
                              const std::function<bool(const ServedJob&)>& wanted);
  /// Counts alone.
  JobCounts counts();
  /// Nodes, counts and plans.
  Result<ServedCluster> cluster();
  /// The earliest deadline with which a refused job would be promised now; none if there is none, or another
  /// search is under way.
  std::optional<UnixTime> earliest_deadline(std::int64_t id);
  /// Likely starts and ends of live jobs, if nobody else comes: of one job, or of all.
  Result<std::vector<JobTimes>> likely_times(std::optional<std::int64_t> id);
  /// Everything that another simulation needs to go on from here, and its time.
  std::pair<ClusterToday, UnixTime> today();

  /// Predictor of the cluster's jobs; threads may share it.
  std::shared_ptr<ClusterPricing> pricing() const {
    const std::shared_lock lock(mutex_);
    return pricing_;
  }
  /// Arguments of the predictor.
  const PricingArguments& pricing_arguments() const { return options_.pricing; }
  /// Cluster and rules.
  JobsSetup setup() const {
    const std::shared_lock lock(mutex_);
    return setup_;
  }
  /// Jobs whose decision differed when the log was repeated.
  std::int64_t num_redecided() const { return num_redecided_; }

 private:
  /// A job with its place in the simulation.
  struct Record {
    ServedJob known{};               ///< what the simulation does not tell, or all once it has forgotten it
    JobId simulated{};               ///< none: the simulation has forgotten it
    std::optional<JobPhase> said{};  ///< end that a client reported, or the refusal
    bool is_counted = true;          ///< false: a part of the counts already
  };

  LiveJobs(LiveJobsOptions options, Store& store);
  /// The simulation that goes on from a state, with the speeds of its jobs.
  Result<Admission> begin_from(ClusterToday today, std::unique_ptr<PredictedSpeeds>& speeds) const;
  Result<void> begin_anew(ClusterToday today);
  Result<void> set_up(const JobsSetup& setup, UnixTime time);
  Result<void> repeat_log();
  /// Repeats one input.
  Result<void> apply(const Input& input);
  Result<void> apply_job(const LoggedJob& job);
  Result<void> apply_cancel(Record& record);
  Result<void> apply_progress(Record& record, double fraction);
  Result<void> apply_end(Record& record, ReportedEnd how);
  Result<void> apply_node(std::uint32_t number, NodeState state);
  Result<void> move_to(UnixTime time);
  /// Tells the simulation something that happens now.
  Result<void> tell(const Fact& fact);
  /// Moves to the present, changes a job, and returns it once that is durable.
  Result<ServedJob> change(std::int64_t id, std::string kind, nlohmann::ordered_json body,
                           const std::function<Result<void>(Record&)>& work);
  /// The job of an input that has come before.
  Result<ServedJob> repeated(const std::string& tenant, const std::string& key);
  Result<Record*> record_of(std::int64_t id);
  ServedJob view(const Record& record) const;
  std::string refusal(const LoggedJob& job, const JobOutcome& outcome) const;
  std::vector<ServedNode> nodes() const;
  JobCounts count() const;
  UnixTime time_now() const { return std::max(options_.clock(), now_); }

  SimTime sim_time(UnixTime time) const { return SimTime(SimDuration(time - origin_)); }
  UnixTime unix_time(SimTime time) const { return origin_ + time.time_since_epoch().count(); }

  LiveJobsOptions options_;
  Store& store_;
  mutable std::shared_mutex mutex_;  ///< guards all below
  JobsSetup setup_{};
  std::shared_ptr<ClusterPricing> pricing_{};
  ClusterSpec cluster_{};
  std::optional<Disruptions> disruptions_{};
  std::unique_ptr<PredictedSpeeds> speeds_{};
  std::optional<Admission> admission_{};
  UnixTime origin_ = 0;  ///< time 0 of the simulation
  UnixTime now_ = 0;     ///< time that the simulation has reached
  std::int64_t next_id_ = 1;
  std::map<std::int64_t, Record> records_{};
  std::map<std::uint32_t, NodeState> out_of_service_{};  ///< by number of the node
  std::vector<ServedNode> node_names_{};                 ///< all nodes, as if they were up
  std::int64_t num_redecided_ = 0;
  std::mutex search_mutex_;  ///< held by the search for an earliest deadline
};

}  // namespace vtrain::serve
