/// `vtrain`: the command line. Every subcommand has a file in `commands`.
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/result.hpp"
#include "core/io/unfinished.hpp"
#include "tools/cli/output_files.hpp"
#include "tools/cli/signals.hpp"
#include "tools/cli/usage.hpp"
#include "tools/commands/commands.hpp"
#include "tools/format/text_format.hpp"
#include "tools/options/options.hpp"

namespace {

constexpr int kExitFailed = 1;
constexpr int kExitBadInput = 2;

int exit_code(vtrain::ErrorKind kind) {
  return kind == vtrain::ErrorKind::Failed ? kExitFailed : kExitBadInput;
}

/// An argument in quotes, as a POSIX shell reads it; apostrophes are outside of the quotes.
std::string quoted(std::string_view argument) {
  std::string text = "'";
  for (const char c : argument)
    text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

/// The command in a form to paste into a shell, with the program's plain name.
std::string command_line(int argc, char** argv) {
  std::string text = "vtrain";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const bool plain =
        !argument.empty() && argument.find_first_of(" \t\n'\"\\$`&|;<>()*?[]{}!#~") == std::string_view::npos;
    text += " " + (plain ? std::string(argument) : quoted(argument));
  }
  return text;
}

/// Rejects empty values of options, the usual result of an unset shell variable.
void refuse_empty_values(CLI::App& command) {
  const CLI::Validator is_given(
      [](const std::string& value) {
        return value.empty() ? vtrain::expected_found("a value", value) : std::string();
      },
      "");
  for (CLI::Option* option : command.get_options())
    option->check(is_given);
  for (CLI::App* subcommand : command.get_subcommands({}))
    refuse_empty_values(*subcommand);
}

/// Flushes the output, as errors of a full disk show only here. Returns the exit code.
int finish_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  vtrain::print_text(stderr, "error: cannot write to standard output: {}\n", std::strerror(errno));
  return kExitFailed;
}

/// Runs the program and returns the exit code.
int run(int argc, char** argv) try {
  spdlog::set_default_logger(spdlog::stderr_color_mt("vtrain"));
  spdlog::set_pattern("%^%l%$: %v");

  CLI::App app{
      "vtrain predicts how long LLM training iterations take and replays job traces on a simulated GPU "
      "cluster.\n\n"
      "  vtrain compare                        five policies on a day of LLM jobs\n"
      "  vtrain replay --trace jobs.csv --cluster 16x8 --policy easy",
      "vtrain"};
  const auto help = std::make_shared<vtrain::HelpFormat>();
  app.formatter(help);
  app.require_subcommand(1);
  app.set_version_flag("-V,--version", "vtrain " VTRAIN_VERSION, "Print the version");
  app.set_help_flag("-h,--help", "Print help, in short or in full");
  const std::string command = command_line(argc, argv);
  vtrain::Action action;
  vtrain::add_predict_command(app, action);
  vtrain::add_plan_command(app, action);
  vtrain::add_profile_command(app, action);
  vtrain::add_scale_command(app, action);
  vtrain::add_validate_command(app, action);
  vtrain::add_trace_command(app, action);
  vtrain::add_replay_command(app, action, command);
  vtrain::add_compare_command(app, action, command);
  vtrain::add_size_command(app, action, command);
  vtrain::add_sweep_command(app, action);
  vtrain::add_report_command(app, action, command);
  vtrain::add_validate_schedule_command(app, action, command);
  vtrain::add_decide_command(app, action);
  vtrain::add_eta_command(app, action);
  vtrain::add_serve_command(app, action);
  vtrain::add_mcp_command(app, action);
  int answer = 0;  // exit code of a command that succeeds
  vtrain::add_admit_command(app, action, answer);
  vtrain::add_list_commands(app, action);
  vtrain::add_completion_commands(app, action);
  app.footer(vtrain::kOutOfScope);  // subcommands would inherit it
  vtrain::add_input_option(app);
  vtrain::add_terminal_options(app);
  vtrain::add_force_options(app);
  refuse_empty_values(app);

  try {
    // `vtrain help plan` is `vtrain plan --help`, as in git.
    std::vector<std::string> words(argv + 1, argv + argc);
    if (!words.empty() && words.front() == "help") {
      words.erase(words.begin());
      words.emplace_back("--help");
    }
    if (const auto checked = vtrain::check_flags_stand_alone(app, words); !checked) {
      fmt::print(stderr, "error: {}\n", checked.error().describe());
      return kExitBadInput;
    }
    help->set_brief(vtrain::asks_for_brief_help(words));
    std::ranges::reverse(words);  // as CLI11 takes them
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    if (vtrain::asks_for_help(app, error)) {
      app.exit(error);  // prints the help or the version
      return finish_output();
    }
    vtrain::print_text(stderr, "{}", vtrain::describe_usage_error(app, error));
    return kExitBadInput;
  }
  auto usable = vtrain::check_arguments_stay(app);
  if (usable) usable = vtrain::check_outputs_are_new(app);
  if (const auto done = usable ? action() : usable; !done) {
    vtrain::print_text(stderr, "error: {}\n", done.error().describe());
    return exit_code(done.error().kind);
  }
  const int output = finish_output();
  return output != 0 ? output : answer;
} catch (const std::filesystem::filesystem_error& error) {
  // Of a path that may not be looked at.
  vtrain::print_text(stderr, "error: {}: {}\n", error.path1().string(), error.code().message());
  return kExitBadInput;
} catch (const std::system_error& error) {
  // Of printing, or of starting a thread.
  const bool printing = std::ferror(stdout) != 0;
  vtrain::print_text(stderr, "error: {}{}\n", printing ? "cannot write to standard output: " : "",
                     printing ? error.code().message() : error.what());
  return kExitFailed;
} catch (const std::bad_alloc&) {
  std::fputs("error: out of memory\n", stderr);
  return kExitFailed;
} catch (const std::exception& error) {
  vtrain::print_text(stderr, "error: {}\n", error.what());
  return kExitFailed;
}

}  // namespace

int main(int argc, char** argv) {
  vtrain::stop_cleanly_on_interrupt();
  const int code = run(argc, argv);
  vtrain::hold_off_interrupts().release();  // a signal comes too late now, or ends the program here
  return code;
}
