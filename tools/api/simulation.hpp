/// One replay: jobs on a cluster under a policy, and the metrics of the schedule.
///
/// `make_policy` makes a policy of a spec, `NAME[:key=value,...]` as `vtrain policies` lists them. A policy
/// remembers what it was told: it is for one replay. `simulate` plays the jobs; jobs need a duration
/// (`Scenario` prices those that say a model). `summarize` computes JCT, waiting, deadlines, utilisation and
/// fairness; each formula stands with its field in `Summary`.
///
///     auto policy = vtrain::make_policy("easy");
///     auto result = vtrain::simulate(workload, cluster, **policy, {});
///     auto summary = vtrain::summarize(workload, cluster, *result, "easy");
///
/// A `Simulation` goes on as jobs and facts come in: `submit`, `tell`, `run_until`, `outcome`, `finish`. It may
/// begin with jobs that already run and wait.
///
/// The same inputs give the same schedule, to the nanosecond. Different replays may run in different threads.
/// To replay a trace under several policies with everything that the command line does (run times from the
/// predictor, deadlines, failures, result files) take `vtrain/scenario.hpp`.
#pragma once

#include "policies/registry.hpp"
#include "sched/metrics/metrics.hpp"
#include "sched/simulation/simulation.hpp"
