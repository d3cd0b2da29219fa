/// Commands, assignments and control flow of shell scripts.
#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "workloads/settings/shell_reader.hpp"

namespace vtrain {

namespace {

constexpr int kMostNested = 40;

}  // namespace

std::string ShellExpander::Reader::run(bool is_active) {
  if (++nesting_ > kMostNested) fail_at(line_, "too many levels of nesting");
  std::string end;
  bool next_is_active = is_active;
  while (end.empty()) {
    skip_lines();
    if (done()) break;
    if (take_if(";;")) {
      end = ";;";
      break;
    }
    const char letter = peek();
    if (letter == ')' || letter == '(') {
      if (letter == '(' && peek(1) == '(') {
        skip_arithmetic_command();
        continue;
      }
      take();
      continue;
    }
    if (letter == '&' || letter == '|') {
      const bool is_and = take_if("&&");
      const bool is_or = !is_and && take_if("||");
      if (!is_and && !is_or) take();
      if (is_and)
        next_is_active = next_is_active && status_.value_or(true);
      else if (is_or)
        next_is_active = is_active && !status_.value_or(true);
      else
        next_is_active = is_active;
      skip_lines_after_operator();
      const std::optional<bool> status = status_;
      end = run_one(next_is_active);
      if (!next_is_active) status_ = status;  // a skipped command has none
      continue;
    }
    next_is_active = is_active;
    end = run_one(is_active);
  }
  --nesting_;
  return end;
}

void ShellExpander::Reader::skip_lines_after_operator() {
  skip_blanks();
  while (!done() && (peek() == '\n' || peek() == '#' || is_shell_blank(peek()))) {
    if (peek() == '#')
      skip_comment();
    else if (peek() == '\n')
      end_line();
    else
      skip_blanks();
  }
}

void ShellExpander::Reader::skip_arithmetic_command() {
  const std::int64_t line = line_;
  int open = 0;
  do {
    if (peek() == '(') ++open;
    if (peek() == ')') --open;
    take();
  } while (!done() && open > 0);
  if (open > 0) fail_at(line, "'((' has no end");
  status_ = {};
}

std::string_view ShellExpander::Reader::word_ahead() const {
  std::size_t end = at_;
  while (end < text_.size() &&
         (is_shell_name_letter(text_[end]) || text_[end] == '-' || text_[end] == '{' || text_[end] == '}'))
    ++end;
  const bool is_whole = end == text_.size() || is_shell_space(text_[end]) || text_[end] == ';' ||
                        text_[end] == ')' || text_[end] == '(' || text_[end] == '&' || text_[end] == '|';
  return is_whole ? text_.substr(at_, end - at_) : std::string_view();
}

std::string ShellExpander::Reader::run_one(bool is_active) {
  constexpr std::array<std::string_view, 7> kEnds = {"fi", "else", "elif", "then", "do", "done", "esac"};
  const std::string_view ahead = word_ahead();
  if (std::find(kEnds.begin(), kEnds.end(), ahead) != kEnds.end()) {
    take_if(ahead);
    return std::string(ahead);
  }
  const bool is_branch = ahead == "if" || ahead == "case" || ahead == "for" || ahead == "select" ||
                         ahead == "while" || ahead == "until";
  if (is_branch) {
    ++num_branches_;
    if (ahead == "if")
      read_if(is_active);
    else if (ahead == "case")
      read_case(is_active);
    else if (ahead == "for" || ahead == "select")
      read_for(is_active);
    else
      read_while();
    --num_branches_;
    return "";
  }
  if (ahead == "function" || ahead == "{" || ahead == "}" || ahead == "!" || ahead == "time" ||
      ahead == "exec") {
    take_if(ahead);
    if (ahead == "{") ++num_branches_;
    if (ahead == "}") --num_branches_;
    return "";
  }
  read_command(is_active);
  return "";
}

void ShellExpander::Reader::expect(const std::string& found, std::string_view expected,
                                   std::string_view keyword, std::int64_t line) {
  if (found != expected) fail_at(line, fmt::format("'{}' has no '{}'", keyword, expected));
}

void ShellExpander::Reader::read_if(bool is_active) {
  const std::int64_t line = line_;
  take_if("if");
  bool has_run = false;
  std::string end = "elif";
  while (end == "elif" && !done()) {
    status_ = {};
    const std::int64_t condition_line = line_;
    expect(run(is_active && !has_run), "then", "if", line);
    const bool is_unknown = !status_.has_value();
    const bool runs = is_active && !has_run && status_.value_or(false);
    const std::size_t begin = at_;
    end = run(runs);
    has_run = has_run || runs;
    const std::size_t until = std::min(at_, text_.size());
    if (is_unknown && is_active && text_.substr(begin, until - begin).find(" --") != std::string_view::npos)
      script_.remarks_.push_back(
          fmt::format("line {}: the condition cannot be evaluated and is taken as false", condition_line));
  }
  if (end == "else") end = run(is_active && !has_run);
  if (!script_.has_ended_) expect(end, "fi", "if", line);
  status_ = true;
}

void ShellExpander::Reader::read_for(bool is_active) {
  const std::int64_t line = line_;
  take();
  while (!done() && !is_shell_space(peek()))
    take();
  skip_blanks();
  if (peek() == '(') {
    skip_arithmetic_command();
  } else {
    std::string name;
    while (is_shell_name_letter(peek()))
      name += take();
    skip_lines();
    std::vector<ShellText> words;
    if (word_ahead() == "in") {
      take_if("in");
      words = read_words(is_active);
    }
    if (is_active)
      set_variable(name, {words.empty() ? unknown_shell_text("$" + name, line_) : words.front()});
    if (is_active && words.size() > 1)
      script_.remarks_.push_back(
          fmt::format("line {}: the loop is read once, with {} {}", line, name, words.front().shown()));
  }
  expect(run(is_active), "do", "for", line);
  std::string end = run(is_active);
  if (!script_.has_ended_) expect(end, "done", "for", line);
}

void ShellExpander::Reader::read_while() {
  const std::int64_t line = line_;
  take();
  while (!done() && !is_shell_space(peek()))
    take();
  expect(run(false), "do", "while", line);
  expect(run(false), "done", "while", line);
}

void ShellExpander::Reader::read_case(bool is_active) {
  const std::int64_t line = line_;
  take_if("case");
  skip_blanks();
  std::vector<ShellText> subject;
  read_word(subject, is_active);
  skip_lines();
  if (!take_if("in")) return fail_at(line, "'case' has no 'in'");
  bool has_run = false;
  while (!done()) {
    skip_lines();
    if (word_ahead() == "esac") {
      take_if("esac");
      return;
    }
    take_if("(");
    bool is_match = false;
    while (!done()) {
      skip_blanks();
      std::vector<ShellText> pattern;
      read_word(pattern, is_active);
      if (!pattern.empty() &&
          matches_shell_pattern(pattern.front().known(), subject.empty() ? "" : subject.front().known()))
        is_match = true;
      skip_blanks();
      if (take_if("|")) continue;
      if (!take_if(")")) fail_at(line_, "expected ')' after a pattern of 'case'");
      break;
    }
    const std::string end = run(is_active && is_match && !has_run);
    has_run = has_run || is_match;
    if (end == "esac") return;
    if (script_.has_ended_) return;
    if (end != ";;") break;
  }
  if (!done() || !script_.error_) fail_at(line, "'case' has no 'esac'");
}

void ShellExpander::Reader::set_variable(const std::string& name, std::vector<ShellText> values) {
  for (const ShellText& value : values)
    count(value.chars.size());
  script_.assigned_.push_back({values});
  script_.variables_[name] = std::move(values);
}

std::size_t ShellExpander::Reader::assignment_ahead() const {
  std::size_t end = at_;
  if (end < text_.size() && std::isdigit(static_cast<unsigned char>(text_[end])) != 0) return 0;
  while (end < text_.size() && is_shell_name_letter(text_[end]))
    ++end;
  if (end == at_) return 0;
  if (end < text_.size() && text_[end] == '+') ++end;
  return end < text_.size() && text_[end] == '=' ? end + 1 - at_ : 0;
}

void ShellExpander::Reader::read_assignment(std::size_t length, bool is_active) {
  std::string name(text_.substr(at_, length - 1));
  const bool adds = name.ends_with('+');
  if (adds) name.pop_back();
  for (std::size_t i = 0; i < length; ++i)
    take();
  std::vector<ShellText> values;
  if (peek() == '(') {
    const std::int64_t line = line_;
    take();
    while (!done() && peek() != ')') {
      skip_blanks();
      if (peek() == '\n')
        end_line();
      else if (peek() == '#')
        skip_comment();
      else if (peek() != ')' && !read_word(values, is_active)) {
        fail_at(line_, fmt::format("expected a word or ')' in the list that begins in line {}, found '{}'",
                                   line, peek()));
      }
    }
    if (done()) return fail_at(line, "'(' has no end");
    take();
    if (!is_active) return;
    if (adds) {
      std::vector<ShellText> all = script_.variables_[name];
      all.insert(all.end(), values.begin(), values.end());
      script_.assigned_.push_back({values});
      script_.variables_[name] = std::move(all);
    } else {
      set_variable(name, std::move(values));
    }
    return;
  }
  ShellText value;
  if (!done() && !ends_word(peek())) {
    read_word(values, is_active);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) value.add(' ', values[i].line());
      value.add(values[i]);
    }
  }
  if (!is_active) return;
  if (adds) {
    ShellText all;
    if (const auto found = script_.variables_.find(name);
        found != script_.variables_.end() && !found->second.empty())
      all = found->second.front();
    all.add(value);
    value = std::move(all);
  }
  set_variable(name, {std::move(value)});
}

