#include "tools/cli/completion.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/cli/usage.hpp"

namespace vtrain {
namespace {

std::vector<const CLI::App*> shown_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

/// Calls `visit` with the program and all commands below it.
void for_each_command(const CLI::App& app, const std::function<void(const CLI::App&)>& visit) {
  visit(app);
  for (const CLI::App* command : shown_commands(app))
    for_each_command(*command, visit);
}

/// All names of an option: `-h`, `--help`.
std::vector<std::string> spellings_of(const CLI::Option& option) {
  std::vector<std::string> spellings;
  for (const std::string& name : option.get_snames())
    spellings.push_back("-" + name);
  for (const std::string& name : option.get_lnames())
    spellings.push_back("--" + name);
  return spellings;
}

std::vector<const CLI::Option*> shown_options(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->nonpositional(); });
}

/// The names that an option takes; empty for files, numbers and other text.
std::vector<std::string> values_of(const CLI::Option& option, const std::vector<OptionNames>& names) {
  if (std::vector<std::string> words = words_of(option); !words.empty()) return words;
  const std::vector<std::string> spellings = spellings_of(option);
  for (const OptionNames& known : names) {
    if (std::ranges::find(spellings, known.option) != spellings.end()) return known.names;
  }
  return {};
}

std::string first_sentence(const std::string& description) {
  return description.substr(0, std::min(description.find(". "), description.find('\n')));
}

/// Cases of the shell: for each command below another, `"vtrain trace info") COMMAND ;;`.
std::string command_cases(const CLI::App& program) {
  std::vector<std::string> names;
  for_each_command(program, [&](const CLI::App& app) {
    if (app.get_parent() != nullptr) names.push_back(fmt::format("\"{}\"", name_of_command(app)));
  });
  return fmt::format("{}", fmt::join(names, "|"));
}

/// Cases that set `answers` after an option: to its names, or to `FILES` if it takes something else.
std::string value_cases(const CLI::App& program, const std::vector<OptionNames>& names) {
  std::string text;
  for_each_command(program, [&](const CLI::App& app) {
    for (const CLI::Option* option : shown_options(app)) {
      if (option->get_items_expected_max() == 0) continue;
      const std::vector<std::string> values = values_of(*option, names);
      std::vector<std::string> patterns;
      for (const std::string& spelling : spellings_of(*option))
        patterns.push_back(fmt::format("\"{} {}\"", name_of_command(app), spelling));
      text += fmt::format("    {}) answers='{}' ;;\n", fmt::join(patterns, "|"),
                          values.empty() ? "FILES" : fmt::format("{}", fmt::join(values, " ")));
    }
  });
  return text;
}

/// Cases that set `answers` to the commands and options of each command.
std::string word_cases(const CLI::App& program) {
  std::string text;
  for_each_command(program, [&](const CLI::App& app) {
    std::vector<std::string> words;
    for (const CLI::App* command : shown_commands(app))
      words.push_back(command->get_name());
    for (const CLI::Option* option : shown_options(app)) {
      for (std::string& spelling : spellings_of(*option))
        words.push_back(std::move(spelling));
    }
    text += fmt::format("    \"{}\") answers='{}' ;;\n", name_of_command(app), fmt::join(words, " "));
  });
  return text;
}

std::string bash_script(const CLI::App& program, const std::vector<OptionNames>& names) {
  return fmt::format(R"(# Completion of vtrain in bash: source <(vtrain completion bash)
_vtrain() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command=vtrain answers= i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command ${{COMP_WORDS[i]}}" in
    {}) command+=" ${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$command $previous" in
{}  esac
  if [ -z "$answers" ]; then
    case "$command" in
{}    esac
  fi
  [ "$answers" = FILES ] && return
  COMPREPLY=($(compgen -W "$answers" -- "$current"))
}}
complete -o default -F _vtrain vtrain
)",
                     command_cases(program), value_cases(program, names), word_cases(program));
}

std::string zsh_script(const CLI::App& program, const std::vector<OptionNames>& names) {
  return fmt::format(R"(#compdef vtrain
# Completion of vtrain in zsh: vtrain completion zsh > "${{fpath[1]}}/_vtrain"
_vtrain() {{
  local previous=${{words[CURRENT-1]}} command=vtrain i
  for ((i = 2; i < CURRENT; i++)); do
    case "$command ${{words[i]}}" in
    {}) command+=" ${{words[i]}}" ;;
    esac
  done
  local answers=
  case "$command $previous" in
{}  esac
  if [[ -z $answers ]]; then
    case "$command" in
{}    esac
  fi
  if [[ $answers == FILES ]]; then
    _files
  else
    compadd -- ${{=answers}} || _files
  fi
}}
compdef _vtrain vtrain
)",
                     command_cases(program), value_cases(program, names), word_cases(program));
}

