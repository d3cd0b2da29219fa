/// The subcommands of `vtrain trace`, one file each.
#pragma once

#include "tools/cli/command.hpp"

namespace vtrain {

// Each adds one subcommand to `trace`, which sets `action` when it is chosen.
void add_trace_info(CLI::App& trace, Action& action);
void add_trace_convert(CLI::App& trace, Action& action);
void add_trace_slice(CLI::App& trace, Action& action);
void add_trace_generate(CLI::App& trace, Action& action);
void add_trace_fit(CLI::App& trace, Action& action);

}  // namespace vtrain
