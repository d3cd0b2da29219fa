/// The routes of jobs: `POST /v1/jobs` and all that clients may then ask and say.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <semaphore>
#include <vector>

#include "tools/serve/http.hpp"
#include "tools/serve/live_jobs.hpp"
#include "tools/serve/metrics.hpp"
#include "tools/serve/router.hpp"

namespace vtrain::serve {

/// Handlers of the routes of jobs. Threads may share it.
class Jobs {
 public:
  /// `jobs` and `metrics` must outlive it.
  Jobs(LiveJobs& jobs, Metrics& metrics);

  /// Rows of the table.
  std::vector<Route> routes();

 private:
  Response submit(const Request& request);
  Response dry_run(const JobRequest& job, const std::string& tenant, const Request& request);
  Response list(const Request& request);
  Response get(const Request& request);
  Response report_progress(const Request& request);
  Response report_completion(const Request& request);
  Response cancel(const Request& request);
  Response cluster(const Request& request);
  Response report_node(const Request& request);
  Response eta(const Request& request);
  Response take_snapshot(const Request& request);
  /// The job of an id, if a caller may see it.
  Result<ServedJob> visible_job(const std::string& id, const Caller& caller);
  /// The job that the path of a request names.
  Result<ServedJob> named_job(const Request& request);
  void watch();

  /// A turn among the long simulations, which ends with it.
  struct EndTurn {
    void operator()(std::counting_semaphore<>* simulations) const { simulations->release(); }
  };
  using Turn = std::unique_ptr<std::counting_semaphore<>, EndTurn>;
  /// Waits for a turn; null if too many wait, or for too long.
  Turn turn_to_simulate(const Request& request);

  LiveJobs& jobs_;
  Metrics& metrics_;
  JobCounts counts_{};                     ///< those of the text that `metrics_` makes
  DriftCounts drift_{};                    ///< those of the text that `metrics_` makes
  std::counting_semaphore<> simulations_;  ///< long simulations that may run at once
  std::atomic<int> waiting_simulations_ = 0;
};

/// `2026-11-28T17:30:00Z`: the second of a time.
std::string time_text(UnixTime time);
/// The second by which something is over.
std::string end_text(UnixTime time);
/// A job, or a node, for clients.
nlohmann::ordered_json to_json(const ServedJob& job);
nlohmann::ordered_json to_json(const ServedNode& node);
/// The JSON Schema of a job, of a list of them, of the cluster, of a node, of times of start and end, of
/// differences.
nlohmann::ordered_json job_schema();
nlohmann::ordered_json jobs_schema();
nlohmann::ordered_json cluster_schema();
nlohmann::ordered_json node_schema();
nlohmann::ordered_json eta_schema();
nlohmann::ordered_json drift_schema();
/// Differences from the cluster's own scheduler, for clients.
nlohmann::ordered_json to_json(const DriftCounts& drift);

}  // namespace vtrain::serve
