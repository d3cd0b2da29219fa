/// Options that several commands share, bound to the arguments of `tools/experiment`. Options of a single
/// command are declared in its file.
#pragma once

#include <string>

#include "tools/experiment/arguments.hpp"
#include "tools/experiment/spec.hpp"

namespace CLI {
class App;
}

namespace vtrain {

/// Adds the trace files as positional arguments, and their options.
void add_trace_arguments(CLI::App& command, TraceArguments& arguments);

/// Adds `--profile`, `--stack`, `--calibrate`, `--curves` and `--no-cache`.
void add_pricing_options(CLI::App& command, PricingArguments& arguments);

/// Adds an option for each rule that changes jobs.
void add_transformation_options(CLI::App& command, TransformationArguments& arguments);

/// Adds the options of `replay` and `compare` for all of a spec but its policies.
void add_scenario_options(CLI::App& command, ScenarioSpec& spec);

/// Adds `--cluster`, for a command that also has `--gpus`.
void add_cluster_option(CLI::App& command, TargetArguments& arguments);

/// Adds `--set-up`, which decides the interval of predictions.
void add_set_up_option(CLI::App& command, std::string& set_up);

/// Adds `--profile`, `--stack`, `--calibrate`, `--precision`, `--set-up` and `--headroom`.
void add_target_options(CLI::App& command, TargetArguments& arguments);

/// Adds `--spreadsheet-safe`, for a command that writes tables with names.
void add_spreadsheet_option(CLI::App& command, bool& spreadsheet_safe);

/// Adds `--max-input` to every command below `program` that reads files.
void add_input_option(CLI::App& program);

/// Adds `--quiet` and `--color` to `program` and to every command below it.
void add_terminal_options(CLI::App& program);

/// Help on naming a GPU profile: `load_gpu_profile`.
inline constexpr const char* kProfileNameHelp =
    "a name, a JSON file or the folder of a recording; constants can be changed after a colon, as in "
    "h100:node_network_bandwidth=400Gbit/s";

/// Help on the default stack: `default_stack`.
inline constexpr const char* kDefaultStackHelp =
    "megatron-core, on GPUs without fused attention (V100) megatron-2021";

/// All stacks, for help.
std::string stack_names();

}  // namespace vtrain
