/// Small lease programs for tests, and their best plans by enumeration.
#pragma once

#include <cstdint>
#include <optional>

#include "policies/chronus/lease_plan.hpp"

namespace vtrain::testing {

/// A program of up to `max_jobs` jobs on up to 8 GPUs and 5 leases; some jobs have two deadlines, some
/// deadlines are too early, and some programs have fewer GPUs in lease 0.
LeaseProgram random_lease_program(std::uint64_t seed, std::uint64_t max_jobs);

/// The highest objective of all feasible plans, tried one by one; nothing if no plan is feasible.
std::optional<double> best_objective(const LeaseProgram& program);

}  // namespace vtrain::testing
