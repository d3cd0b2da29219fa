/// Conversion between numbers and text, independent of the locale.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace vtrain {

/// A whole number in [low, high]. `1.0` is read as 1, as several published traces write counts like this. The
/// error carries only the message; the caller adds file, line and field.
Result<std::int64_t> parse_integer(std::string_view text, std::int64_t low, std::int64_t high);

/// A number `A`, or a range `A-B` that includes A and B.
struct IntegerRange {
  std::int64_t first = 0;
  std::int64_t last = 0;

  friend bool operator==(const IntegerRange&, const IntegerRange&) = default;
};
/// A number, or a range that does not decrease, within [low, high]; none for another text. `low` is not
/// negative.
std::optional<IntegerRange> parse_integer_range(std::string_view text, std::int64_t low, std::int64_t high);

/// Description of an expected number: `a whole number from 1 to 8`, or `2` if that is the only one. Limits
/// beyond 9e18 are left out.
std::string expected_integer(std::int64_t low, std::int64_t high);

/// A finite number in [low, high].
Result<double> parse_number(std::string_view text, double low, double high);

/// The double nearest to `value` rounded to `digits` significant digits, or to `decimals` digits after the
/// point. It prints as that short decimal number, in every locale.
double round_to_digits(double value, int digits);
double round_to_decimals(double value, int decimals);

/// A count from a million to 10^18: `300B`, `1.4t`, `3e11`. It may end in K, M, B or T, in either case, for
/// 10^3, 10^6, 10^9 or 10^12. Smaller counts are rejected, as a letter was probably forgotten.
Result<double> parse_large_count(std::string_view text);

/// A unit in which files write times.
struct TimeUnit {
  std::string_view name;  ///< plural, for messages
  std::int64_t nanoseconds = 0;
};
/// The units that published traces use.
inline constexpr TimeUnit kMilliseconds{"milliseconds", 1'000'000};
inline constexpr TimeUnit kSeconds{"seconds", 1'000'000'000};
inline constexpr TimeUnit kMinutes{"minutes", 60'000'000'000};

/// Decimal seconds as whole nanoseconds, without passing through a double: `0.1` is exactly 100,000,000 ns.
/// At most nine digits after the point are read; the tenth is an error unless it is 0. The range is +-292
/// years.
Result<std::int64_t> parse_seconds_as_ns(std::string_view text);
/// Decimal time in another unit, rounded down to whole nanoseconds.
Result<std::int64_t> parse_time_as_ns(std::string_view text, const TimeUnit& unit);

/// The shortest decimal form of a whole number of nanoseconds in seconds: 1,500,000,000 is `1.5`.
void append_ns_as_seconds(std::string& out, std::int64_t nanoseconds);

/// `1234567` as `1,234,567`.
std::string with_thousands(std::int64_t number);

}  // namespace vtrain
