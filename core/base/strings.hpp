/// Trimming, splitting and case conversion, independent of the locale.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vtrain {

/// `text` without blanks at both ends.
std::string_view trim(std::string_view text);
/// The letters A to Z in lower case; every other character unchanged.
constexpr char lower_case(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}
/// `text` with the letters A to Z in lower case.
std::string lower_case(std::string_view text);
/// `text` with the letters a to z in upper case.
std::string upper_case(std::string_view text);
/// True if two texts are equal except for the case of the letters A to Z.
bool equal_in_any_case(std::string_view a, std::string_view b);

/// The parts of `text` between separators, trimmed; at least one.
std::vector<std::string_view> split(std::string_view text, char separator);
/// The trimmed texts before and after the first separator; the second is none without a separator.
std::pair<std::string_view, std::optional<std::string_view>> split_once(std::string_view text,
                                                                        char separator);

}  // namespace vtrain
