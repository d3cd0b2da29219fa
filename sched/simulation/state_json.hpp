/// States of simulations as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/base/result.hpp"
#include "sched/simulation/simulation.hpp"

namespace vtrain {

/// The state as JSON, with the memory of its policy. Names and curves of its jobs are in their workload,
/// which must be kept too (`workloads/jobs/job_json.hpp`).
nlohmann::json to_json(const SimulationState& state);

/// Reads such JSON exactly. `policy` is a new policy of equal parameters. Errors name the path to a value
/// that is missing, unknown, of another type, out of range or in contradiction to others: `jobs[3].num_gpus`.
/// `Simulation::begin` checks the state against jobs and cluster. The time of a state is not negative.
Result<SimulationState> state_from_json(const nlohmann::json& from, const Policy& policy);

}  // namespace vtrain
