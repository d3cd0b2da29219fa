/// Text of shell scripts whose characters know their lines.
#pragma once

#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vtrain {

/// Text of a script with the line of each character. Parts that are unknown stand between the characters 1
/// and 2, as `$NAME`.
struct ShellText {
  std::string chars{};
  std::vector<std::int32_t> lines{};

  /// Adds a character of a line.
  void add(char letter, std::int64_t line);
  /// Adds another text.
  void add(const ShellText& other);
  /// Adds a text of one line.
  void add(std::string_view text, std::int64_t line);
  /// Line of the first character; 0 without one.
  std::int64_t line() const { return lines.empty() ? 0 : lines.front(); }
  /// The text without the marks of unknown parts.
  std::string shown() const;
  /// The text without unknown parts, as a shell has it.
  std::string known() const;
  /// True if a part is unknown.
  bool is_unknown() const { return chars.find('\x01') != std::string::npos; }
};

/// True for what separates words of one line.
inline bool is_shell_blank(char letter) {
  return letter == ' ' || letter == '\t' || letter == '\r';
}

/// True for what separates words.
inline bool is_shell_space(char letter) {
  return is_shell_blank(letter) || letter == '\n';
}

/// True for the letters of a variable's name.
inline bool is_shell_name_letter(char letter) {
  return letter == '_' || std::isalnum(static_cast<unsigned char>(letter)) != 0;
}

/// A part of a text that is unknown, such as `$NAME`, between its marks.
ShellText unknown_shell_text(std::string_view shown, std::int64_t line);

/// The words of a text between blanks.
std::vector<ShellText> split_shell_words(const ShellText& text);

}  // namespace vtrain
