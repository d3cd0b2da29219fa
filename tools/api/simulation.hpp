/// One replay: jobs on a cluster under a policy, and the metrics of the schedule.
///
/// `make_policy` makes a policy of a spec, `NAME[:key=value,...]` as `vtrain policies` lists them. A policy
/// remembers earlier passes: use it for one replay. `simulate` plays the jobs; jobs need a duration
/// (`Scenario` predicts it for jobs with a model). `summarize` computes JCT, waiting, deadlines, utilisation
/// and fairness; each formula is documented with its field in `Summary`.
///
///     auto policy = vtrain::make_policy("easy");
///     auto result = vtrain::simulate(workload, cluster, **policy, {});
///     auto summary = vtrain::summarize(workload, cluster, *result, "easy");
///
/// A `Simulation` continues as jobs and facts arrive: `submit`, `tell`, `run_until`, `outcome`, `finish`. It
/// may begin with running and waiting jobs.
///
/// Equal inputs give equal schedules, to the nanosecond. Different replays may run in different threads. To
/// replay a trace under several policies with everything that the command line does (run times from the
/// predictor, deadlines, failures, result files) use `vtrain/scenario.hpp`.
#pragma once

#include "policies/registry.hpp"
#include "sched/metrics/metrics.hpp"
#include "sched/simulation/simulation.hpp"
