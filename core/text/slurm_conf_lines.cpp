#include "core/text/slurm_conf_lines.hpp"

#include <algorithm>
#include <utility>

#include "core/base/strings.hpp"

namespace vtrain {
namespace {

constexpr std::string_view kConfBlanks = " \t\r\n";
constexpr std::size_t kLongestConfLine = std::size_t{1} << 20;

/// The text before a comment. `\#` is a plain `#`; a `#` in quotes is one, too.
std::string without_comment(std::string_view text) {
  std::string kept;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && c == '\\' && i + 1 < text.size() && text[i + 1] == '#') {
      kept += text[++i];
      continue;
    }
    if (quote == 0 && c == '#') break;
    if (c == quote)
      quote = 0;
    else if (quote == 0 && c == '"')
      quote = c;
    kept += c;
  }
  return kept;
}

/// Reads the pairs of one line into `entries`. Returns what is wrong with it; empty if nothing is.
std::string read_pairs(std::string_view rest, std::vector<SlurmConfEntry>& entries) {
  for (;;) {
    rest.remove_prefix(std::min(rest.find_first_not_of(kConfBlanks), rest.size()));
    if (rest.empty()) return {};
    const std::size_t equal = rest.find('=');
    const std::size_t blank = rest.find_first_of(kConfBlanks);
    if (equal == std::string_view::npos ||
        trim(rest.substr(0, equal)).find_first_of(kConfBlanks) != std::string_view::npos) {
      return expected_found("Key=Value", rest.substr(0, blank));
    }
    SlurmConfEntry entry{.key = std::string(trim(rest.substr(0, equal))), .value = {}};
    if (entry.key.empty()) return expected_found("Key=Value", rest.substr(0, blank));
    rest.remove_prefix(equal + 1);
    // Slurm's own parser allows blanks around `=`.
    const std::size_t begin = rest.find_first_not_of(" \t");
    if (begin != std::string_view::npos && rest[begin] == '"') rest.remove_prefix(begin);
    if (rest.starts_with('"')) {
      const std::size_t end = rest.find('"', 1);
      if (end == std::string_view::npos) return expected_found("a quote at the end of the value", rest);
      entry.value = rest.substr(1, end - 1);
      rest.remove_prefix(end + 1);
    } else {
      const std::size_t end = std::min(rest.find_first_of(kConfBlanks), rest.size());
      entry.value = rest.substr(0, end);
      rest.remove_prefix(end);
    }
    entries.push_back(std::move(entry));
  }
}

}  // namespace

const std::string* SlurmConfLine::find(std::string_view key) const {
  const auto found = std::ranges::find_if(
      entries, [key](const SlurmConfEntry& entry) { return equal_in_any_case(entry.key, key); });
  return found == entries.end() ? nullptr : &found->value;
}

Result<std::vector<SlurmConfLine>> read_slurm_conf_lines(std::string_view text, const std::string& file) {
  std::vector<SlurmConfLine> lines;
  std::string joined;
  std::int64_t number = 0;
  std::int64_t first = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string line = without_comment(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    std::string_view words = trim(line);
    if (joined.empty()) first = number;
    const bool goes_on = words.ends_with('\\');
    if (goes_on) words.remove_suffix(1);
    joined += words;
    joined += ' ';
    if (joined.size() > kLongestConfLine)
      return fail({.file = file, .line = first, .message = "expected a line of at most 1 MiB, found more"});
    if (goes_on && !text.empty()) continue;
    SlurmConfLine parsed{.line = first};
    const std::string_view content = trim(joined);
    const auto complain = [&](std::string message) {
      return fail({.file = file, .line = first, .message = std::move(message)});
    };
    if (lower_case(content.substr(0, 8)) == "include ")
      return complain("expected all of the configuration in one file, found Include");
    if (std::string problem = read_pairs(content, parsed.entries); !problem.empty())
      return complain(std::move(problem));
    if (!parsed.entries.empty()) lines.push_back(std::move(parsed));
    joined.clear();
  }
  return lines;
}

std::vector<SlurmConfEntry> slurm_pairs(std::string_view line) {
  std::vector<SlurmConfEntry> pairs;
  while (!line.empty()) {
    line.remove_prefix(std::min(line.find_first_not_of(kConfBlanks), line.size()));
    const std::string_view word = line.substr(0, line.find_first_of(kConfBlanks));
    line.remove_prefix(word.size());
    const std::size_t equal = word.find('=');
    if (equal == std::string_view::npos || equal == 0) continue;
    pairs.push_back({std::string(word.substr(0, equal)), std::string(word.substr(equal + 1))});
  }
  return pairs;
}

}  // namespace vtrain
