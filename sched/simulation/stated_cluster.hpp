/// The state of a cluster as people write it: all that a simulation begins with, from one JSON document.
#pragma once

#include <string>

#include "core/base/result.hpp"
#include "sched/cluster/cluster.hpp"
#include "sched/placement/placement.hpp"
#include "sched/simulation/simulation.hpp"
#include "workloads/jobs/job.hpp"

namespace vtrain {

class JsonDocument;

/// The version of the JSON below.
inline constexpr int kStatedClusterVersion = 1;

/// A cluster at one instant, with the arguments of `Simulation::begin`.
struct StatedCluster {
  ClusterSpec cluster{};
  PlacementKind placement = PlacementKind::Count;
  Workload workload{};  ///< jobs that run or wait, each with its line of the document
  SimulationState state{};
};

/// Reads a state from JSON (docs/decide.md is the reference of its keys):
///
///     {"version": 1, "cluster": "2x8:a100", "placement": "yarn", "now_s": 600, "out_of_service": [1],
///      "jobs": [{"name": "a", "submit_s": 0, "num_gpus": 8, "duration_s": 3600, "requested_s": 7200,
///                "state": "running", "started_s": 60, "nodes": [{"node": 0, "gpus": 8}]},
///               {"name": "b", "submit_s": 540, "num_gpus": 4, "duration_s": 60}]}
///
/// `cluster` is a text that `ClusterSpec::parse` reads. Jobs are rigid, use whole GPUs, and may come in any
/// order. Seconds are exact to the nanosecond up to 100 days, and to the microsecond beyond. Errors name
/// file, line and field: a job that is not submitted yet, has no time left, or has another job's name;
/// running jobs that hold more GPUs than exist in all, of a type or of a node; a placement that must know
/// which GPUs of a node a job holds.
Result<StatedCluster> parse_stated_cluster(const JsonDocument& document);
/// Reads a state from a text. Errors name `file`.
Result<StatedCluster> parse_stated_cluster(std::string text, std::string file);

}  // namespace vtrain
