#include "workloads/settings/shell_expander.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/base/numbers.hpp"
#include "workloads/settings/shell_reader.hpp"

namespace vtrain {
namespace {

constexpr std::size_t kMostCharacters = 4'000'000;

}  // namespace

Result<void> ShellExpander::run(std::string_view text) {
  Reader(*this, text, 1, 0).run_all();
  if (error_) return fail(*error_);
  return {};
}

void ShellExpander::Reader::run_all() {
  while (!done()) {
    const std::string end = run(true);
    if (!end.empty() && !done()) fail_at(line_, fmt::format("'{}' without a beginning", end));
  }
}

char ShellExpander::Reader::take() {
  const char letter = text_[at_++];
  if (letter == '\n') ++line_;
  return letter;
}

bool ShellExpander::Reader::take_if(std::string_view symbol) {
  if (!text_.substr(at_).starts_with(symbol)) return false;
  for (std::size_t i = 0; i < symbol.size(); ++i)
    take();
  return true;
}

void ShellExpander::Reader::fail_at(std::int64_t line, std::string message) {
  if (!script_.error_)
    script_.error_ = Error{.file = script_.file_, .line = line, .message = std::move(message)};
}

void ShellExpander::Reader::count(std::size_t characters) {
  script_.num_characters_ += characters;
  if (script_.num_characters_ > kMostCharacters)
    fail_at(line_, fmt::format("expanded beyond {} characters", with_thousands(kMostCharacters)));
}

void ShellExpander::Reader::skip_blanks() {
  while (!done()) {
    if (is_shell_blank(peek()))
      take();
    else if (peek() == '\\' && peek(1) == '\n')
      take_if("\\\n");
    else if (peek() == '\\' && peek(1) == '\r' && peek(2) == '\n')
      take_if("\\\r\n");
    else
      break;
  }
}

void ShellExpander::Reader::skip_comment() {
  const std::size_t end = std::min(text_.find('\n', at_), text_.size());
  const std::string_view comment = text_.substr(at_, end - at_);
  constexpr std::string_view kSlurm = "#SBATCH";
  if (comment.starts_with(kSlurm)) {
    ShellText options;
    const std::string_view rest = comment.substr(kSlurm.size());
    options.add(rest.substr(0, rest.find(" #")), line_);
    script_.slurm_.push_back({split_shell_words(options)});
  }
  at_ = end;
}

void ShellExpander::Reader::skip_lines() {
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

void ShellExpander::Reader::end_line() {
  take();
  for (const HereDocument& document : std::exchange(here_, {}))
    read_here_document(document);
}

void ShellExpander::Reader::read_here_document(const HereDocument& document) {
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

void ShellExpander::Reader::run_nested(std::string_view text, std::int64_t line) {
  if (depth_ + 1 > 8) return;
  count(text.size());
  const std::string kept(text);
  Reader nested(script_, kept, std::max<std::int64_t>(line, 1), depth_ + 1);
  nested.run_all();
}

}  // namespace vtrain
