/// Expander of shell scripts: their commands, with variables replaced. Nothing is executed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"
#include "workloads/settings/shell_text.hpp"

namespace vtrain {

/// A command with its words, expanded and split.
struct ShellCommand {
  std::vector<ShellText> words;
};

/// Expands a script and keeps its commands.
class ShellExpander {
 public:
  explicit ShellExpander(std::string file) : file_(std::move(file)) {}

  /// Runs the text of a script. Errors name file and line.
  Result<void> run(std::string_view text);

  /// Commands that would run, in their order.
  const std::vector<ShellCommand>& commands() const { return commands_; }
  /// Values that were assigned to variables, in the order of the script.
  const std::vector<ShellCommand>& assigned() const { return assigned_; }
  /// Options of `#SBATCH` lines.
  const std::vector<ShellCommand>& slurm_options() const { return slurm_; }
  /// Remarks on what was not followed, a sentence each.
  const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  class Reader;

  std::string file_;
  std::map<std::string, std::vector<ShellText>, std::less<>> variables_;
  std::vector<ShellCommand> commands_;
  std::vector<ShellCommand> assigned_;
  std::vector<ShellCommand> slurm_;
  std::vector<std::string> remarks_;
  std::optional<Error> error_;
  std::size_t num_characters_ = 0;  ///< characters that expansion has made
  bool has_ended_ = false;          ///< the script has come to an `exit`
};

}  // namespace vtrain
