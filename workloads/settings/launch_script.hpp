/// Launch scripts: the settings of the training command that a shell script runs.
///
/// Nothing is executed. A small expander follows assignments, arrays, `${NAME:-default}`, `$((...))`, `if`,
/// `case`, tests and lists of commands. Loops run once. What other commands print is unknown, and so are
/// variables without value; an error names them where a setting needs them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "workloads/settings/named_setting.hpp"

namespace vtrain {

/// Settings of a script, and remarks on what was not followed, a sentence each.
struct LaunchScript {
  std::vector<NamedSetting> settings;
  std::vector<std::string> remarks;
};

/// Reads the options of the training command, and those of its launcher (`torchrun --nproc_per_node 8`) and
/// of Slurm (`#SBATCH --nodes=4`) that give the number of GPUs. A text of options alone is such a command. A
/// script that only assigns options to variables gives all of these.
///
/// Errors name file and line: quotes and brackets without end, `if` without `fi`, several training commands,
/// no options at all, expansion beyond 4 MB.
Result<LaunchScript> parse_launch_script(std::string_view text, const std::string& file);

/// Reads the options in the words of a command line, each with its line.
std::vector<NamedSetting> settings_of_words(const std::vector<std::pair<std::string, std::int64_t>>& words);

}  // namespace vtrain
