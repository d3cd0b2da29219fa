#include "workloads/settings/shell_text.hpp"

namespace vtrain {
namespace {

constexpr char kUnknownBegin = '\x01';
constexpr char kUnknownEnd = '\x02';
/// Letters of an unknown part that are shown.
constexpr std::size_t kMostShown = 200;

}  // namespace

void ShellText::add(char letter, std::int64_t line) {
  chars += letter;
  lines.push_back(static_cast<std::int32_t>(line));
}

void ShellText::add(const ShellText& other) {
  chars += other.chars;
  lines.insert(lines.end(), other.lines.begin(), other.lines.end());
}

void ShellText::add(std::string_view text, std::int64_t line) {
  for (const char letter : text)
    add(letter, line);
}

std::string ShellText::shown() const {
  std::string text = chars;
  std::erase_if(text, [](char letter) { return letter == kUnknownBegin || letter == kUnknownEnd; });
  return text;
}

std::string ShellText::known() const {
  std::string text;
  bool is_unknown_part = false;
  for (const char letter : chars) {
    if (letter == kUnknownBegin) is_unknown_part = true;
    if (!is_unknown_part) text += letter;
    if (letter == kUnknownEnd) is_unknown_part = false;
  }
  return text;
}

ShellText unknown_shell_text(std::string_view shown, std::int64_t line) {
  ShellText text;
  text.add(kUnknownBegin, line);
  text.add(shown.substr(0, kMostShown), line);
  text.add(kUnknownEnd, line);
  return text;
}

std::vector<ShellText> split_shell_words(const ShellText& text) {
  std::vector<ShellText> words;
  bool is_in_word = false;
  bool is_unknown = false;
  for (std::size_t i = 0; i < text.chars.size(); ++i) {
    const char letter = text.chars[i];
    if (letter == kUnknownBegin) is_unknown = true;
    if (letter == kUnknownEnd) is_unknown = false;
    if (is_shell_space(letter) && !is_unknown) {
      is_in_word = false;
      continue;
    }
    if (!is_in_word) words.emplace_back();
    is_in_word = true;
    words.back().add(letter, text.lines[i]);
  }
  return words;
}

}  // namespace vtrain
