/// Estimates of starts and ends of a cluster's waiting jobs: many simulations from its state, each with run
/// times drawn anew.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.hpp"
#include "core/base/rng.hpp"
#include "policies/registry.hpp"
#include "sched/simulation/node_calendar.hpp"
#include "sched/simulation/reasons.hpp"
#include "sched/simulation/simulation.hpp"

namespace vtrain {

/// A job's total run time, as values that are equally likely.
struct RunTimes {
  std::vector<SimDuration> values{};  ///< ascending, at least one, above 0

  /// One of the values above the time that the job has held GPUs, at random. A job that has outlived all of
  /// them ends one part in ten later than now.
  SimDuration draw(RandomStream& random, SimDuration held) const;
  /// The longest of the values for a job that has held GPUs so long; later than now, as in `draw`.
  SimDuration longest(SimDuration held) const;
};

/// A cluster at one instant, for a policy.
struct EtaQuestion {
  ClusterSpec cluster{};
  PlacementKind placement = PlacementKind::Count;
  Workload workload{};                ///< jobs that run or wait, then those that may start only later
  SimulationState state{};            ///< state of the first jobs
  std::vector<RunTimes> run_times{};  ///< [job]
  NodeCalendar calendar{};            ///< reservations and nodes that take no jobs
  std::string policy{};               ///< spec of the policy, which `can_begin_with_jobs`
  /// Makes the policy in place of its row in the table: of the objects of a running cluster. Empty: the row.
  std::function<Result<std::unique_ptr<Policy>>(const PolicyArguments&)> make_policy{};
  std::int64_t samples = 200;  ///< simulations, at least 1
  std::uint64_t seed = 1;      ///< seed of the draws
  unsigned threads = 0;        ///< 0: one per processor
  /// Estimate for this job alone, without its end: each simulation stops when it starts. None: all jobs.
  JobId only{};
};

/// Times at or before which half, or nine in ten, of the simulations have it. None: fewer have it at all.
struct LikelyTime {
  std::optional<SimTime> p50{};
  std::optional<SimTime> p90{};
};

/// Estimate for a job that waits or comes.
struct JobEta {
  JobId job{};
  LikelyTime start{};
  LikelyTime end{};
  double starts = 0;           ///< part of the simulations in which it started
  ReasonChange now{};          ///< why it does not start now; `None` if it does
  PolicyWords words{};         ///< the same in the policy's own words, where it has some
  std::vector<JobId> ahead{};  ///< waiting jobs whose median start is earlier, in that order
};

/// Answers, in the order of the workload.
struct EtaAnswer {
  std::vector<JobEta> jobs{};
  std::int64_t samples = 0;
  bool follows_calendar = false;  ///< false: nothing of the calendar counted
};

/// Estimates starts and ends. The same question gives the same answer on any number of threads. Errors: those
/// of the policy's spec and of `Simulation::begin`; a policy that cannot begin with jobs, whose message names
/// those that can.
Result<EtaAnswer> estimate_starts(const EtaQuestion& question, const PolicyRegistry& registry);

/// Position of a quantile among `values` sorted numbers out of `count`, of which the others are infinite.
/// `part` is in (0, 1]. None if the quantile is infinite.
std::optional<std::size_t> quantile_position(std::size_t values, std::size_t count, double part);

}  // namespace vtrain
