#include "tools/cli/usage.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/result.hpp"
#include "core/base/utf8.hpp"
#include "core/profile/gpu_profile.hpp"
#include "tools/format/text_format.hpp"

namespace vtrain {
namespace {

/// The command that was reached, and how it is called: `vtrain trace info`.
struct ReachedCommand {
  const CLI::App* app;
  std::string name;
};

ReachedCommand reached_command(const CLI::App& program) {
  ReachedCommand reached{&program, program.get_name()};
  for (auto chosen = program.get_subcommands(); !chosen.empty(); chosen = reached.app->get_subcommands()) {
    reached.app = chosen.front();
    reached.name += " " + reached.app->get_name();
  }
  return reached;
}

bool needs_command(const CLI::App& app) {
  return app.get_require_subcommand_min() > 0 && app.get_subcommands().empty();
}

std::vector<std::string_view> commands_of(const CLI::App& app) {
  std::vector<std::string_view> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames())
      names.push_back("--" + name);
  }
  return names;
}

bool is_option(std::string_view argument) {
  return argument.starts_with('-');
}

Error unknown_command(const CLI::App& app, const std::string& name) {
  return {.field = printable(name), .message = "unknown command; " + suggest_name(name, commands_of(app))};
}

Error unknown_option(const CLI::App& app, std::string_view argument) {
  const std::string_view name = argument.substr(0, argument.find('='));
  const std::vector<std::string> options = options_of(app);
  const std::vector<std::string_view> known(options.begin(), options.end());
  std::string meant = did_you_mean(name, known);
  if (meant.empty())
    meant = did_you_mean(name.substr(std::min(name.find_first_not_of('-'), name.size())), known);
  // All options would fill the screen: help lists them.
  return {.field = printable(name), .message = meant.empty() ? "unknown option" : "unknown option; " + meant};
}

/// What the command did not know; nothing if it knew all that it was given.
std::optional<Error> unknown_part(const CLI::App& app) {
  const std::vector<std::string> left = app.remaining();
  if (left.empty()) return std::nullopt;
  if (needs_command(app) && !is_option(left.front())) return unknown_command(app, left.front());
  const auto option = std::find_if(left.begin(), left.end(), is_option);
  if (option != left.end()) return unknown_option(app, *option);
  return Error{.field = printable(left.front()), .message = "unexpected argument"};
}

/// What CLI11 says, in the words of our other errors.
std::string complaint_of(const CLI::ParseError& error) {
  const std::string text = printable(error.what());
  constexpr std::string_view kRequired = " is required";
  if (text.ends_with(kRequired)) return text.substr(0, text.size() - kRequired.size()) + ": missing";
  // `--timeline: 1 required TEXT missing`
  constexpr std::string_view kMissing = " missing";
  const std::size_t needed = text.find(": 1 required ");
  if (needed != std::string::npos && text.ends_with(kMissing))
    return text.substr(0, needed) + ": expected a value, found none";
  return text;
}

/// A command's description, wrapped; examples, which are indented, stay as they are.
std::string wrap_description(const std::string& description, std::size_t columns) {
  std::istringstream lines(description);
  std::string wrapped;
  for (std::string line; std::getline(lines, line);) {
    if (!wrapped.empty()) wrapped += '\n';
    wrapped += line.starts_with(' ') ? line : wrap_text(line, columns);
  }
  return wrapped;
}

}  // namespace

bool asks_for_help(const CLI::App& program, const CLI::ParseError& error) {
  if (error.get_exit_code() != 0) return false;
  const CLI::App& app = *reached_command(program).app;
  const std::vector<std::string> left = app.remaining();
  const bool of_unknown_command = needs_command(app) && !left.empty() && !is_option(left.front());
  return !of_unknown_command;
}

