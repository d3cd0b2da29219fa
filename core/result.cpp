#include "core/result.hpp"

#include <fmt/format.h>

#include "core/text.hpp"

namespace vtrain {

std::string Error::describe() const {
  std::string text;
  if (!file.empty()) {
    text = file;
    if (line > 0) text += fmt::format(":{}", line);
    text += ": ";
  }
  if (!field.empty()) text += field + ": ";
  return text + message;
}

std::string expected_found(std::string_view expected, std::string_view found) {
  constexpr std::size_t kMaxShown = 60;
  const std::string_view shown = found.substr(0, kMaxShown);
  std::string text = fmt::format("expected {}, found '", expected);
  // A terminal or a JSON document must be able to show the message whatever the file held.
  const bool printable = is_printable(shown);
  for (const char c : shown) {
    if (printable || (c >= ' ' && c <= '~')) {
      text += c;
    } else {
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return text + (found.size() <= kMaxShown ? "'" : fmt::format("...' ({} characters)", found.size()));
}

}  // namespace vtrain
