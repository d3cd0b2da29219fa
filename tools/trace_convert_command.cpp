/// `vtrain trace convert`: a trace in another format.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "tools/trace_arguments.hpp"
#include "tools/trace_commands.hpp"
#include "tools/trace_output.hpp"

namespace vtrain {
namespace {

/// The arguments as given.
struct ConvertArguments {
  TraceArguments trace;
  OutputArguments output;
};

Result<void> convert(const ConvertArguments& arguments) {
  auto read = read_traces(arguments.trace);
  if (!read) return fail(read.error());
  const auto lost = write_trace(read->trace, arguments.output);
  if (!lost) return fail(lost.error());
  print_written_trace(fmt::format("{} ({})", read->name(), read->trace.format), read->trace, *lost,
                      arguments.output);
  return {};
}

}  // namespace

void add_trace_convert(CLI::App& trace, Action& action) {
  CLI::App* command = trace.add_subcommand("convert",
                                           "Write a trace, or several as one, in another format.\n\n"
                                           "  vtrain trace convert 60_job.csv --to vtrain --out jobs.csv\n"
                                           "  vtrain trace convert itp/*.csv.gz --to vtrain --out itp.csv");
  const auto arguments = std::make_shared<ConvertArguments>();
  add_trace_arguments(*command, arguments->trace);
  add_output_options(*command, arguments->output);
  command->callback([=, &action] { action = [=] { return convert(*arguments); }; });
}

}  // namespace vtrain
