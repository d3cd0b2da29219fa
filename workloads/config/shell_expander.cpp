#include "workloads/config/shell_expander.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "workloads/config/shell_arithmetic.hpp"

namespace vtrain {
namespace {

constexpr std::size_t kMostCharacters = 4'000'000;
constexpr int kMostDepth = 40;
constexpr char kUnknownBegin = '\x01';
constexpr char kUnknownEnd = '\x02';

bool is_blank(char letter) {
  return letter == ' ' || letter == '\t' || letter == '\r';
}
bool is_space(char letter) {
  return is_blank(letter) || letter == '\n';
}
bool is_name_letter(char letter) {
  return letter == '_' || std::isalnum(static_cast<unsigned char>(letter)) != 0;
}

/// The words of a text between blanks.
std::vector<ShellText> split_words(const ShellText& text) {
  std::vector<ShellText> words;
  bool is_in_word = false;
  bool is_unknown = false;
  for (std::size_t i = 0; i < text.chars.size(); ++i) {
    const char letter = text.chars[i];
    if (letter == kUnknownBegin) is_unknown = true;
    if (letter == kUnknownEnd) is_unknown = false;
    if (is_space(letter) && !is_unknown) {
      is_in_word = false;
      continue;
    }
    if (!is_in_word) words.emplace_back();
    is_in_word = true;
    words.back().add(letter, text.lines[i]);
  }
  return words;
}

/// Truth of a condition; none if it depends on something unknown.
using Truth = std::optional<bool>;

std::optional<std::int64_t> number_of(const std::string& text) {
  const auto value = parse_integer(text, -1'000'000'000'000, 1'000'000'000'000);
  return value ? std::optional(*value) : std::nullopt;
}

/// A test as in `[ a = b ]`.
class ShellTest {
 public:
  explicit ShellTest(const std::vector<ShellText>& words) : words_(words) {}

  Truth value() {
    const Truth all = any(0);
    return at_ == words_.size() ? all : Truth();
  }

 private:
  std::string word(std::size_t ahead = 0) const {
    return at_ + ahead < words_.size() ? words_[at_ + ahead].known() : std::string();
  }
  bool take(std::string_view a, std::string_view b) {
    if (at_ == words_.size() || (word() != a && word() != b)) return false;
    ++at_;
    return true;
  }
  Truth any(int depth) {
    Truth left = all(depth);
    while (take("||", "-o")) {
      const Truth right = all(depth);
      left = left && right                                   ? Truth(*left || *right)
             : left.value_or(false) || right.value_or(false) ? Truth(true)
                                                             : Truth();
    }
    return left;
  }
  Truth all(int depth) {
    Truth left = one(depth);
    while (take("&&", "-a")) {
      const Truth right = one(depth);
      left = left && right                                   ? Truth(*left && *right)
             : !left.value_or(true) || !right.value_or(true) ? Truth(false)
                                                             : Truth();
    }
    return left;
  }
  Truth one(int depth) {
    if (depth > kMostDepth || at_ == words_.size()) return {};
    if (words_.size() - at_ > 1 && take("!", "!")) {
      const Truth inner = one(depth + 1);
      return inner ? Truth(!*inner) : inner;
    }
    if (take("(", "(")) {
      const Truth inner = any(depth + 1);
      return take(")", ")") ? inner : Truth();
    }
    const std::string first = word();
    const std::string next = word(1);
    if (is_binary(next)) {
      const std::string second = word(2);
      at_ = std::min(at_ + 3, words_.size());
      return compare(first, next, second);
    }
    if (first.size() == 2 && first[0] == '-' && at_ + 1 < words_.size()) {
      at_ += 2;
      if (first == "-z") return next.empty();
      if (first == "-n") return !next.empty();
      if (first == "-v") return Truth();
      return Truth();  // files are not looked at
    }
    ++at_;
    return !first.empty();
  }
  static bool is_binary(std::string_view word) {
    constexpr std::array<std::string_view, 12> kKnown = {"=",   "==",  "!=",  "-eq", "-ne", "-gt",
                                                         "-ge", "-lt", "-le", "<",   ">",   "=~"};
    return std::find(kKnown.begin(), kKnown.end(), word) != kKnown.end();
  }
  static Truth compare(const std::string& a, std::string_view sign, const std::string& b) {
    if (sign == "=" || sign == "==") return matches_pattern(b, a);
    if (sign == "!=") return !matches_pattern(b, a);
    if (sign == "<") return a < b;
    if (sign == ">") return a > b;
    const auto x = number_of(a);
    const auto y = number_of(b);
    if (!x || !y || sign == "=~") return {};
    if (sign == "-eq") return *x == *y;
    if (sign == "-ne") return *x != *y;
    if (sign == "-gt") return *x > *y;
    if (sign == "-ge") return *x >= *y;
    return sign == "-lt" ? *x < *y : *x <= *y;
  }

