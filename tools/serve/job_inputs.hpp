/// Inputs about jobs: bodies of requests, and the inputs of the log that follow from them.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/fields.hpp"
#include "core/base/result.hpp"
#include "core/base/units.hpp"
#include "sched/cluster/cluster.hpp"
#include "tools/experiment/training_job.hpp"
#include "workloads/jobs/speed_by_gpus.hpp"

namespace vtrain {
class JsonDocument;
struct Workload;
}  // namespace vtrain

namespace vtrain::serve {

/// Kinds of the log's inputs.
inline constexpr std::string_view kSetupInput = "setup";
inline constexpr std::string_view kJobInput = "job";
inline constexpr std::string_view kCancelInput = "cancel";
inline constexpr std::string_view kProgressInput = "progress";
inline constexpr std::string_view kEndInput = "end";
inline constexpr std::string_view kNodeInput = "node";
inline constexpr std::string_view kDriftInput = "drift";

/// Body of `POST /v1/jobs`.
struct JobRequest {
  std::string model{};            ///< name of a known model
  std::string tokens{};           ///< tokens to train on, such as `300B`; empty: `iterations`
  std::int64_t iterations = 0;    ///< iterations to train, instead of tokens
  std::string deadline{};         ///< time from now, or a date; empty: none
  std::string name{};             ///< name for people; empty: the model's
  std::string tenant{};           ///< tenant; empty: the caller's
  std::int64_t global_batch = 0;  ///< sequences an iteration; 0: as published
  std::int64_t gpus = 0;          ///< GPUs that it requests; 0: the fewest that suffice alone
  bool rigid = false;             ///< it can't train on other numbers of GPUs
  std::string gpu_type{};         ///< type of GPUs that it must have; empty: any
  bool dry_run = false;           ///< answer, but accept nothing

  /// The job for the predictor.
  TrainingJobSpec spec() const;
};
std::span<const Field<JobRequest>> job_request_fields();

/// Body of `POST /v1/jobs/{id}/progress`.
struct ProgressReport {
  double fraction = -1;  ///< part of the work that is done
};
std::span<const Field<ProgressReport>> progress_fields();

/// Ends of jobs that clients report.
enum class ReportedEnd { Completed, Failed };
/// Body of `POST /v1/jobs/{id}/completion`.
struct CompletionReport {
  ReportedEnd state = ReportedEnd::Completed;
};
std::span<const Field<CompletionReport>> completion_fields();

/// Services of a node.
enum class NodeState { Up, Down, Drains };
std::span<const std::string_view> node_state_names();
/// Body of `PUT /v1/nodes/{name}`.
struct NodeReport {
  NodeState state = NodeState::Up;
};
std::span<const Field<NodeReport>> node_fields();

/// A job as the log keeps it. It is priced: a later predictor changes nothing that was decided.
struct LoggedJob {
  std::int64_t id = 0;                       ///< number of the job in the service
  std::string name{};                        ///< name for people
  std::string tenant{};                      ///< tenant; empty: none
  std::string model{};                       ///< model
  std::string gpu_type{};                    ///< type of GPUs that it must have; empty: any
  std::int64_t gpus = 1;                     ///< GPUs that it requests
  std::int64_t global_batch = 0;             ///< sequences an iteration
  std::int64_t iterations = 0;               ///< work
  double tokens = 0;                         ///< work in tokens
  std::int64_t duration_ns = 0;              ///< run time on the requested GPUs
  std::int64_t deadline_ns = 0;              ///< deadline since 1970; 0: none
  std::int64_t time_limit_s = 0;             ///< longest likely run time, in whole minutes
  std::vector<SpeedByGpus::Level> levels{};  ///< speeds of an elastic job; empty: it is rigid

  bool is_elastic() const { return !levels.empty(); }
};
/// Rows of all but `levels`.
std::span<const Field<LoggedJob>> logged_job_fields();
nlohmann::ordered_json to_json(const LoggedJob& job);
/// Reads a part of a document. Errors name the document.
Result<LoggedJob> logged_job_from(const JsonDocument& document, const nlohmann::json& object);

/// The log's job from a priced one.
LoggedJob log_of(const PricedJob& priced, std::int64_t id, const JobRequest& request, std::string tenant,
                 std::int64_t origin_ns);
/// The simulation's job: the only one of a workload. Times count from `origin_ns`.
Workload workload_of(const LoggedJob& job, std::int64_t submit_ns, std::int64_t origin_ns);

/// Cluster and rules of the jobs. They are an input, too: with others the same jobs are decided otherwise.
struct JobsSetup {
  std::vector<NodeGroup> cluster{};
  std::string policy = "deadline:unpromised=reject";  ///< spec of a policy that promises deadlines
  std::string placement = "consolidate";              ///< rule that chooses the GPUs of a gang
  std::string interruption_cost = "auto";             ///< as `vtrain admit` has it

  bool operator==(const JobsSetup&) const = default;
};
nlohmann::ordered_json to_json(const JobsSetup& setup);
/// Reads a part of a document. Errors name the document.
Result<JobsSetup> setup_from(const JsonDocument& document, const nlohmann::json& object);

}  // namespace vtrain::serve