/// Text in single quotes as fish reads it.
std::string fish_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c == '\n' ? ' ' : c;
  }
  return quoted + "'";
}

/// Condition under which fish completes the words after a command.
std::string fish_condition(const CLI::App& app) {
  if (app.get_parent() == nullptr) return "__fish_use_subcommand";
  std::string condition;
  for (const CLI::App* each = &app; each->get_parent() != nullptr; each = each->get_parent())
    condition = fmt::format("__fish_seen_subcommand_from {}{}{}", each->get_name(),
                            condition.empty() ? "" : "; and ", condition);
  return condition;
}

std::string fish_script(const CLI::App& program, const std::vector<OptionNames>& names) {
  std::string text = "# Completion of vtrain in fish: vtrain completion fish | source\n";
  for_each_command(program, [&](const CLI::App& app) {
    const std::string condition = fish_condition(app);
    for (const CLI::App* command : shown_commands(app)) {
      text += fmt::format("complete -c vtrain -f -n {} -a {} -d {}\n", fish_quoted(condition),
                          command->get_name(), fish_quoted(first_sentence(command->get_description())));
    }
    for (const CLI::Option* option : shown_options(app)) {
      text += fmt::format("complete -c vtrain -n {}", fish_quoted(condition));
      for (const std::string& name : option->get_snames())
        text += " -s " + name;
      for (const std::string& name : option->get_lnames())
        text += " -l " + name;
      const std::vector<std::string> values = values_of(*option, names);
      if (!values.empty()) {
        text += fmt::format(" -x -a {}", fish_quoted(fmt::format("{}", fmt::join(values, " "))));
      } else if (option->get_items_expected_max() > 0) {
        text += " -r";
      }
      text += fmt::format(" -d {}\n", fish_quoted(first_sentence(option->get_description())));
    }
  });
  return text;
}

/// Text as roff prints it: hyphens, backslashes, and a dot or apostrophe at the beginning of a line.
std::string roff(std::string_view text) {
  std::string escaped;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
    begins_line = c == '\n';
  }
  return escaped;
}

void add_command(std::string& page, const CLI::App& app) {
  const std::string& description = app.get_description();
  const std::size_t examples = description.find("\n\n");
  page += fmt::format(".SS {}\n{}\n", roff(name_of_command(app)), roff(description.substr(0, examples)));
  if (examples != std::string::npos)
    page += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(description.substr(examples + 2)));
  for (const CLI::Option* option : app.get_options()) {
    // `--help` is the same everywhere.
    if (option == app.get_help_ptr()) continue;
    const std::string name = option->nonpositional()
                                 ? fmt::format("{}", fmt::join(spellings_of(*option), ", "))
                                 : option->get_name(true, false);
    const std::string value = option->nonpositional() ? placeholder_of(*option) : "";
    page += fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", roff(name),
                        value.empty() ? "" : fmt::format(" \\fI{}\\fR", roff(value)),
                        roff(full_description(*option)));
  }
}

}  // namespace

std::string completion_script(const CLI::App& program, std::string_view shell,
                              const std::vector<OptionNames>& names) {
  if (shell == "fish") return fish_script(program, names);
  return shell == "zsh" ? zsh_script(program, names) : bash_script(program, names);
}

std::string manual_page(const CLI::App& program, std::string_view version) {
  const std::string& description = program.get_description();
  const std::string summary = description.substr(0, description.find("\n\n"));
  std::string page = fmt::format(".TH VTRAIN 1 \"\" \"vtrain {}\" \"User Commands\"\n", version);
  page += ".SH NAME\nvtrain \\- simulate a cluster of GPUs that trains language models\n";
  page += ".SH SYNOPSIS\n\\fBvtrain\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]...\n";
  page += fmt::format(
      ".SH DESCRIPTION\n{}\n.PP\nEach command explains itself in short with \\fB\\-h\\fR and in "
      "full with \\fB\\-\\-help\\fR.\n",
      roff(summary));
  page += ".SH COMMANDS\n";
  for_each_command(program, [&](const CLI::App& app) {
    if (app.get_parent() != nullptr) add_command(page, app);
  });
  page +=
      ".SH EXIT STATUS\n.TP\n0\nThe command did what it was asked for.\n.TP\n1\nA run failed, or a file "
      "could not "
      "be written.\n.TP\n2\nThe command line or a file that it names is wrong.\n.TP\n130\nThe command was "
      "interrupted.\n";
  page +=
      ".SH ENVIRONMENT\n.TP\nNO_COLOR\nIf set, text has no colours unless \\-\\-color says "
      "so.\n.TP\nCOLUMNS\nThe "
      "width of text where standard output is no terminal.\n.TP\nXDG_CACHE_HOME\nWhere iteration times are "
      "kept "
      "between runs, in \\fIvtrain\\fR.\n";
  return page;
}

}  // namespace vtrain