std::size_t ShellExpander::Reader::redirected_number() const {
  std::size_t end = at_;
  while (end < text_.size() && std::isdigit(static_cast<unsigned char>(text_[end])) != 0)
    ++end;
  return end > at_ && end < text_.size() && (text_[end] == '>' || text_[end] == '<') ? end - at_ : 0;
}

void ShellExpander::Reader::read_redirection(const std::string& command, bool is_active) {
  const std::int64_t line = line_;
  if (peek() == '<' && peek(1) == '<' && peek(2) != '<') {
    take_if("<<");
    take_if("-");
    skip_blanks();
    std::vector<ShellText> end;
    read_word(end, false);
    const bool is_script = command == "sbatch" || command == "bash" || command == "sh" || command == "srun";
    here_.push_back({end.empty() ? "" : end.front().shown(), is_script, is_active, line});
    return;
  }
  while (!done() && (peek() == '<' || peek() == '>' || peek() == '&'))
    take();
  skip_blanks();
  if (peek() == '(') {
    read_bracketed(line);
    return;
  }
  std::vector<ShellText> ignored;
  read_word(ignored, false);
}

void ShellExpander::Reader::read_command(bool is_active) {
  const std::int64_t line = line_;
  std::vector<ShellText> words;
  bool is_declaration = false;
  std::string command;
  while (!done()) {
    skip_blanks();
    const char letter = peek();
    if (done() || letter == '\n' || letter == ';' || letter == '|') break;
    if (letter == '#') break;
    if (letter == '&' && peek(1) != '>') break;
    if (const std::size_t digits = redirected_number(); digits > 0) {
      for (std::size_t i = 0; i < digits; ++i)
        take();
      read_redirection(command, is_active);
      continue;
    }
    if (letter == '<' || letter == '>' || letter == '&') {
      read_redirection(command, is_active);
      continue;
    }
    if (letter == '(' || letter == ')') break;
    const std::size_t length = words.empty() || is_declaration ? assignment_ahead() : 0;
    if (length > 0) {
      read_assignment(length, is_active);
      status_ = true;
      continue;
    }
    const std::size_t before = words.size();
    if (!read_word(words, is_active)) {
      take();
      continue;
    }
    if (before == 0 && !words.empty()) {
      command = words.front().known();
      is_declaration = command == "export" || command == "declare" || command == "local" ||
                       command == "readonly" || command == "typeset";
      if (command == "[[") {
        read_double_test(words, is_active);
        status_ = is_active ? shell_test({words.begin() + 1, words.end()}) : Truth(false);
        return;
      }
    }
  }
  if (words.empty() || !is_active || is_declaration) return;
  finish_command(std::move(words), command, line);
}

