/// Reader of one text of a shell script: the script, the body of a here-document or the argument of `bash
/// -c`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/settings/shell_expander.hpp"
#include "workloads/settings/shell_test.hpp"

namespace vtrain {

/// Reads a text and adds its commands and variables to the script.
class ShellExpander::Reader {
 public:
  Reader(ShellExpander& script, std::string_view text, std::int64_t line, int depth)
      : script_(script), text_(text), line_(line), depth_(depth) {}
  void run_all();

 private:
  static constexpr int kMostNested = 40;  ///< levels of expansions within each other

  /// The text after `<<END`, up to that word.
  struct HereDocument {
    std::string end;
    bool is_script = false;
    bool is_active = false;
    std::int64_t line = 0;
  };

  // The text, character by character: `shell_expander.cpp`.

  bool done() const { return at_ >= text_.size() || script_.error_.has_value() || script_.has_ended_; }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  char take();
  bool take_if(std::string_view symbol);
  void fail_at(std::int64_t line, std::string message);
  void count(std::size_t characters);
  void skip_blanks();
  void skip_comment();
  void skip_lines();
  /// Takes the end of a line, and the here-documents that begin after it.
  void end_line();
  void read_here_document(const HereDocument& document);
  void run_nested(std::string_view text, std::int64_t line);

  // Commands, assignments and control flow: `shell_commands.cpp`.

  /// Runs commands up to a keyword that ends a part of `if`, `for` or `case`, and returns it; empty at the
  /// end.
  std::string run(bool is_active);
  void skip_lines_after_operator();
  void skip_arithmetic_command();
  /// The keyword or plain name at the current place, without taking it.
  std::string_view word_ahead() const;
  std::string run_one(bool is_active);
  void expect(const std::string& found, std::string_view expected, std::string_view keyword,
              std::int64_t line);
  void read_if(bool is_active);
  void read_for(bool is_active);
  void read_while();
  void read_case(bool is_active);
  void set_variable(const std::string& name, std::vector<ShellText> values);
  /// Length of `NAME=` or `NAME+=` at the current place; 0 if there is none.
  std::size_t assignment_ahead() const;
  void read_assignment(std::size_t length, bool is_active);
  /// Digits of the file in front of a redirection, as in `2>&1`; 0 without one.
  std::size_t redirected_number() const;
  void read_redirection(const std::string& command, bool is_active);
  void read_command(bool is_active);
  /// Reads the words of `[[ ... ]]`, with `&&` and `||` among them.
  void read_double_test(std::vector<ShellText>& words, bool is_active);
  void finish_command(std::vector<ShellText> words, const std::string& command, std::int64_t line);

  // Words and their expansion: `shell_words.cpp`.

  /// Reads words up to the end of a command.
  std::vector<ShellText> read_words(bool is_active);
  static bool ends_word(char letter) {
    return is_shell_space(letter) || std::string_view(";&|()<>").find(letter) != std::string_view::npos;
  }
  /// Reads one word and adds what it expands to. False if an operator is here.
  bool read_word(std::vector<ShellText>& words, bool is_active);
  void read_single_quotes(ShellText& to);
  /// The texts in double quotes: one, or one for each value of an array.
  std::vector<ShellText> read_double_quotes(bool is_active);
  /// Reads `$...` or a command in backticks. An array gives its values; everything else one text.
  std::vector<ShellText> read_expansion(bool is_active);
  std::vector<ShellText> read_expansion_inside(bool is_active);
  /// The text of a command in brackets, which are taken.
  std::string read_bracketed(std::int64_t line);
  ShellText read_arithmetic(std::int64_t line, bool is_active);
  /// Values of a variable; the marked name if it has none.
  std::vector<ShellText> value_of(const std::string& name, bool is_list);
  /// Reads the rest of `${...}`.
  std::vector<ShellText> read_parameter(std::int64_t line, bool is_active);
  /// Text up to the brace that closes, which is taken.
  ShellText read_until_brace(std::int64_t line, bool is_active);

  ShellExpander& script_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
  int depth_ = 0;
  int nesting_ = 0;
  int num_branches_ = 0;  ///< open `if`, `case`, loops and functions
  Truth status_ = true;
  std::vector<HereDocument> here_;
};

}  // namespace vtrain
