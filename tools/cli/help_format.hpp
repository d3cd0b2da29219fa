/// How `--help` is laid out.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace vtrain {

/// Help whose descriptions of options and commands are wrapped.
class HelpFormat : public CLI::Formatter {
 public:
  std::string make_description(const CLI::App* app) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
};

}  // namespace vtrain
