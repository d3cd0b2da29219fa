#include "tools/cli/help_format.hpp"

#include <sstream>

#include "tools/format/text_format.hpp"

namespace vtrain {
namespace {

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
