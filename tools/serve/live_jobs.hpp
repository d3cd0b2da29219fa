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
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/result.hpp"
#include "tools/experiment/admission.hpp"
#include "tools/experiment/arguments.hpp"
#include "tools/serve/clock.hpp"
#include "tools/serve/drift.hpp"
#include "tools/serve/job_inputs.hpp"
#include "tools/serve/job_setting.hpp"
#include "tools/serve/served_job.hpp"
#include "tools/serve/store.hpp"

namespace vtrain::serve {

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

/// Jobs to list.
struct JobFilter {
  std::int64_t below = 0;               ///< jobs with smaller numbers
  std::size_t limit = 0;                ///< at most so many, the newest
  std::optional<std::string> tenant{};  ///< of this tenant alone
  std::optional<JobPhase> phase{};      ///< in this condition alone
};

/// Differences from the cluster's own scheduler.
struct DriftCounts {
  std::optional<UnixTime> last{};             ///< time of the last comparison
  std::map<DriftKind, std::int64_t> found{};  ///< differences of that, by kind
  std::map<DriftKind, std::int64_t> total{};  ///< differences since the service began
};

/// Numbers of promises.
struct PromiseCounts {
  std::int64_t open = 0;    ///< jobs that are live
  std::int64_t kept = 0;    ///< jobs that were done in time
  std::int64_t broken = 0;  ///< jobs that were not

  /// Counts a job, if it was promised anything.
  void add(const ServedJob& job) {
    if (!job.promised) return;
    const bool is_kept = job.kept_promise();
    open += job.is_live() ? 1 : 0;
    kept += is_kept ? 1 : 0;
    broken += job.phase == JobPhase::Completed && !is_kept ? 1 : 0;
  }
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
  DriftCounts drift{};
  std::vector<std::int64_t> at_risk{};                            ///< promised jobs that are expected late
  std::vector<std::pair<UnixTime, std::int64_t>> gpus_planned{};  ///< GPUs in use from each time on
};

/// Options of `LiveJobs::open`.
struct LiveJobsOptions {
  std::shared_ptr<const JobSetting> setting{};
  PricingArguments pricing{};         ///< predictor of new jobs
  std::function<UnixTime()> clock{};  ///< time now
  std::int64_t keep_after = 1000;     ///< inputs after which `keep_snapshot_if_due` keeps one
  std::int64_t most_over = 1000;      ///< jobs that are over and not yet in the store's past; at least 1
};

/// The jobs of a service. Threads may share it: inputs are taken one after the other, each durable before it
/// is acknowledged, and long reads run beside each other.
class LiveJobs {
 public:
  /// Goes on from the store's snapshot and repeats the inputs since. A setup that differs from that of the
  /// log becomes its next input. Errors: a state that cannot be repeated.
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
  /// Takes over what the cluster's own scheduler does: every difference is logged and counted. Errors: a
  /// state that contradicts itself.
  Result<DriftCounts> reconcile(const LiveState& state);
  /// Decides by another setting from now on.
  Result<void> change_setting(std::shared_ptr<const JobSetting> setting);

  /// A job; none if there is no such one.
  std::optional<ServedJob> find(std::int64_t id);
  /// Jobs that a filter takes, the newest first.
  Result<std::vector<ServedJob>> list(const JobFilter& filter);
  /// Expected course of a live job; none for others.
  Result<std::optional<JobForecast>> forecast(std::int64_t id);
  /// The earliest deadline, to the minute, with which a refused job would be promised now; none if there is
  /// none, another search is under way, or it becomes late.
  std::optional<UnixTime> earliest_deadline(std::int64_t id, std::function<bool()> is_late);
  /// Likely starts and ends of live jobs, if nobody else comes: of one job, or of all. Errors: it became
  /// late.
  Result<std::vector<JobTimes>> likely_times(std::optional<std::int64_t> id, std::function<bool()> is_late);
  /// Counts alone.
  JobCounts counts();
  /// Differences from the cluster's own scheduler.
  DriftCounts drift() const {
    const std::shared_lock lock(mutex_);
    return drift_;
  }
  /// Nodes, counts and plans.
  Result<ServedCluster> cluster();
  /// Everything that another simulation needs to go on from here, its time, and its setting.
  std::tuple<ClusterToday, UnixTime, std::shared_ptr<const JobSetting>> today();

  /// Arguments of the predictor.
  const PricingArguments& pricing_arguments() const { return options_.pricing; }
  /// Jobs whose decision differed when the log was repeated.
  std::int64_t num_redecided() const { return num_redecided_; }

