#include "core/base/strings.hpp"

#include <algorithm>

namespace vtrain {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& letter : result)
    letter = lower_case(letter);
  return result;
}

std::string upper_case(std::string_view text) {
  std::string result(text);
  for (char& letter : result) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  return result;
}

bool equal_in_any_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower_case(x) == lower_case(y); });
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(trim(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::pair<std::string_view, std::optional<std::string_view>> split_once(std::string_view text,
                                                                        char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return {trim(text), std::nullopt};
  return {trim(text.substr(0, at)), trim(text.substr(at + 1))};
}

}  // namespace vtrain