 public:
  /// True if a text matches a pattern with `*` and `?`.
  static bool matches_pattern(std::string_view pattern, std::string_view text) {
    std::size_t p = 0;
    std::size_t t = 0;
    std::size_t star = std::string_view::npos;
    std::size_t mark = 0;
    while (t < text.size()) {
      if (p < pattern.size() && pattern[p] == '*') {
        star = p++;
        mark = t;
      } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
        ++p;
        ++t;
      } else if (star != std::string_view::npos) {
        p = star + 1;
        t = ++mark;
      } else {
        return false;
      }
    }
    while (p < pattern.size() && pattern[p] == '*')
      ++p;
    return p == pattern.size();
  }

 private:
  const std::vector<ShellText>& words_;
  std::size_t at_ = 0;
};

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

/// Reads one text: the script, the body of a here-document or the argument of `bash -c`.
class ShellExpander::Reader {
 public:
  Reader(ShellExpander& script, std::string_view text, std::int64_t line, int depth)
      : script_(script), text_(text), line_(line), depth_(depth) {}

  void run_all() {
    while (!done()) {
      const std::string end = run(true);
      if (!end.empty() && !done()) fail_at(line_, fmt::format("'{}' without a beginning", end));
    }
  }

 private:
  bool done() const { return at_ >= text_.size() || script_.error_.has_value() || script_.has_ended_; }
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  char take() {
    const char letter = text_[at_++];
    if (letter == '\n') ++line_;
    return letter;
  }
  bool take_if(std::string_view symbol) {
    if (!text_.substr(at_).starts_with(symbol)) return false;
    for (std::size_t i = 0; i < symbol.size(); ++i)
      take();
    return true;
  }
  void fail_at(std::int64_t line, std::string message) {
    if (!script_.error_)
      script_.error_ = Error{.file = script_.file_, .line = line, .message = std::move(message)};
  }
  void count(std::size_t characters) {
    script_.num_characters_ += characters;
    if (script_.num_characters_ > kMostCharacters)
      fail_at(line_, fmt::format("expanded beyond {} characters", with_thousands(kMostCharacters)));
  }

  void skip_blanks() {
    while (!done()) {
      if (is_blank(peek()))
        take();
      else if (peek() == '\\' && peek(1) == '\n')
        take_if("\\\n");
      else if (peek() == '\\' && peek(1) == '\r' && peek(2) == '\n')
        take_if("\\\r\n");
      else
        break;
    }
  }
  void skip_comment() {
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    const std::string_view comment = text_.substr(at_, end - at_);
    constexpr std::string_view kSlurm = "#SBATCH";
    if (comment.starts_with(kSlurm)) {
      ShellText options;
      const std::string_view rest = comment.substr(kSlurm.size());
      options.add(rest.substr(0, rest.find(" #")), line_);
      script_.slurm_.push_back({split_words(options)});
    }
    at_ = end;
  }
  void skip_lines() {
    while (!done()) {
      skip_blanks();
      if (peek() == '#')
        skip_comment();
      else if (peek() == '\n')
        end_line();
      else if (peek() == ';' && peek(1) != ';')
        take();
      else
        break;
    }
  }
  /// Takes the end of a line, and the here-documents that begin after it.
  void end_line() {
    take();
    for (const HereDocument& document : std::exchange(here_, {}))
      read_here_document(document);
  }