std::string describe_usage_error(const CLI::App& program, const CLI::ParseError& error) {
  const auto [app, name] = reached_command(program);
  std::string message = complaint_of(error);
  if (const auto unknown = unknown_part(*app)) {
    message = unknown->describe();
  } else if (needs_command(*app)) {
    message = "expected one of the commands " + list_names(commands_of(*app));
  }
  return fmt::format("error: {}\nRun '{} --help' for more.\n", message, name);
}

Result<void> check_flags_stand_alone(const CLI::App& program, std::span<const std::string> words) {
  const CLI::App* app = &program;
  for (const std::string& word : words) {
    if (word == "--") break;
    if (!is_option(word)) {
      const auto commands =
          app->get_subcommands([&word](const CLI::App* command) { return command->get_name() == word; });
      if (!commands.empty()) app = commands.front();
      continue;
    }
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = word.substr(0, equals);
    const CLI::Option* const option = app->get_option_no_throw(name);
    if (option != nullptr && option->get_items_expected_max() == 0)
      return fail({.field = name, .message = expected_found("no value", word.substr(equals + 1))});
  }
  return {};
}

Result<void> check_arguments_stay(const CLI::App& program) {
  constexpr std::array<const char*, 5> kOutputs = {"--out", "--report", "--timeline", "--graph",
                                                   "--predictions"};
  constexpr std::array<const char*, 7> kInputs = {"--trace",     "--from",    "--cluster", "--throughputs",
                                                  "--calibrate", "--profile", "--devices"};
  constexpr std::array<std::string_view, 3> kWriteFolders = {"replay", "compare", "record"};
  const CLI::App& app = *reached_command(program).app;
  if (std::find(kWriteFolders.begin(), kWriteFolders.end(), app.get_name()) != kWriteFolders.end()) return {};
  const auto given = [&app](const char* name) {
    const CLI::Option* const option = app.get_option_no_throw(name);
    return option == nullptr || option->empty() ? nullptr : option;
  };
  std::vector<std::string> inputs;
  for (const CLI::Option* const option : app.get_options()) {
    const bool is_input = option->get_positional() ||
                          std::find(kInputs.begin(), kInputs.end(), option->get_name()) != kInputs.end();
    if (is_input) inputs.insert(inputs.end(), option->results().begin(), option->results().end());
  }
  std::map<std::filesystem::path, const char*> outputs;
  for (const char* const name : kOutputs) {
    const CLI::Option* const output = given(name);
    if (output == nullptr) continue;
    const std::string& path = output->results().front();
    std::error_code ignored;  // of what is not there
    for (const std::string& input : inputs) {
      // A table of nodes may be named with a day, `nodes.csv@2023-01-01`, a profile with constants.
      const bool is_read = std::filesystem::equivalent(path, input, ignored) ||
                           std::filesystem::equivalent(path, input.substr(0, input.find('@')), ignored) ||
                           std::filesystem::equivalent(path, split_profile_name(input).base, ignored);
      if (!is_read || !std::filesystem::is_regular_file(path, ignored)) continue;
      return fail({.field = name,
                   .message = fmt::format("would overwrite '{}', which is read; name another file",
                                          printable(input))});
    }
    const auto [other, is_new] = outputs.try_emplace(std::filesystem::weakly_canonical(path, ignored), name);
    if (!is_new)
      return fail({.field = name, .message = fmt::format("names the same file as {}", other->second)});
  }
  return {};
}

std::string HelpFormat::make_option_desc(const CLI::Option* option) const {
  return wrap_text(CLI::Formatter::make_option_desc(option), kTextColumns - get_column_width());
}

std::string HelpFormat::make_description(const CLI::App* app) const {
  return wrap_description(app->get_description(), kTextColumns) + "\n\n";
}

std::string HelpFormat::make_subcommand(const CLI::App* command) const {
  std::ostringstream text;
  CLI::detail::format_help(text, command->get_display_name(true),
                           wrap_description(command->get_description(), kTextColumns - get_column_width()),
                           get_column_width());
  return text.str();
}

}  // namespace vtrain
