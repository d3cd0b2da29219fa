#include "tools/help_format.hpp"

#include "tools/output_format.hpp"

namespace vtrain {

std::string HelpFormat::make_option_desc(const CLI::Option* option) const {
  return wrap_text(CLI::Formatter::make_option_desc(option), kTextColumns - get_column_width());
}

}  // namespace vtrain
