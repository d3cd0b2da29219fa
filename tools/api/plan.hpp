/// The search for parallel plans: `vtrain plan` as a library.
///
/// A `PlanSpec` is a plain value: a model (a name of `vtrain models` or a file), numbers of GPUs, profile and
/// stack, the global batch, an objective and a deadline. `read_plan_request` reads the files that it names;
/// `make_plan_report` searches all plans that fit into memory. It returns the best plan of each number of
/// GPUs, the Pareto front of time and GPUs, and the sources of the best plan's numbers.
///
///     vtrain::PlanSpec spec;
///     spec.model = "llama3-8b";
///     spec.gpus = "16";
///     spec.target.profile = "h100";
///     std::vector<std::string> warnings;
///     auto request = vtrain::read_plan_request(spec, warnings);
///     auto plans = vtrain::make_plan_report(*request);
///     double seconds = vtrain::Seconds(plans->fastest.front().iteration).count();
///
/// Iteration times are predictions: `fallbacks` and `remarks` name the parts that no measurement covers.
/// Errors name options, or file, line and field of a model.
#pragma once

#include "tools/experiment/plan_request.hpp"
#include "tools/experiment/spec.hpp"
