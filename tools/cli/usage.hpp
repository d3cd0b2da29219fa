/// Texts on the command line itself: help, and errors of usage.
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
  /// Selects short (`-h`) or full (`--help`) descriptions of options.
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

/// Placeholder of an option's value in help: the words `always|never|auto`, or the last word of the option's
/// name in capitals. Empty for a flag.
std::string placeholder_of(const CLI::Option& option);

/// Allowed values of an option that takes some words (`one_of`); empty for other options.
std::vector<std::string> words_of(const CLI::Option& option);

/// Full description of an option, with range, default and whether it is required.
std::string full_description(const CLI::Option& option);

/// True if the words of a command line ask for short help: `-h` and no `--help`.
bool asks_for_brief_help(std::span<const std::string> words);

/// Full name of a command: `vtrain trace info`.
std::string name_of_command(const CLI::App& command);

/// True if the parse of `program` ended because the user asked for help or the version of a known command.
bool asks_for_help(const CLI::App& program, const CLI::ParseError& error);

/// Message on a command line that `program` rejected. Names the unknown option, argument or command with the
/// nearest known one, or else repeats CLI11's message. Ends with the command that shows help.
std::string describe_usage_error(const CLI::App& program, const CLI::ParseError& error);

/// Error if an argument gives a value to a flag (`--json=no`).
Result<void> check_flags_stand_alone(const CLI::App& program, std::span<const std::string> words);

/// Error if two options of a command write one file, or a command would write a file that it reads. Outputs:
/// `--out`, `--report`, `--timeline`, `--graph`, `--predictions`, `--extrapolated`. Inputs: positional
/// arguments, `--trace`,
/// `--from`, `--cluster`, `--throughputs`, `--calibrate`, `--profile`, `--devices`. Files in folders, and
/// commands that write a folder, are not checked.
Result<void> check_arguments_stay(const CLI::App& program);

}  // namespace vtrain
