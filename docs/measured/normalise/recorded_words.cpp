#include "docs/measured/normalise/recorded_words.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <sstream>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"

namespace vtrain {

std::optional<int> month_in(std::string_view text) {
  constexpr std::int64_t kFirst = 202001;
  constexpr std::int64_t kLast = 204912;
  std::istringstream words(plain_words(text));
  std::string before;
  for (std::string word; words >> word; before = word) {
    const std::string month = word.size() == 2 ? before + word : word;
    const auto number = parse_integer(month, kFirst, kLast);
    if (month.size() == 6 && number && *number % 100 >= 1 && *number % 100 <= 12)
      return static_cast<int>(*number);
  }
  return std::nullopt;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

namespace {

using Words = std::vector<std::string_view>;

bool is_among(std::string_view word, std::span<const std::string_view> list) {
  return std::ranges::find(list, word) != list.end();
}

/// Text as lower-case letters and digits, perhaps with the points between digits, and one blank for all other
/// characters.
std::string words_of(std::string_view text, bool keeps_points) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string words;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = lower_case(text[i]);
    const bool is_point = keeps_points && letter == '.' && i > 0 && i + 1 < text.size() &&
                          is_digit(text[i - 1]) && is_digit(text[i + 1]);
    if ((letter >= 'a' && letter <= 'z') || is_digit(letter) || is_point) {
      words.push_back(letter);
    } else if (!words.empty() && words.back() != ' ') {
      words.push_back(' ');
    }
  }
  if (words.ends_with(' ')) words.pop_back();
  return words;
}

/// True if the words before a word negate it: `no fp8`, `without torch compile`, `w/o compile`.
bool is_denied_before(Words before) {
  constexpr std::array<std::string_view, 5> kNo = {"no", "not", "non", "un", "without"};
  if (!before.empty() && before.back() == "torch") before.pop_back();
  if (before.empty()) return false;
  return is_among(before.back(), kNo) ||
         (before.size() > 1 && before.back() == "o" && before[before.size() - 2] == "w");
}

/// True if the words after a word negate it: `compile off`, `fp8 not used`, `compile: no`. A `no` with more
/// words belongs to those words.
bool is_denied_after(const Words& after) {
  constexpr std::array<std::string_view, 4> kOff = {"off", "false", "disabled", "unknown"};
  constexpr std::array<std::string_view, 6> kVerbs = {"stated",  "used",      "given",
                                                      "enabled", "mentioned", "known"};
  Words rest = after;
  constexpr std::array<std::string_view, 4> kLinks = {"is", "was", "state", "on"};
  while (rest.size() > 1 && is_among(rest.front(), kLinks))
    rest.erase(rest.begin());
  if (rest.empty()) return false;
  if (rest.size() == 1 && rest.front() == "no") return true;
  return is_among(rest.front(), kOff) ||
         (rest.size() > 1 && rest.front() == "not" && is_among(rest[1], kVerbs));
}

}  // namespace

bool has_unnegated_part(std::string_view text, std::string_view part) {
  for (std::size_t place = text.find(part); place != std::string_view::npos;
       place = text.find(part, place + 1)) {
    const std::size_t start = text.substr(0, place).rfind(' ') + 1;  // of the word; 0 where there is no blank
    const std::size_t end = std::min(text.find(' ', place + part.size()), text.size());
    constexpr std::array<std::string_view, 3> kPrefixes = {"no", "non", "un"};
    if (is_among(text.substr(start, place - start), kPrefixes)) continue;  // `nocompile`
    const auto words_of = [](std::string_view words) { return words.empty() ? Words() : split(words, ' '); };
    const std::string_view before = text.substr(0, start > 0 ? start - 1 : 0);
    const std::string_view after = end < text.size() ? text.substr(end + 1) : std::string_view();
    if (!is_denied_before(words_of(before)) && !is_denied_after(words_of(after))) return true;
  }
  return false;
}

std::string plain_words(std::string_view text) {
  return words_of(text, /*keeps_points=*/false);
}

std::string words_with_points(std::string_view text) {
  return words_of(text, /*keeps_points=*/true);
}

std::string plain_letters(std::string_view text) {
  std::string letters = plain_words(text);
  std::erase(letters, ' ');
  return letters;
}

bool mentions(std::string_view text, std::string_view part) {
  const std::string words = plain_words(text);
  return has_unnegated_part(words, part) || has_unnegated_part(words, plain_letters(part));
}

std::optional<Precision> named_precision(std::string_view text) {
  struct Named {
    std::string_view name;
    Precision precision;
  };
  // bfloat16 has the letters of float16.
  constexpr std::array kNames = {Named{"fp4", Precision::Fp4},       Named{"fp8", Precision::Fp8},
                                 Named{"float8", Precision::Fp8},    Named{"bf16", Precision::Bf16},
                                 Named{"bfloat16", Precision::Bf16}, Named{"fp16", Precision::Fp16},
                                 Named{"float16", Precision::Fp16},  Named{"fp32", Precision::Fp32},
                                 Named{"float32", Precision::Fp32}};
  const std::string words = plain_words(text);
  const auto* const found = std::ranges::find_if(
      kNames, [&words](const Named& named) { return has_unnegated_part(words, named.name); });
  if (found == kNames.end()) return std::nullopt;
  return found->precision;
}

std::optional<double> named_release(std::string_view text) {
  constexpr std::size_t kLetters = 5;
  const auto digit = [text](std::size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  for (std::size_t i = 0; i + kLetters <= text.size(); ++i) {
    const bool is_alone = i == 0 || (!digit(i - 1) && text[i - 1] != '.');
    if (!is_alone || !digit(i) || !digit(i + 1) || text[i + 2] != '.' || !digit(i + 3) || !digit(i + 4) ||
        digit(i + kLetters))
      continue;
    const auto year = parse_integer(text.substr(i, 2), 23, 39);
    const auto month = parse_integer(text.substr(i + 3, 2), 1, 12);
    if (year && month) return static_cast<double>(*year) + static_cast<double>(*month) / 100;
  }
  return std::nullopt;
}

}  // namespace vtrain