  /// Keeps a snapshot if enough inputs have come since the last one. Jobs that have been over for a day, and
  /// all but the last `most_over`, move to the store's past.
  Result<void> keep_snapshot_if_due();
  /// Keeps a snapshot if any input has come since the last one.
  Result<void> keep_snapshot();

 private:
  /// A job with its place in the simulation.
  struct Record {
    ServedJob known{};               ///< what the simulation does not tell, or all once it has forgotten it
    JobId simulated{};               ///< none: the simulation has forgotten it
    std::optional<JobPhase> said{};  ///< end that a client reported, or the refusal
    bool is_leaving = false;         ///< a snapshot that is being kept has it in the past: it changes no more
  };

  LiveJobs(LiveJobsOptions options, Store& store);
  // Inputs, also from the log. What they change follows from them and the time alone.
  Result<void> apply(const Input& input);
  Result<void> apply_setup(std::shared_ptr<const JobSetting> setting, UnixTime time);
  Result<void> apply_job(const LoggedJob& job);
  Result<void> apply_cancel(Record& record);
  Result<void> apply_progress(Record& record, double fraction);
  Result<void> apply_end(Record& record, ReportedEnd how);
  Result<void> apply_node(std::uint32_t number, NodeState state);
  Result<void> apply_drift(const Drift& drift);
  std::string refusal(const LoggedJob& job, const JobOutcome& outcome) const;

  /// Begins the simulation anew from a state, by a setting. It forgets jobs that are over. Nothing changes on
  /// an error.
  Result<void> begin_anew(std::shared_ptr<const JobSetting> setting, ClusterToday today);
  Result<void> move_to(UnixTime time);
  /// Tells the simulation something that happens now.
  Result<void> tell(const Fact& fact);
  Result<Record*> record_of(std::int64_t id);
  ServedJob view(const Record& record) const;
  std::vector<ServedNode> nodes() const;
  JobCounts count() const;
  UnixTime time_now() const { return std::max(options_.clock(), now_); }

  /// Moves to the present, changes a job, and returns it once that is durable.
  Result<ServedJob> change(std::int64_t id, std::string_view kind, nlohmann::ordered_json body,
                           const std::function<Result<void>(Record&)>& work);
  /// Appends an input that was applied, gives the lock back and waits until it is durable.
  Result<void> commit(std::string_view kind, const nlohmann::ordered_json& body,
                      std::unique_lock<std::shared_mutex> lock, std::string tenant = {},
                      std::string key = {});
  /// The job of an input that has come before.
  Result<ServedJob> repeated(const std::string& tenant, const std::string& key);

  Result<void> restore();
  /// Goes on from a snapshot's text.
  Result<void> restore(const std::string& snapshot);
  /// Keeps a snapshot if so many inputs have come since the last one.
  Result<void> keep(std::int64_t fewest_inputs);

  SimTime sim_time(UnixTime time) const { return SimTime(SimDuration(time - origin_)); }
  UnixTime unix_time(SimTime time) const { return origin_ + time.time_since_epoch().count(); }

  LiveJobsOptions options_;
  Store& store_;
  std::mutex search_mutex_;                      ///< held by the search for an earliest deadline
  std::mutex snapshot_mutex_;                    ///< held while a snapshot is made and kept
  std::int64_t kept_ = 0;                        ///< last input in the snapshot; guarded by `snapshot_mutex_`
  mutable std::shared_mutex mutex_;              ///< guards all below
  std::shared_ptr<const JobSetting> setting_{};  ///< outlives the simulation
  SpeedyAdmission simulation_{};
  UnixTime origin_ = 0;  ///< time 0 of the simulation
  UnixTime now_ = 0;     ///< time that the simulation has reached
  std::int64_t next_id_ = 1;
  std::map<std::int64_t, Record> records_{};             ///< jobs that are live or have been lately
  std::map<std::uint32_t, NodeState> out_of_service_{};  ///< by number of the node
  PromiseCounts past_promises_{};                        ///< of jobs that are in the store's past
  std::vector<std::string> node_names_{};                ///< the scheduler's names; empty: not known
  DriftCounts drift_{};
  std::int64_t num_redecided_ = 0;
};

/// The deadline of a request: a time from now, or a date later than now. 0: none.
Result<UnixTime> read_deadline(const std::string& text, UnixTime now);

}  // namespace vtrain::serve
