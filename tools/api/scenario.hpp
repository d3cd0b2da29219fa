/// Scenarios: `vtrain replay` and `compare` as a library.
///
/// A `ScenarioSpec` is a plain value with a field for each option of the command line; its defaults are those
/// of `vtrain replay`. `Scenario::prepare` reads its files or generates its jobs once: it gives every job a
/// run time (from the trace, or predicted for its model on the GPUs of the cluster), deadlines and speeds.
/// `run` then replays them under a policy, any number of times, without reading anything again.
///
///     vtrain::ScenarioSpec spec;
///     spec.trace.files = {"jobs.csv"};
///     spec.cluster = "16x8:a100";
///     spec.policies = {"fifo", "easy"};
///     std::vector<std::string> warnings;
///     auto scenario = vtrain::Scenario::prepare(spec, warnings);
///     if (!scenario) return report(scenario.error());
///     auto runs = scenario->run_all();
///
/// A prepared scenario does not change: threads may share it, and results do not depend on them. `notes()`
/// lists assumed, generated and extrapolated values, each with its kind and the number of jobs. Errors name
/// options (`--cluster`), or file, line and field. No exception leaves these functions.
///
/// `spec_to_json` and `read_scenario_spec` take a spec to JSON and back. `run.json` of a run folder is one:
/// files that it names are relative to its folder, and must have the recorded hashes.
#pragma once

#include "tools/experiment/scenario.hpp"
#include "tools/experiment/spec.hpp"
