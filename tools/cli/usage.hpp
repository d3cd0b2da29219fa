/// The program's texts on its own command line: help, and errors in its usage.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>

#include "core/base/result.hpp"

namespace vtrain {

/// Help whose descriptions of options and commands are wrapped.
class HelpFormat : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
};

/// True if the parse of `program` ended because the user asked for help or the version of a known command.
bool asks_for_help(const CLI::App& program, const CLI::ParseError& error);

/// The message on a command line that `program` did not take. Names the unknown option, argument or command
/// with the nearest known one, or else repeats CLI11; then names the command that has the help.
std::string describe_usage_error(const CLI::App& program, const CLI::ParseError& error);

/// Errors if one of the arguments gives a flag a value (`--json=no`).
Result<void> check_flags_stand_alone(const CLI::App& program, std::span<const std::string> words);

/// Errors if a file that a command is to write (`--out`, `--report`, `--timeline`, `--graph`,
/// `--predictions`) is one that it reads, by a positional argument, `--trace`, `--from`, `--cluster`,
/// `--throughputs`,
/// `--calibrate`, `--profile` or `--devices`, or writes for another option. Files in folders, and commands
/// that write a folder, are not checked.
Result<void> check_arguments_stay(const CLI::App& program);

}  // namespace vtrain
