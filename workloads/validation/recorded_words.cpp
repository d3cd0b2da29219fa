#include "workloads/validation/recorded_words.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <sstream>

#include "core/text.hpp"

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

bool affirms(std::string_view text, std::string_view part) {
  for (std::size_t place = text.find(part); place != std::string_view::npos;
       place = text.find(part, place + 1)) {
    const std::string_view before = text.substr(0, place);
    const std::string_view after = text.substr(place + part.size());
    const auto ends_before = [before](std::string_view word) { return before.ends_with(word); };
    const auto starts_after = [after](std::string_view word) { return after.starts_with(word); };
    constexpr std::array<std::string_view, 6> kNo = {"no ",       "not ",       "without ",
                                                     "no torch ", "not torch ", "without torch "};
    constexpr std::array<std::string_view, 3> kOff = {" off", " false", " disabled"};
    if (std::ranges::none_of(kNo, ends_before) && std::ranges::none_of(kOff, starts_after)) return true;
  }
  return false;
}

std::string plain_words(std::string_view text) {
  std::string words;
  for (const char c : text) {
    const char letter = lower_case(c);
    if ((letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9')) {
      words.push_back(letter);
    } else if (!words.empty() && words.back() != ' ') {
      words.push_back(' ');
    }
  }
  while (!words.empty() && words.back() == ' ')
    words.pop_back();
  return words;
}

std::string plain_letters(std::string_view text) {
  std::string letters = plain_words(text);
  std::erase(letters, ' ');
  return letters;
}

bool mentions(std::string_view text, std::string_view part) {
  const std::string words = plain_words(text);
  return affirms(words, part) || affirms(words, plain_letters(part));
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
  const auto* const found =
      std::ranges::find_if(kNames, [&words](const Named& named) { return affirms(words, named.name); });
  if (found == kNames.end()) return std::nullopt;
  return found->precision;
}

std::optional<double> named_release(std::string_view text) {
  constexpr std::size_t kLetters = 5;
  const auto continues = [text](std::size_t i) {
    return i < text.size() && (text[i] == '.' || (text[i] >= '0' && text[i] <= '9'));
  };
  for (std::size_t i = 0; i + kLetters <= text.size(); ++i) {
    const std::string_view letters = text.substr(i, kLetters);
    if (letters[2] != '.' || (i > 0 && continues(i - 1))) continue;
    if (const auto release = parse_number(letters, 0, 100)) return *release;
  }
  return std::nullopt;
}

}  // namespace vtrain
