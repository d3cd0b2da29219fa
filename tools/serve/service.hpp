/// The product behind the server: its table of routes, and what the handlers share.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/result.hpp"
#include "tools/serve/clock.hpp"
#include "tools/serve/follower.hpp"
#include "tools/serve/gate.hpp"
#include "tools/serve/jobs.hpp"
#include "tools/serve/live_jobs.hpp"
#include "tools/serve/metrics.hpp"
#include "tools/serve/predictions.hpp"
#include "tools/serve/router.hpp"
#include "tools/serve/server.hpp"
#include "tools/serve/store.hpp"

namespace vtrain::serve {

/// Files and limits of a service.
struct ServiceOptions {
  std::string tokens{};               ///< file of tokens; empty: clients need none
  std::string state{};                ///< file of the state; empty: no jobs are served
  std::string cluster{};              ///< cluster of the jobs; empty: no jobs are served
  JobsSetup jobs{};                   ///< rules of the jobs; the cluster is read from its name
  PricingArguments pricing{};         ///< predictor of the jobs; its calibration is that of predictions, too
  std::vector<std::string> follow{};  ///< commands that show what the cluster's scheduler does
  std::chrono::seconds every{30};     ///< time between their runs
  bool simulated_clock = false;       ///< time stands still until a request moves it
  double requests_per_second = 0;     ///< largest rate of a tenant; 0: unlimited
};

/// Answers the requests of all routes. Threads may share it.
class Service {
 public:
  /// Reads tokens, calibration and state. Errors as those of their readers.
  static Result<std::unique_ptr<Service>> open(const ServiceOptions& options);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// The routes, for a server.
  const Router& router() const { return *router_; }
  /// Counts a request that was answered, and logs it.
  void observe(const Exchange& exchange);
  /// Shows the connections of a server among the metrics. The server must outlive the service's answers.
  void watch(const Server& server);

  /// Reads tokens and cluster again. Keeps the former ones on an error.
  Result<void> reload();
  /// Begins what goes on beside requests: snapshots of the state, and the cluster's scheduler is followed.
  void begin_work();
  /// Ends that, and keeps a last snapshot.
  void end_work();
  /// Has `/readyz` say that no more work is wanted here.
  void stop_being_ready() { is_ready_ = false; }

 private:
  Service(ServiceOptions options, std::optional<Tokens> tokens, Calibration calibration);
  /// Reads the cluster and the rules of its jobs.
  Result<std::shared_ptr<const JobSetting>> read_setting() const;
  /// Opens the state and the jobs in it.
  Result<void> open_jobs();
  void make_router();
  void keep_snapshot(bool always);
  std::vector<Route> routes();
  Response move_clock(const Request& request);
  Response ready() const;
  void watch_own_figures();

  ServiceOptions options_;
  Gate gate_;
  Metrics metrics_;
  Predictions predictions_;
  Clock clock_;
  std::unique_ptr<Store> store_;         ///< null: no jobs are served
  std::unique_ptr<LiveJobs> live_jobs_;  ///< null: no jobs are served
  std::jthread keeper_;                  ///< keeps snapshots now and then
  std::unique_ptr<Follower> follower_;   ///< null: nothing is followed
  std::unique_ptr<Jobs> jobs_;           ///< null: no jobs are served
  std::unique_ptr<Router> router_;
  std::string openapi_;  ///< text of the document
  std::atomic<bool> is_ready_ = true;
};

}  // namespace vtrain::serve
