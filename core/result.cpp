#include "core/result.hpp"

#include <fmt/format.h>

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
  if (found.size() <= kMaxShown) return fmt::format("expected {}, found '{}'", expected, found);
  return fmt::format("expected {}, found '{}...' ({} characters)", expected, found.substr(0, kMaxShown),
                     found.size());
}

}  // namespace vtrain