void ShellExpander::Reader::read_double_test(std::vector<ShellText>& words, bool is_active) {
  const std::int64_t line = line_;
  while (!done()) {
    skip_blanks();
    if (peek() == '\n') {
      end_line();
      continue;
    }
    const std::size_t before = words.size();
    if (peek() == '&' || peek() == '|') {
      ShellText sign;
      sign.add(take(), line_);
      if (!done() && peek() == sign.chars.front()) sign.add(take(), line_);
      words.push_back(std::move(sign));
      continue;
    }
    if (!done() && std::string_view("()<>;").find(peek()) != std::string_view::npos) {
      words.emplace_back().add(take(), line_);
      continue;
    }
    const bool was_closing = text_.substr(at_).starts_with("]]");
    // An expansion that gives nothing is an empty word here.
    if (!read_word(words, is_active)) break;
    if (words.size() == before) words.emplace_back();
    if (was_closing) {
      words.pop_back();
      return;
    }
  }
  fail_at(line, "'[[' has no ']]'");
}

void ShellExpander::Reader::finish_command(std::vector<ShellText> words, const std::string& command,
                                           std::int64_t line) {
  status_ = true;
  if (command == "[" || command == "test") {
    if (command == "[") {
      if (words.back().known() != "]") return fail_at(line, "'[' has no ']'");
      words.pop_back();
    }
    status_ = shell_test({words.begin() + 1, words.end()});
    return;
  }
  if (command == "false") status_ = false;
  if (command == "exit" || command == "return") {
    // Branches that end a script are for bad arguments.
    script_.has_ended_ = depth_ == 0 && num_branches_ == 0 && command == "exit";
    return;
  }
  if (command == "unset") {
    for (const ShellText& name : words)
      script_.variables_.erase(name.known());
    return;
  }
  if (command == "source" || command == ".") {
    script_.remarks_.push_back(fmt::format("line {}: {} is not followed", line,
                                           words.size() > 1 ? words[1].shown() : "another script"));
    return;
  }
  if (command == "eval") {
    ShellText all;
    for (std::size_t i = 1; i < words.size(); ++i) {
      all.add(' ', words[i].line());
      all.add(words[i]);
    }
    return run_nested(all.known(), line);
  }
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string name = words[i].known();
    const bool is_shell = name == "bash" || name == "sh" || name.ends_with("/bash") || name.ends_with("/sh");
    for (std::size_t next = i + 1; is_shell && next + 1 < words.size() && next <= i + 3; ++next) {
      const std::string option = words[next].known();
      if (option.starts_with('-') && !option.starts_with("--") && option.ends_with('c')) {
        run_nested(words[next + 1].shown(), words[next + 1].line());
        script_.commands_.push_back({{words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i)}});
        return;
      }
    }
  }
  constexpr std::array<std::string_view, 9> kIdle = {"echo", "printf", "mkdir", "cd",   "set",
                                                     "cat",  "shift",  "trap",  "sleep"};
  if (std::find(kIdle.begin(), kIdle.end(), command) != kIdle.end()) return;
  script_.commands_.push_back({std::move(words)});
}

}  // namespace vtrain
