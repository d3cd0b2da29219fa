/// `vtrain completion`: scripts for shells, and `vtrain man`: the manual page.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "core/profile/gpu_profile.hpp"
#include "policies/registry.hpp"
#include "sched/placement/placement.hpp"
#include "tools/cli/completion.hpp"
#include "tools/cli/value_checks.hpp"
#include "tools/commands/commands.hpp"
#include "tools/format/text_format.hpp"
#include "traces/trace_format.hpp"
#include "workloads/stack/stack.hpp"

namespace vtrain {
namespace {

/// Allowed names of options whose help does not list them as words.
std::vector<OptionNames> option_names() {
  OptionNames policy{"--policy", {}};
  for (const PolicyInfo& info : PolicyRegistry::built_in().policies())
    policy.names.push_back(std::string(info.name));
  OptionNames placement{"--placement", {}};
  for (const PlacementInfo& info : placements())
    placement.names.push_back(std::string(info.name));
  OptionNames profile{"--profile", {}};
  for (const std::string_view name : embedded_profile_names())
    profile.names.emplace_back(name);
  OptionNames stack{"--stack", {}};
  for (const Stack& each : all_stacks())
    stack.names.push_back(each.name);
  OptionNames format{"--format", {"auto"}};
  for (const TraceFormat& each : trace_formats())
    format.names.push_back(std::string(each.name));
  return {policy, {"--policies", policy.names}, placement, profile, stack, format};
}

}  // namespace

void add_completion_commands(CLI::App& app, Action& action) {
  CLI::App* completion =
      app.add_subcommand("completion",
                         "Print the script that completes vtrain's commands and options in a shell.\n\n"
                         "  source <(vtrain completion bash)\n"
                         "  vtrain completion fish > ~/.config/fish/completions/vtrain.fish");
  const auto shell = std::make_shared<std::string>();
  completion->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(one_of({std::begin(kShells), std::end(kShells)}));
  completion->callback([&app, &action, shell] {
    action = [&app, shell] {
      print_text(stdout, completion_script(app, *shell, option_names()));
      return Result<void>{};
    };
  });
  // For the build, which installs the page: readers have `man vtrain`.
  CLI::App* manual = app.add_subcommand("man", "Print the manual page.\n\n  vtrain man | man -l -");
  manual->group("");
  manual->callback([&app, &action] {
    action = [&app] {
      print_text(stdout, manual_page(app, VTRAIN_VERSION));
      return Result<void>{};
    };
  });
}

}  // namespace vtrain
