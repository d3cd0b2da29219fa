#include "tools/cli/output_files.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

#include "core/io/file.hpp"

namespace vtrain {
namespace {

constexpr const char* kForce = "--force";
const std::string kMeaning = "Replace a file that exists";

/// The options of a command that name a file to write.
std::vector<const CLI::Option*> output_options(const CLI::App& command) {
  constexpr std::array<std::string_view, 3> kHaveOwnRules = {"replay", "compare", "sweep"};
  std::vector<const CLI::Option*> options;
  if (const CLI::Option* const option = command.get_option_no_throw("--decisions"); option != nullptr)
    options.push_back(option);
  if (std::ranges::find(kHaveOwnRules, command.get_name()) != kHaveOwnRules.end()) return options;
  for (const char* const name :
       {"--out", "--report", "--predictions", "--timeline", "--graph", "--extrapolated"}) {
    if (const CLI::Option* const option = command.get_option_no_throw(name); option != nullptr)
      options.push_back(option);
  }
  return options;
}

}  // namespace

void add_force_options(CLI::App& program) {
  for (CLI::App* const command : program.get_subcommands({})) {
    add_force_options(*command);
    if (!output_options(*command).empty()) command->add_flag(kForce, kMeaning);
  }
}

Result<void> check_outputs_are_new(const CLI::App& program) {
  for (const CLI::App* const command : program.get_subcommands()) {
    if (auto checked = check_outputs_are_new(*command); !checked) return checked;
    const CLI::Option* const force = command->get_option_no_throw(kForce);
    if (force == nullptr || force->count() > 0) continue;
    for (const CLI::Option* const option : output_options(*command)) {
      if (option->count() == 0) continue;
      const std::string name = option->results().back();
      std::error_code ignored;
      if (!std::filesystem::is_regular_file(name, ignored) || standard_stream(name)) continue;
      return fail(
          {.field = option->get_name(),
           .message = fmt::format("'{}' exists: name another file, or replace it with {}", name, kForce)});
    }
  }
  return {};
}

std::string unused_file_name(std::string_view stem, std::string_view ending) {
  std::string name = fmt::format("{}{}", stem, ending);
  std::error_code ignored;
  for (int number = 2; std::filesystem::exists(name, ignored); ++number)
    name = fmt::format("{}-{}{}", stem, number, ending);
  return name;
}

}  // namespace vtrain
