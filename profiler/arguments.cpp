#include "profiler/arguments.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "profiler/error.hpp"

namespace vtrain::profiler {
namespace {

/// Insertions, deletions and replacements of letters that make one word of another.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

constexpr std::size_t kHelpColumn = 30;

}  // namespace

void ArgumentParser::add(std::string_view name, std::string_view value_name, std::string_view help,
                         std::function<void(std::string_view)> take) {
  options_.push_back({std::string(name), std::string(value_name), std::string(help), std::move(take)});
}

const ArgumentParser::Option& ArgumentParser::find(std::string_view name) const {
  const Option* nearest = &options_.front();
  for (const Option& option : options_) {
    if (option.name == name) return option;
    if (edit_distance(option.name, name) < edit_distance(nearest->name, name)) nearest = &option;
  }
  throw InputError("unknown option '" + std::string(name.substr(0, 60)) + "'; did you mean '" +
                   nearest->name + "'?");
}

bool ArgumentParser::parse(const std::vector<std::string>& arguments) const {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--help" || argument == "-h") return false;
    const std::size_t equals = argument.find('=');
    const Option& option = find(argument.substr(0, equals));
    if (option.value_name.empty()) {
      if (equals != std::string_view::npos)
        throw expected_found(option.name, "no value", argument.substr(equals + 1));
      option.take({});
    } else if (equals != std::string_view::npos) {
      option.take(argument.substr(equals + 1));
    } else {
      if (++i == arguments.size())
        throw InputError(option.name + ": expected " + option.value_name + " after it");
      option.take(arguments[i]);
    }
  }
  return true;
}

std::string ArgumentParser::help() const {
  std::string text = usage_ + "\nOptions:\n";
  for (const Option& option : options_) {
    std::string line = "  " + option.name + (option.value_name.empty() ? "" : " " + option.value_name);
    line.resize(std::max(line.size() + 1, kHelpColumn), ' ');
    text += line + option.help + "\n";
  }
  return text;
}

std::int64_t parse_whole(std::string_view option, std::string_view text, std::int64_t least) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  // Sizes multiply to less than 2^63 elements.
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc() || stop != end || value < least || value > kMost) {
    throw expected_found(option, "a whole number of at least " + std::to_string(least), text);
  }
  return value;
}

double parse_positive(std::string_view option, std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc() || stop != end || !std::isfinite(value) || value <= 0) {
    throw expected_found(option, "a number above 0", text);
  }
  return value;
}

std::vector<std::string_view> split_list(std::string_view option, std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (parts.back().empty()) throw expected_found(option, "a value between the separators", text);
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::int64_t> parse_whole_list(std::string_view option, std::string_view text,
                                           std::int64_t least) {
  std::vector<std::int64_t> values;
  for (const std::string_view part : split_list(option, text))
    values.push_back(parse_whole(option, part, least));
  return values;
}

}  // namespace vtrain::profiler