  struct HereDocument {
    std::string end;
    bool is_script = false;
    bool is_active = false;
    std::int64_t line = 0;
  };

  void read_here_document(const HereDocument& document) {
    const std::size_t begin = at_;
    const std::int64_t first = line_;
    while (at_ < text_.size()) {
      const std::size_t start = at_;
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      std::string_view line = text_.substr(start, end - start);
      while (!line.empty() && (line.front() == '\t' || line.back() == '\r'))
        line.front() == '\t' ? line.remove_prefix(1) : line.remove_suffix(1);
      at_ = end;
      if (at_ < text_.size()) take();
      if (line != document.end) continue;
      if (document.is_script && document.is_active) run_nested(text_.substr(begin, start - begin), first);
      return;
    }
    fail_at(document.line, fmt::format("the text up to '{}' has no end", document.end));
  }

  void run_nested(std::string_view text, std::int64_t line) {
    if (depth_ + 1 > 8) return;
    count(text.size());
    const std::string kept(text);
    Reader nested(script_, kept, std::max<std::int64_t>(line, 1), depth_ + 1);
    nested.run_all();
  }

  /// Runs commands up to a keyword that ends a part of `if`, `for` or `case`, and returns it; empty at the
  /// end.
  std::string run(bool is_active) {
    if (++nesting_ > kMostDepth) fail_at(line_, "too many levels of nesting");
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
  void skip_lines_after_operator() {
    skip_blanks();
    while (!done() && (peek() == '\n' || peek() == '#' || is_blank(peek()))) {
      if (peek() == '#')
        skip_comment();
      else if (peek() == '\n')
        end_line();
      else
        skip_blanks();
    }
  }
  void skip_arithmetic_command() {
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

  /// The keyword or plain name at the current place, without taking it.
  std::string_view word_ahead() const {
    std::size_t end = at_;
    while (end < text_.size() &&
           (is_name_letter(text_[end]) || text_[end] == '-' || text_[end] == '{' || text_[end] == '}'))
      ++end;
    const bool is_whole = end == text_.size() || is_space(text_[end]) || text_[end] == ';' ||
                          text_[end] == ')' || text_[end] == '(' || text_[end] == '&' || text_[end] == '|';
    return is_whole ? text_.substr(at_, end - at_) : std::string_view();
  }

  std::string run_one(bool is_active) {
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

  void expect(const std::string& found, std::string_view expected, std::string_view keyword,
              std::int64_t line) {
    if (found != expected) fail_at(line, fmt::format("'{}' has no '{}'", keyword, expected));
  }

  void read_if(bool is_active) {
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

  void read_for(bool is_active) {
    const std::int64_t line = line_;
    take();
    while (!done() && !is_space(peek()))
      take();
    skip_blanks();
    if (peek() == '(') {
      skip_arithmetic_command();
    } else {
      std::string name;
      while (is_name_letter(peek()))
        name += take();
      skip_lines();
      std::vector<ShellText> words;
      if (word_ahead() == "in") {
        take_if("in");
        words = read_words(is_active);
      }
      if (is_active) set_variable(name, {words.empty() ? unknown("$" + name) : words.front()});
      if (is_active && words.size() > 1)
        script_.remarks_.push_back(
            fmt::format("line {}: the loop is read once, with {} {}", line, name, words.front().shown()));
    }
    expect(run(is_active), "do", "for", line);
    std::string end = run(is_active);
    if (!script_.has_ended_) expect(end, "done", "for", line);
  }

  void read_while() {
    const std::int64_t line = line_;
    take();
    while (!done() && !is_space(peek()))
      take();
    expect(run(false), "do", "while", line);
    expect(run(false), "done", "while", line);
  }

  void read_case(bool is_active) {
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
        if (!pattern.empty() && ShellTest::matches_pattern(pattern.front().known(),
                                                           subject.empty() ? "" : subject.front().known()))
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

  // Words and expansions.

  ShellText unknown(std::string_view shown) const {
    ShellText text;
    text.add(kUnknownBegin, line_);
    text.add(shown.substr(0, 200), line_);
    text.add(kUnknownEnd, line_);
    return text;
  }

  /// Reads words up to the end of a command.
  std::vector<ShellText> read_words(bool is_active) {
    std::vector<ShellText> words;
    while (true) {
      skip_blanks();
      if (done() || peek() == '\n' || peek() == ';' || peek() == '#' || !read_word(words, is_active))
        return words;
    }
  }

  static bool ends_word(char letter) {
    return is_space(letter) || std::string_view(";&|()<>").find(letter) != std::string_view::npos;
  }

  /// Reads one word and adds what it expands to. False if an operator stands here.
  bool read_word(std::vector<ShellText>& words, bool is_active) {
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
          if (is_space(value.chars.front())) close();
          std::vector<ShellText> parts = split_words(value);
          for (std::size_t i = 0; i < parts.size(); ++i) {
            if (i > 0) close();
            current.add(parts[i]);
            has_word = true;
          }
          was_split = is_space(value.chars.back());
        }
      } else {
        current.add(take(), line_);
        has_word = true;
      }
    }
    close();
    return true;
  }

  void read_single_quotes(ShellText& to) {
    const std::int64_t line = line_;
    take();
    while (!done() && peek() != '\'') {
      const std::int64_t here = line_;
      to.add(take(), here);
    }
    if (done()) return fail_at(line, "the quote ' has no end");
    take();
  }

  /// The texts in double quotes: one, or one for each value of an array.
  std::vector<ShellText> read_double_quotes(bool is_active) {
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

  /// Reads `$...` or a command in backticks. An array gives its values; everything else one text.
  std::vector<ShellText> read_expansion(bool is_active) {
    if (++nesting_ > kMostDepth) fail_at(line_, "too many levels of nesting");
    std::vector<ShellText> values = read_expansion_inside(is_active);
    --nesting_;
    for (const ShellText& value : values)
      count(value.chars.size());
    return values;
  }

  std::vector<ShellText> read_expansion_inside(bool is_active) {
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
      return {unknown("`" + command + "`")};
    }
    take();
    if (take_if("((")) return {read_arithmetic(line, is_active)};
    if (peek() == '(') return {unknown("$(" + read_bracketed(line) + ")")};
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
      while (is_name_letter(peek()))
        name += take();
    }
    if (name.empty()) {
      ShellText dollar;
      dollar.add('$', line);
      return {dollar};
    }
    return value_of(name, false);
  }

  /// The text of a command in brackets, which are taken.
  std::string read_bracketed(std::int64_t line) {
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

  ShellText read_arithmetic(std::int64_t line, bool is_active) {
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
    if (expression.is_unknown()) return unknown("$((" + expression.shown() + "))");
    const auto value =
        shell_arithmetic(expression.chars, [this](std::string_view name) -> std::optional<std::int64_t> {
          const auto found = script_.variables_.find(name);
          if (found == script_.variables_.end() || found->second.empty()) return std::nullopt;
          return number_of(found->second.front().chars);
        });
    if (!value) return unknown("$((" + expression.shown() + "))");
    ShellText text;
    text.add(std::to_string(*value), line);
    return text;
  }

  /// Values of a variable; the marked name if it has none.
  std::vector<ShellText> value_of(const std::string& name, bool is_list) {
    if (name == "@" || name == "*") return {};
    const auto found = script_.variables_.find(name);
    if (found == script_.variables_.end()) {
      if (name == "?") {
        ShellText zero;
        zero.add('0', line_);
        return {zero};
      }
      return {unknown("$" + name)};
    }
    if (is_list) return found->second;
    return {found->second.empty() ? ShellText() : found->second.front()};
  }

  /// Reads the rest of `${...}`.
  std::vector<ShellText> read_parameter(std::int64_t line, bool is_active) {
    std::string name;
    const bool is_length = peek() == '#' && peek(1) != '}';
    if (is_length) take();
    if (std::string_view("@*#?!").find(peek()) != std::string_view::npos && peek(1) == '}') name = take();
    while (is_name_letter(peek()))
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
    const bool checks_empty =
        peek() == ':' && std::string_view("-=+?").find(peek(1)) != std::string_view::npos;
    if (checks_empty) take();
    const char sign = peek();
    if (sign == '-' || sign == '=' || sign == '+' || sign == '?') {
      take();
      ShellText other = read_until_brace(line, is_active);
      const bool has_value = is_set && !(checks_empty && is_empty);
      if (sign == '+') return has_value ? std::vector{other} : std::vector{ShellText()};
      if (has_value) return values;
      if (sign == '?') return {unknown("$" + name)};
      if (sign == '=' && is_active) script_.variables_[name] = {other};
      return {other};
    }
    if (peek() != '}') is_modified = true;
    read_until_brace(line, is_active);
    if (is_modified) return {unknown("${" + name + "...}")};
    return values;
  }

  /// Text up to the brace that closes, which is taken.
  ShellText read_until_brace(std::int64_t line, bool is_active) {
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

  // Commands.

  void set_variable(const std::string& name, std::vector<ShellText> values) {
    for (const ShellText& value : values)
      count(value.chars.size());
    script_.assigned_.push_back({values});
    script_.variables_[name] = std::move(values);
  }

  /// Length of `NAME=` or `NAME+=` at the current place; 0 if there is none.
  std::size_t assignment_ahead() const {
    std::size_t end = at_;
    if (end < text_.size() && std::isdigit(static_cast<unsigned char>(text_[end])) != 0) return 0;
    while (end < text_.size() && is_name_letter(text_[end]))
      ++end;
    if (end == at_) return 0;
    if (end < text_.size() && text_[end] == '+') ++end;
    return end < text_.size() && text_[end] == '=' ? end + 1 - at_ : 0;
  }

  void read_assignment(std::size_t length, bool is_active) {
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

  /// Digits of the file in front of a redirection, as in `2>&1`; 0 without one.
  std::size_t redirected_number() const {
    std::size_t end = at_;
    while (end < text_.size() && std::isdigit(static_cast<unsigned char>(text_[end])) != 0)
      ++end;
    return end > at_ && end < text_.size() && (text_[end] == '>' || text_[end] == '<') ? end - at_ : 0;
  }

  void read_redirection(const std::string& command, bool is_active) {
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

  void read_command(bool is_active) {
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
          status_ = is_active ? ShellTest({words.begin() + 1, words.end()}).value() : Truth(false);
          return;
        }
      }
    }
    if (words.empty() || !is_active || is_declaration) return;
    finish_command(std::move(words), command, line);
  }

  /// Reads the words of `[[ ... ]]`, with `&&` and `||` among them.
  void read_double_test(std::vector<ShellText>& words, bool is_active) {
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

  void finish_command(std::vector<ShellText> words, const std::string& command, std::int64_t line) {
    status_ = true;
    if (command == "[" || command == "test") {
      if (command == "[") {
        if (words.back().known() != "]") return fail_at(line, "'[' has no ']'");
        words.pop_back();
      }
      status_ = ShellTest({words.begin() + 1, words.end()}).value();
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
      const bool is_shell =
          name == "bash" || name == "sh" || name.ends_with("/bash") || name.ends_with("/sh");
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

Result<void> ShellExpander::run(std::string_view text) {
  Reader(*this, text, 1, 0).run_all();
  if (error_) return fail(*error_);
  return {};
}

}  // namespace vtrain
