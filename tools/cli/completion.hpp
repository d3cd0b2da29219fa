/// Scripts and pages about the program's own command line, made from its commands and options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace vtrain {

/// Names that an option takes, for options whose help does not list them as words: policies, profiles.
struct OptionNames {
  std::string option;  ///< `--policy`
  std::vector<std::string> names;
};

/// The shells that `completion_script` knows.
inline constexpr std::string_view kShells[] = {"bash", "zsh", "fish"};

/// The script that completes commands, options and their names in one of `kShells`. Values of other options
/// complete as files.
std::string completion_script(const CLI::App& program, std::string_view shell,
                              const std::vector<OptionNames>& names);

/// The manual page of the program in section 1, as roff. `version` is the program's.
std::string manual_page(const CLI::App& program, std::string_view version);

}  // namespace vtrain
