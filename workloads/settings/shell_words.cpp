/// Words of shell scripts: quotes, variables, arithmetic.
#include <algorithm>
#include <cctype>
#include <charconv>

#include "workloads/settings/shell_arithmetic.hpp"
#include "workloads/settings/shell_reader.hpp"

namespace vtrain {

std::vector<ShellText> ShellExpander::Reader::read_words(bool is_active) {
  std::vector<ShellText> words;
  while (true) {
    skip_blanks();
    if (done() || peek() == '\n' || peek() == ';' || peek() == '#' || !read_word(words, is_active))
      return words;
  }
}

bool ShellExpander::Reader::read_word(std::vector<ShellText>& words, bool is_active) {
  if (done() || ends_word(peek())) return false;
  ShellText current;
  bool has_word = false;
  bool was_split = false;  // the last split text ended with a blank
  const auto close = [&] {
    if (has_word) words.push_back(std::exchange(current, {}));
    has_word = false;
  };
  while (!done() && !ends_word(peek())) {
    const char letter = peek();
    if (was_split) {
      close();
      was_split = false;
    }
    if (letter == '\\') {
      take();
      if (done()) break;
      if (peek() == '\n') {
        take();
        break;
      }
      current.add(take(), line_);
      has_word = true;
    } else if (letter == '\'') {
      read_single_quotes(current);
      has_word = true;
    } else if (letter == '"') {
      std::vector<ShellText> parts = read_double_quotes(is_active);
      has_word = has_word || !parts.empty();
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (i > 0) {
          words.push_back(std::exchange(current, {}));
        }
        current.add(parts[i]);
      }
    } else if (letter == '$' || letter == '`') {
      const std::vector<ShellText> values = read_expansion(is_active);
      for (std::size_t v = 0; v < values.size(); ++v) {
        const ShellText& value = values[v];
        if (v > 0) close();
        if (value.chars.empty()) continue;
        if (is_shell_space(value.chars.front())) close();
        std::vector<ShellText> parts = split_shell_words(value);
        for (std::size_t i = 0; i < parts.size(); ++i) {
          if (i > 0) close();
          current.add(parts[i]);
          has_word = true;
        }
        was_split = is_shell_space(value.chars.back());
      }
    } else {
      current.add(take(), line_);
      has_word = true;
    }
  }
  close();
  return true;
}

void ShellExpander::Reader::read_single_quotes(ShellText& to) {
  const std::int64_t line = line_;
  take();
  while (!done() && peek() != '\'') {
    const std::int64_t here = line_;
    to.add(take(), here);
  }
  if (done()) return fail_at(line, "the quote ' has no end");
  take();
}

std::vector<ShellText> ShellExpander::Reader::read_double_quotes(bool is_active) {
  const std::int64_t line = line_;
  take();
  std::vector<ShellText> parts(1);
  bool is_only_array = false;
  while (!done() && peek() != '"') {
    const std::int64_t here = line_;
    if (peek() == '\\') {
      take();
      if (done()) break;
      const char next = take();
      // The end of a line stays as a blank, so that words keep their lines.
      if (std::string_view("$`\"\\\n").find(next) == std::string_view::npos) parts.back().add('\\', here);
      parts.back().add(next == '\n' ? ' ' : next, here);
    } else if (peek() == '$' || peek() == '`') {
      const std::vector<ShellText> values = read_expansion(is_active);
      if (values.empty() && parts.size() == 1 && parts.back().chars.empty()) is_only_array = true;
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (i > 0) parts.emplace_back();
        parts.back().add(values[i]);
      }
    } else {
      parts.back().add(take(), here);
    }
  }
  if (done()) {
    fail_at(line, "the quote \" has no end");
    return parts;
  }
  take();
  if (is_only_array && parts.size() == 1 && parts.back().chars.empty()) parts.clear();
  return parts;
}

std::vector<ShellText> ShellExpander::Reader::read_expansion(bool is_active) {
  if (++nesting_ > kMostNested) fail_at(line_, "too many levels of nesting");
  std::vector<ShellText> values = read_expansion_inside(is_active);
  --nesting_;
  for (const ShellText& value : values)
    count(value.chars.size());
  return values;
}

std::vector<ShellText> ShellExpander::Reader::read_expansion_inside(bool is_active) {
  const std::int64_t line = line_;
  if (peek() == '`') {
    take();
    std::string command;
    while (!done() && peek() != '`')
      command += take();
    if (done())
      fail_at(line, "the quote ` has no end");
    else
      take();
    return {unknown_shell_text("`" + command + "`", line_)};
  }
  take();
  if (take_if("((")) return {read_arithmetic(line, is_active)};
  if (peek() == '(') return {unknown_shell_text("$(" + read_bracketed(line) + ")", line_)};
  if (peek() == '{') {
    take();
    return read_parameter(line, is_active);
  }
  std::string name;
  if (!done() && std::string_view("@*#?$!-").find(peek()) != std::string_view::npos) {
    name = take();
  } else if (std::isdigit(static_cast<unsigned char>(peek())) != 0) {
    name = take();
  } else {
    while (is_shell_name_letter(peek()))
      name += take();
  }
  if (name.empty()) {
    ShellText dollar;
    dollar.add('$', line);
    return {dollar};
  }
  return value_of(name, false);
}

