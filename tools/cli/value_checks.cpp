#include "tools/cli/value_checks.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/base/names.hpp"
#include "core/base/numbers.hpp"
#include "core/base/result.hpp"
#include "core/base/strings.hpp"
#include "sched/cluster/cluster.hpp"

namespace vtrain {
namespace {

/// Accepts what `parse` accepts, and passes it on as plain digits. Help shows `range` after the option's
/// type.
template <class Parse>
CLI::Validator parsed_by(Parse parse, std::string range) {
  return {[parse](std::string& value) {
            const auto parsed = parse(value);
            if (!parsed) return parsed.error().message;
            value = fmt::format("{}", *parsed);
            return std::string();
          },
          std::move(range)};
}

}  // namespace

CLI::Validator whole_number(std::int64_t low, std::int64_t high) {
  const bool is_bounded = high < std::numeric_limits<std::int64_t>::max();
  return parsed_by([=](std::string_view text) { return parse_integer(text, low, high); },
                   is_bounded ? fmt::format("{} to {}", low, high) : fmt::format("at least {}", low));
}

CLI::Validator binary_count(std::int64_t low, std::int64_t high) {
  const auto parse = [=](std::string_view text) -> Result<std::int64_t> {
    std::string_view number = trim(text);
    const char unit = number.empty() ? ' ' : number.back();
    const bool is_mebi = unit == 'M' || unit == 'm';
    if (!is_mebi && unit != 'K' && unit != 'k') return parse_integer(text, low, high);
    number.remove_suffix(1);
    const std::int64_t factor = std::int64_t{1} << (is_mebi ? 20 : 10);
    const auto count = parse_integer(number, 1, high / factor);
    if (count && *count * factor >= low) return *count * factor;
    return fail(
        {.message = expected_found(expected_integer(low, high) + ", such as 8192, 128K or 1M", text)});
  };
  return parsed_by(parse, fmt::format("{} to {}", low, high));
}

CLI::Validator gpu_count() {
  return whole_number(1, kMaxClusterGpus);
}

CLI::Validator number_between(double low, double high) {
  return parsed_by([=](std::string_view text) { return parse_number(text, low, high); },
                   fmt::format("{} to {}", low, high));
}

CLI::Validator number_above_zero() {
  return parsed_by(
      [](std::string_view text) -> Result<double> {
        constexpr double kLeast = std::numeric_limits<double>::min();
        constexpr double kMost = 1e12;
        if (auto number = parse_number(text, kLeast, kMost)) return number;
        return fail({.message = expected_found("a number above 0, at most 1e12", text)});
      },
      "above 0");
}

CLI::Validator plain_file() {
  return {[](const std::string& name) -> std::string {
            if (name == "-") return "expected the name of a file, found '-' (/dev/stdout is standard output)";
            if (name.ends_with(".gz") || name.ends_with(".zst"))
              return expected_found("a name without .gz or .zst: what is written is not compressed", name);
            return {};
          },
          {}};
}

CLI::Validator one_of(std::vector<std::string_view> words) {
  const std::string shown = fmt::format("{}", fmt::join(words, "|"));
  return {[words = std::move(words)](const std::string& value) {
            if (std::find(words.begin(), words.end(), value) != words.end()) return std::string();
            return expected_found("one of " + list_names(words), value);
          },
          shown};
}

}  // namespace vtrain
