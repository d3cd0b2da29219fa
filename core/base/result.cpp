#include "core/base/result.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/utf8.hpp"

namespace vtrain {

std::string Error::describe() const {
  std::string text;
  if (!file.empty()) {
    text = printable(file);
    if (line > 0) text += fmt::format(":{}", line);
    text += ": ";
  }
  if (!field.empty()) text += printable(field) + ": ";
  return text + printable(message, "\n");
}

std::string expected_found(std::string_view expected, std::string_view found) {
  constexpr std::size_t kMaxShown = 60;
  const std::string shown = printable(first_bytes(found, kMaxShown));
  if (found.size() <= kMaxShown) return fmt::format("expected {}, found '{}'", expected, shown);
  const auto begins_character = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; };
  return fmt::format("expected {}, found '{}...' ({} characters)", expected, shown,
                     std::count_if(found.begin(), found.end(), begins_character));
}

}  // namespace vtrain