std::string ShellExpander::Reader::read_bracketed(std::int64_t line) {
  std::string inside;
  int open = 0;
  while (!done()) {
    const char letter = take();
    if (letter == '(') ++open;
    if (letter == ')' && --open == 0) return inside.substr(std::min<std::size_t>(inside.size(), 1));
    inside += letter;
    if (letter == '\'' || letter == '"') {
      while (!done() && peek() != letter)
        inside += take();
      if (!done()) inside += take();
    }
  }
  fail_at(line, "'$(' has no end");
  return inside;
}

ShellText ShellExpander::Reader::read_arithmetic(std::int64_t line, bool is_active) {
  ShellText expression;
  int open = 0;
  while (!done() && !(open == 0 && peek() == ')' && peek(1) == ')')) {
    if (peek() == '(') ++open;
    if (peek() == ')') --open;
    if (peek() == '$' || peek() == '`') {
      for (const ShellText& value : read_expansion(is_active))
        expression.add(value);
    } else {
      expression.add(take(), line);
    }
  }
  if (done()) {
    fail_at(line, "'$((' has no end");
    return {};
  }
  take_if("))");
  if (expression.is_unknown()) return unknown_shell_text("$((" + expression.shown() + "))", line_);
  const auto value =
      shell_arithmetic(expression.chars, [this](std::string_view name) -> std::optional<std::int64_t> {
        const auto found = script_.variables_.find(name);
        if (found == script_.variables_.end() || found->second.empty()) return std::nullopt;
        return shell_number(found->second.front().chars);
      });
  if (!value) return unknown_shell_text("$((" + expression.shown() + "))", line_);
  ShellText text;
  text.add(std::to_string(*value), line);
  return text;
}

std::vector<ShellText> ShellExpander::Reader::value_of(const std::string& name, bool is_list) {
  if (name == "@" || name == "*") return {};
  const auto found = script_.variables_.find(name);
  if (found == script_.variables_.end()) {
    if (name == "?") {
      ShellText zero;
      zero.add('0', line_);
      return {zero};
    }
    return {unknown_shell_text("$" + name, line_)};
  }
  if (is_list) return found->second;
  return {found->second.empty() ? ShellText() : found->second.front()};
}

std::vector<ShellText> ShellExpander::Reader::read_parameter(std::int64_t line, bool is_active) {
  std::string name;
  const bool is_length = peek() == '#' && peek(1) != '}';
  if (is_length) take();
  if (std::string_view("@*#?!").find(peek()) != std::string_view::npos && peek(1) == '}') name = take();
  while (is_shell_name_letter(peek()))
    name += take();
  bool is_list = false;
  bool is_modified = is_length;
  std::size_t place = 0;
  if (peek() == '[') {
    take();
    std::string index;
    while (!done() && peek() != ']')
      index += take();
    take_if("]");
    is_list = index == "@" || index == "*";
    if (!is_list && std::from_chars(index.data(), index.data() + index.size(), place).ec != std::errc())
      is_modified = true;
  }
  std::vector<ShellText> values = value_of(name, true);
  const bool is_set = script_.variables_.contains(name);
  if (!is_list) {
    if (is_set) values = place < values.size() ? std::vector{values[place]} : std::vector{ShellText()};
  }
  const bool is_empty = std::all_of(values.begin(), values.end(), [](const ShellText& value) {
    return value.known().empty() && !value.is_unknown();
  });
  const bool checks_empty = peek() == ':' && std::string_view("-=+?").find(peek(1)) != std::string_view::npos;
  if (checks_empty) take();
  const char sign = peek();
  if (sign == '-' || sign == '=' || sign == '+' || sign == '?') {
    take();
    ShellText other = read_until_brace(line, is_active);
    const bool has_value = is_set && !(checks_empty && is_empty);
    if (sign == '+') return has_value ? std::vector{other} : std::vector{ShellText()};
    if (has_value) return values;
    if (sign == '?') return {unknown_shell_text("$" + name, line_)};
    if (sign == '=' && is_active) script_.variables_[name] = {other};
    return {other};
  }
  if (peek() != '}') is_modified = true;
  read_until_brace(line, is_active);
  if (is_modified) return {unknown_shell_text("${" + name + "...}", line_)};
  return values;
}

ShellText ShellExpander::Reader::read_until_brace(std::int64_t line, bool is_active) {
  ShellText text;
  while (!done() && peek() != '}') {
    const std::int64_t here = line_;
    if (peek() == '"') {
      for (const ShellText& part : read_double_quotes(is_active))
        text.add(part);
    } else if (peek() == '\'') {
      read_single_quotes(text);
    } else if (peek() == '$' || peek() == '`') {
      for (const ShellText& value : read_expansion(is_active))
        text.add(value);
    } else if (peek() == '\\' && at_ + 1 < text_.size()) {
      take();
      text.add(take(), here);
    } else {
      text.add(take(), here);
    }
  }
  if (done())
    fail_at(line, "'${' has no end");
  else
    take();
  return text;
}

}  // namespace vtrain
