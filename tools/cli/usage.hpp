/// The program's texts on its own command line: help, and errors in its usage.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.hpp"

namespace vtrain {

/// Help in lines of at most 80 columns.
class HelpFormat : public CLI::Formatter {
 public:
  HelpFormat();
  /// Whether options are told in a few words each (`-h`), not in full (`--help`).
  void set_brief(bool brief) { brief_ = brief; }

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;

 private:
  bool brief_ = false;
};

/// The placeholder of an option's value in help: its words `always|never|auto`, or the last word of its name
/// in capitals. Empty for a flag.
std::string placeholder_of(const CLI::Option& option);

/// The values that an option takes if these are a few words (`one_of`); empty for others.
std::vector<std::string> words_of(const CLI::Option& option);

/// The description of an option in full: with the range of numbers, the default, and that it is required.
std::string full_description(const CLI::Option& option);

/// True if the words of a command line ask for short help: `-h` and no `--help`.
bool asks_for_brief_help(std::span<const std::string> words);

/// How a command is called: `vtrain trace info`.
std::string name_of_command(const CLI::App& command);

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
