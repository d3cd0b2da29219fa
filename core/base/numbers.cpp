#include "core/base/numbers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/base/strings.hpp"

namespace vtrain {
namespace {

tl::unexpected<Error> bad_value(std::string_view expected, std::string_view found) {
  return fail({.message = expected_found(expected, found)});
}

std::string range_text(std::string_view what, double low, double high) {
  const bool bounded_above = high < 9e18;
  if (low <= -9e18) return bounded_above ? fmt::format("{} of at most {}", what, high) : std::string(what);
  return bounded_above ? fmt::format("{} from {} to {}", what, low, high)
                       : fmt::format("{} of at least {}", what, low);
}

/// The value of a formatted double; `beyond` if rounding made it larger than all doubles.
double double_of(std::string_view text, double beyond) {
  double value = beyond;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// A decimal number of units as nanoseconds. Inline, so that the usual unit is a constant.
inline Result<std::int64_t> parse_decimal(std::string_view text, const TimeUnit& unit) {
  constexpr std::int64_t kParts = 1'000'000'000;  // nine digits after the point
  const std::int64_t max_whole = std::numeric_limits<std::int64_t>::max() / unit.nanoseconds - 1;
  const std::string_view digits = trim(text);
  const char* at = digits.data();
  const char* end = at + digits.size();
  const bool negative = at != end && *at == '-';
  if (negative) ++at;
  std::int64_t whole = 0;
  const char* const first = at;
  while (at != end && *at >= '0' && *at <= '9' && whole <= max_whole)
    whole = whole * 10 + (*at++ - '0');
  bool has_digits = at != first;
  std::int64_t parts = 0;
  if (at != end && *at == '.') {
    ++at;
    for (std::int64_t part = kParts / 10; at != end && *at >= '0' && *at <= '9' && part > 0; part /= 10) {
      parts += part * (*at++ - '0');
      has_digits = true;
    }
    while (at != end && *at == '0')
      ++at;
  }
  if (!has_digits || at != end || whole > max_whole) {
    return bad_value(
        fmt::format("{} as a decimal number with at most nine digits after the point", unit.name), text);
  }
  // Parts of a minute are up to 60 times more nanoseconds than parts, which 64 bits hold.
  const std::int64_t below_one =
      unit.nanoseconds >= kParts ? parts * (unit.nanoseconds / kParts) : parts / (kParts / unit.nanoseconds);
  const std::int64_t nanoseconds = whole * unit.nanoseconds + below_one;
  return negative ? -nanoseconds : nanoseconds;
}

}  // namespace

Result<std::int64_t> parse_integer(std::string_view text, std::int64_t low, std::int64_t high) {
  const std::string_view digits = trim(text);
  std::int64_t value = 0;
  const char* end = digits.data() + digits.size();
  auto [stop, code] = std::from_chars(digits.data(), end, value);
  if (code == std::errc() && stop != end && *stop == '.') {
    ++stop;  // "1.0" and "1." are whole
    while (stop != end && *stop == '0')
      ++stop;
  }
  if (code != std::errc() || stop != end || value < low || value > high) {
    return bad_value(expected_integer(low, high), text);
  }
  return value;
}

std::optional<IntegerRange> parse_integer_range(std::string_view text, std::int64_t low, std::int64_t high) {
  const auto [first_text, last_text] = split_once(text, '-');
  const auto first = parse_integer(first_text, low, high);
  if (!first) return std::nullopt;
  const auto last = last_text ? parse_integer(*last_text, *first, high) : first;
  if (!last) return std::nullopt;
  return IntegerRange{*first, *last};
}

std::string expected_integer(std::int64_t low, std::int64_t high) {
  if (low == high) return std::to_string(low);
  return range_text("a whole number", static_cast<double>(low), static_cast<double>(high));
}

Result<double> parse_number(std::string_view text, double low, double high) {
  const std::string_view digits = trim(text);
  double value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, code] = std::from_chars(digits.data(), end, value);
  // NaN fails both comparisons, infinity the finite test.
  if (code != std::errc() || stop != end || !std::isfinite(value) || !(value >= low && value <= high)) {
    return bad_value(range_text("a number", low, high), text);
  }
  return value;
}

double round_to_digits(double value, int digits) {
  return double_of(fmt::format("{:.{}g}", value, digits), value);
}

double round_to_decimals(double value, int decimals) {
  return double_of(fmt::format("{:.{}f}", value, decimals), value);
}

Result<double> parse_large_count(std::string_view text) {
  constexpr std::array<std::pair<char, double>, 4> kUnits = {
      {{'K', 1e3}, {'M', 1e6}, {'B', 1e9}, {'T', 1e12}}};
  constexpr double kLeast = 1e6;
  constexpr double kMost = 1e18;
  std::string_view number = trim(text);
  double factor = 1;
  for (const auto& [letter, thousands] : kUnits) {
    if (!number.ends_with(letter) && !number.ends_with(static_cast<char>(letter + ('a' - 'A')))) continue;
    number.remove_suffix(1);
    factor = thousands;
    break;
  }
  const double count = parse_number(number, 0, kMost).value_or(0) * factor;
  if (count >= kLeast && count <= kMost) return count;
  return bad_value("a number of at least a million such as 300B, 1.4T or 3e11", text);
}

Result<std::int64_t> parse_seconds_as_ns(std::string_view text) {
  return parse_decimal(text, kSeconds);
}

Result<std::int64_t> parse_time_as_ns(std::string_view text, const TimeUnit& unit) {
  return unit.nanoseconds == kSeconds.nanoseconds ? parse_decimal(text, kSeconds) : parse_decimal(text, unit);
}

void append_ns_as_seconds(std::string& out, std::int64_t nanoseconds) {
  constexpr std::uint64_t kPerSecond = 1'000'000'000;
  std::uint64_t magnitude = static_cast<std::uint64_t>(nanoseconds);
  if (nanoseconds < 0) {
    out += '-';
    magnitude = 0 - magnitude;
  }
  std::uint64_t fraction = magnitude % kPerSecond;
  char buffer[32];
  char* at = std::to_chars(buffer, buffer + sizeof buffer, magnitude / kPerSecond).ptr;
  if (fraction != 0) {
    *at++ = '.';
    for (std::uint64_t unit = kPerSecond / 10; fraction != 0; unit /= 10) {
      *at++ = static_cast<char>('0' + fraction / unit);
      fraction %= unit;
    }
  }
  out.append(buffer, at);
}

std::string with_thousands(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::ptrdiff_t first = number < 0 ? 1 : 0;
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > first; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

}  // namespace vtrain
