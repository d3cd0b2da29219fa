#include "tools/commands/commands.hpp"

#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>

#include "core/base/utf8.hpp"

namespace vtrain {

void add_trace_command(CLI::App& app, Action& action) {
  CLI::App* trace = app.add_subcommand(
      "trace",
      "Describe traces of GPU jobs, convert them and generate new ones.\n\n  vtrain trace info jobs.csv\n  "
      "vtrain trace generate --jobs 1000 --cluster 16x8:a100 --out jobs.csv");
  trace->require_subcommand(1);
  add_trace_info(*trace, action);
  add_trace_convert(*trace, action);
  add_trace_slice(*trace, action);
  add_trace_generate(*trace, action);
  add_trace_fit(*trace, action);
}

void log_warning(std::string_view text) {
  spdlog::warn("{}", printable(text, "\n"));
}

void log_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings)
    log_warning(warning);
}

}  // namespace vtrain
