/// Policies of your own.
///
/// A policy derives from `DecisionPolicy` (or `RoundPolicy`) and writes one function, `decide`: `PassEvents`
/// go in, a `Decision` comes out, both plain values. `PolicyRegistry::add` gives it a name and parameters; a
/// `Scenario` that is prepared with that registry replays it next to the policies of vtrain.
/// `docs/example_policy.cpp` is one in full.
///
///     vtrain::PolicyRegistry registry;
///     const auto make = [](const auto&) { return std::make_unique<Mine>(); };
///     registry.add({.name = "mine", .summary = "…", .make = make});
///     auto scenario = vtrain::Scenario::prepare(spec, warnings, registry);
///     auto run = scenario->run("mine");
///
/// `to_json`, `parse_pass_events` and `parse_decision` take these values to other processes and back.
#pragma once

#include "policies/registry.hpp"
#include "sched/simulation/decision.hpp"
#include "sched/simulation/decision_json.hpp"
