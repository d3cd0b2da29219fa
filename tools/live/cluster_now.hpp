/// A running cluster as a question: the jobs, nodes and partitions of its state, ready to simulate.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "tools/experiment/eta.hpp"
#include "tools/live/job_models.hpp"
#include "tools/live/live_state.hpp"
#include "tools/live/run_time_book.hpp"

namespace vtrain {

/// A pending job that nothing but a person or another job can set free.
struct StuckJob {
  std::string id{};      ///< id
  std::string reason{};  ///< why, in words
};

/// A cluster that is ready to simulate. Jobs have the ids of the scheduler as names; tasks of an array that
/// waits are single jobs.
struct ClusterNow {
  EtaQuestion question{};   ///< without policy
  std::int64_t origin = 0;  ///< seconds since 1970 of time 0
  std::int64_t now = 0;     ///< seconds since 1970 of the state
  std::vector<StuckJob> stuck{};
  std::vector<RunTimeSource> sources{};  ///< [job] of the question
  /// [job] of the question: work whose predicted time is its run time.
  std::vector<std::optional<TrainingWork>> works{};
  std::shared_ptr<TrainingTimes> training{};  ///< predictions of works; null without any
  std::vector<std::string> partitions{};      ///< partitions that start jobs, where the policy keeps them
  std::vector<std::string> reasons{};  ///< [job] why it waits, in the scheduler's words; empty: it runs
  /// Assumptions and omissions, with their numbers.
  std::map<std::string, std::int64_t, std::less<>> assumed{};

  /// Seconds since 1970 of an instant.
  std::int64_t clock(SimTime time) const {
    return origin + std::chrono::floor<std::chrono::seconds>(time.time_since_epoch()).count();
  }
};

/// Facts that a state lacks or that replace its own.
struct ClusterNowOptions {
  const JobModels* models = nullptr;               ///< a table of models; null: jobs name their own
  PricingArguments pricing{};                      ///< predictor of their times
  std::optional<ClusterSpec> cluster{};            ///< cluster in place of the state's nodes
  std::optional<std::int64_t> now{};               ///< seconds since 1970; none: the latest time in the state
  PlacementKind placement = PlacementKind::Count;  ///< rule for gangs
  /// The policy chooses nodes by name (`NodeCalendar`), so that it leaves out those that take no jobs.
  bool policy_names_nodes = false;
  bool counts_types = false;  ///< true for a policy that chooses GPU types, whatever jobs ask for
};

/// Makes the question. Jobs without GPUs, jobs that are held, and those that wait for jobs which will not
/// come are left out. Errors: no nodes and no cluster, no instant, more GPUs in use on a node than it has, a
/// job that is larger than a number holds.
Result<ClusterNow> make_cluster_now(const LiveState& state, const RunTimeBook& book,
                                    const ClusterNowOptions& options);

}  // namespace vtrain
