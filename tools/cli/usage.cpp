#include "tools/cli/usage.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/names.hpp"
#include "core/base/result.hpp"
#include "core/base/strings.hpp"
#include "core/base/utf8.hpp"
#include "core/profile/gpu_profile.hpp"
#include "tools/format/text_format.hpp"

namespace vtrain {
namespace {

/// The command that was reached, with its full name: `vtrain trace info`.
struct ReachedCommand {
  const CLI::App* app;
  std::string name;
};

ReachedCommand reached_command(const CLI::App& program) {
  const CLI::App* reached = &program;
  for (auto chosen = program.get_subcommands(); !chosen.empty(); chosen = reached->get_subcommands())
    reached = chosen.front();
  return {reached, name_of_command(*reached)};
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

/// Plural of a singular name, and the reverse: `--policies` and `--policy`. Other names are returned
/// unchanged.
std::string in_other_number(std::string_view name) {
  const auto with_end = [name](std::size_t cut, std::string_view end) {
    return std::string(name.substr(0, name.size() - cut)) + std::string(end);
  };
  if (name.ends_with("y")) return with_end(1, "ies");
  return name.ends_with("ies") ? with_end(3, "y") : std::string(name);
}

Error unknown_option(const CLI::App& app, std::string_view argument) {
  const std::string_view name = argument.substr(0, argument.find('='));
  const std::vector<std::string> options = options_of(app);
  const std::vector<std::string_view> known(options.begin(), options.end());
  const std::string other = in_other_number(name);
  std::string meant = std::ranges::find(known, other) != known.end()
                          ? fmt::format("did you mean '{}'?", other)
                          : did_you_mean(name, known);
  if (meant.empty())
    meant = did_you_mean(name.substr(std::min(name.find_first_not_of('-'), name.size())), known);
  // All options would fill the screen: help lists them.
  return {.field = printable(name), .message = meant.empty() ? "unknown option" : "unknown option; " + meant};
}

/// Error on words before the command, which must be options of the program.
std::optional<Error> misplaced_option(const CLI::App& program) {
  const ReachedCommand reached = reached_command(program);
  if (reached.app == &program) return std::nullopt;
  const CLI::App* parent = reached.app->get_parent();
  for (; parent != nullptr; parent = parent->get_parent()) {
    const std::vector<std::string> left = parent->remaining();
    const auto option = std::find_if(left.begin(), left.end(), is_option);
    if (option == left.end()) continue;
    const std::string name = option->substr(0, option->find('='));
    if (reached.app->get_option_no_throw(name) == nullptr) return unknown_option(*parent, *option);
    return Error{.field = printable(name),
                 .message = fmt::format("belongs behind the command: {} {}", reached.name, printable(name))};
  }
  return std::nullopt;
}

/// Error on unknown words of a command; none if it knows all of them.
std::optional<Error> unknown_part(const CLI::App& app) {
  const std::vector<std::string> left = app.remaining();
  if (left.empty()) return std::nullopt;
  if (needs_command(app) && !is_option(left.front())) return unknown_command(app, left.front());
  const auto option = std::find_if(left.begin(), left.end(), is_option);
  if (option != left.end()) return unknown_option(app, *option);
  return Error{.field = printable(left.front()), .message = "unexpected argument"};
}

/// Message of CLI11, in the words of our other errors.
std::string complaint_of(const CLI::ParseError& error) {
  const std::string text = printable(error.what());
  constexpr std::string_view kRequired = " is required";
  if (text.ends_with(kRequired)) return text.substr(0, text.size() - kRequired.size()) + ": missing";
  // `--timeline: 1 required TEXT missing`
  constexpr std::string_view kMissing = " missing";
  const std::size_t needed = text.find(": 1 required ");
  if (needed != std::string::npos && text.ends_with(kMissing))
    return text.substr(0, needed) + ": expected a value, found none";
  // `--seed: At Most 1 required but received 2`
  if (const std::size_t most = text.find(": At Most "); most != std::string::npos)
    return text.substr(0, most) + ": expected once, found several times";
  const auto reworded = [&text](std::string_view theirs, std::string_view ours) {
    const std::size_t verb = text.find(theirs);
    if (verb == std::string::npos) return text;
    return fmt::format("{}: {} {}", text.substr(0, verb), ours, text.substr(verb + theirs.size()));
  };
  using CLI::ExitCodes;
  const auto code = static_cast<ExitCodes>(error.get_exit_code());
  if (code == ExitCodes::ExcludesError) return reworded(" excludes ", "cannot be given with");
  if (code == ExitCodes::RequiresError) return reworded(" requires ", "needs");
  return text;
}

/// A command of an example; one that is too long continues in a second line, as in a shell.
std::string folded_example(const std::string& line, std::size_t columns) {
  constexpr std::string_view kGoesOn = " \\\n     ";
  if (line.size() <= columns) return line;
  const std::size_t option = line.rfind(" --", columns - 2);
  return option == std::string::npos ? line
                                     : line.substr(0, option) + std::string(kGoesOn) + line.substr(option);
}

/// A command's description, wrapped, with its examples, which are indented.
std::string wrap_description(const std::string& description, std::size_t columns) {
  std::istringstream lines(description);
  std::string wrapped;
  for (std::string line; std::getline(lines, line);) {
    if (!wrapped.empty()) wrapped += '\n';
    wrapped += line.starts_with(' ') ? folded_example(line, columns) : wrap_text(line, columns);
  }
  return wrapped;
}

/// Columns of help: 80, which most terminals have, or fewer.
std::size_t help_columns() {
  constexpr std::size_t kColumns = 80;
  return std::min(kColumns, output_columns().value_or(kColumns));
}

/// Part of a description before its first explanation.
std::string first_clause(const std::string& description) {
  std::size_t end = description.size();
  for (const std::string_view stop : {": ", ":\n", "; ", " (", ". ", "\n"})
    end = std::min(end, description.find(stop));
  return description.substr(0, end);
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
  } else if (const auto misplaced = misplaced_option(program)) {
    message = misplaced->describe();
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
  constexpr std::array<const char*, 6> kOutputs = {"--out",   "--report",      "--timeline",
                                                   "--graph", "--predictions", "--extrapolated"};
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

std::string name_of_command(const CLI::App& command) {
  std::string name = command.get_name();
  for (const CLI::App* parent = command.get_parent(); parent != nullptr; parent = parent->get_parent())
    name = parent->get_name() + " " + name;
  return name;
}

bool asks_for_brief_help(std::span<const std::string> words) {
  const auto end = std::find(words.begin(), words.end(), "--");
  return std::find(words.begin(), end, "-h") != end && std::find(words.begin(), end, "--help") == end;
}

std::vector<std::string> words_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t colon = type.find(':');
  if (colon == std::string::npos || type.find('|') == std::string::npos) return {};
  std::vector<std::string> words;
  for (const std::string_view word : split(std::string_view(type).substr(colon + 1), '|'))
    words.emplace_back(word);
  return words;
}

std::string placeholder_of(const CLI::Option& option) {
  if (option.get_items_expected_max() == 0) return {};
  if (const std::vector<std::string> words = words_of(option); !words.empty())
    return fmt::format("{}", fmt::join(words, "|"));
  std::string name = option.get_lnames().empty() ? option.get_name() : option.get_lnames().front();
  name = name.substr(name.find_last_of('-') + 1);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return name;
}

std::string full_description(const CLI::Option& option) {
  std::string text = option.get_description();
  if (option.get_items_expected_max() == 0) return text;
  const std::string type = option.get_type_name();
  const std::size_t colon = type.find(':');
  if (colon != std::string::npos && words_of(option).empty())
    text += fmt::format(" ({})", type.substr(colon + 1));
  if (option.get_required()) text += " (required)";
  if (!option.get_default_str().empty()) text += fmt::format(" [default: {}]", option.get_default_str());
  return text;
}

HelpFormat::HelpFormat() {
  constexpr std::size_t kIndent = 26;
  column_width(kIndent);
}

std::string HelpFormat::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
  for (std::size_t gap = text.find("\n\n\n"); gap != std::string::npos; gap = text.find("\n\n\n", gap))
    text.erase(gap, 1);
  text.erase(text.find_last_not_of('\n') + 1);
  text += '\n';
  if (!brief_) return text;
  const bool has_commands = !commands_of(*app).empty();
  return text + fmt::format("\n'{}{} --help' tells more of {}.\n", name_of_command(*app),
                            has_commands ? " COMMAND" : "", has_commands ? "one" : "each");
}

std::string HelpFormat::make_group(std::string group, bool is_positional,
                                   std::vector<const CLI::Option*> options) const {
  return CLI::Formatter::make_group(in_bold(group, stdout), is_positional, std::move(options));
}

std::string HelpFormat::make_option_opts(const CLI::Option* option) const {
  const bool takes_several = option->get_expected_max() == CLI::detail::expected_max_vector_size;
  const std::string several = takes_several ? " ..." : "";
  if (option->get_positional()) return several;
  const std::string value = placeholder_of(*option);
  return value.empty() ? value : " " + value + several;
}

std::string HelpFormat::make_option_desc(const CLI::Option* option) const {
  const std::string text = brief_ ? first_clause(option->get_description()) : full_description(*option);
  return wrap_text(text, help_columns() - get_column_width());
}

std::string HelpFormat::make_description(const CLI::App* app) const {
  return wrap_description(app->get_description(), help_columns()) + "\n\n";
}

std::string HelpFormat::make_subcommand(const CLI::App* command) const {
  const std::string& description = command->get_description();
  std::ostringstream text;
  CLI::detail::format_help(
      text, command->get_display_name(true),
      wrap_text(description.substr(0, description.find("\n\n")), help_columns() - get_column_width()),
      get_column_width());
  return text.str();
}

}  // namespace vtrain
