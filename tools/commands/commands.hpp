/// Subcommands of `vtrain`, and functions that they share.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace vtrain {

/// The work of the subcommand that was chosen. It is run after all arguments have been read; an error is
/// printed once, by `main`, which also turns it into the exit code.
using Action = std::function<Result<void>()>;

// Each adds one subcommand, which sets `action` when it is chosen.
void add_predict_command(CLI::App& app, Action& action);
void add_plan_command(CLI::App& app, Action& action);
void add_profile_command(CLI::App& app, Action& action);
void add_calibrate_command(CLI::App& profile, Action& action);  ///< below `profile`
void add_scale_command(CLI::App& app, Action& action);
void add_validate_command(CLI::App& app, Action& action);
void add_trace_command(CLI::App& app, Action& action);
// Those whose results say how to repeat them take the whole command as the user gave it.
void add_replay_command(CLI::App& app, Action& action, const std::string& command_line);
void add_compare_command(CLI::App& app, Action& action, const std::string& command_line);
void add_size_command(CLI::App& app, Action& action, const std::string& command_line);
void add_sweep_command(CLI::App& app, Action& action);
void add_report_command(CLI::App& app, Action& action, const std::string& command_line);
void add_validate_schedule_command(CLI::App& app, Action& action, const std::string& command_line);
void add_decide_command(CLI::App& app, Action& action);
void add_eta_command(CLI::App& app, Action& action);
void add_serve_command(CLI::App& app, Action& action);
void add_mcp_command(CLI::App& app, Action& action);
/// Sets the exit code of a command that succeeds: 3 for a no.
void add_admit_command(CLI::App& app, Action& action, int& exit_code);
void add_list_commands(CLI::App& app, Action& action);        ///< policies, models, clusters
void add_completion_commands(CLI::App& app, Action& action);  ///< completion, man

// Subcommands of `trace`.
void add_trace_info(CLI::App& trace, Action& action);
void add_trace_convert(CLI::App& trace, Action& action);
void add_trace_slice(CLI::App& trace, Action& action);
void add_trace_generate(CLI::App& trace, Action& action);
void add_trace_fit(CLI::App& trace, Action& action);

/// Last lines of help: kinds of training that no command models.
inline constexpr const char* kOutOfScope =
    "Not modelled: LoRA, preference and RL post-training, vision towers, batch ramps\n"
    "(docs/plans.md).";

/// Logs a warning, printable but for line feeds.
void log_warning(std::string_view text);

/// Logs each warning, in their order.
void log_warnings(const std::vector<std::string>& warnings);

}  // namespace vtrain
