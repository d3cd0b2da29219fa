/// Numbers from text and numbers as text, the same in every locale.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.hpp"

namespace vtrain {

/// A whole number in [low, high]. `1.0` counts as 1, as several published traces write counts so. The error
/// carries only the message; the caller adds file, line and field.
Result<std::int64_t> parse_integer(std::string_view text, std::int64_t low, std::int64_t high);

/// `A` or `A-B`, which begins with A and ends with B.
struct IntegerRange {
  std::int64_t first = 0;
  std::int64_t last = 0;

  friend bool operator==(const IntegerRange&, const IntegerRange&) = default;
};
/// A number or a range that does not fall, within [low, high], where `low` is not negative; nothing for
/// another text.
std::optional<IntegerRange> parse_integer_range(std::string_view text, std::int64_t low, std::int64_t high);

/// What such a number is called where it is expected: `a whole number from 1 to 8`, `2` where no other one
/// is; limits beyond 9e18 are none.
std::string expected_integer(std::int64_t low, std::int64_t high);

/// A finite number in [low, high].
Result<double> parse_number(std::string_view text, double low, double high);

/// The double nearest to `value` rounded to so many significant digits, or digits after the point, as a
/// decimal number: it prints as that short decimal. The same in every locale.
double round_to_digits(double value, int digits);
double round_to_decimals(double value, int decimals);

/// A count from a million to 10^18, that may end in K, M, B or T, in either case, for 10^3, 10^6, 10^9 or
/// 10^12: `300B`, `1.4t`, `3e11`. Smaller ones are taken for a forgotten letter, and refused.
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
/// At most nine digits after the point count (the tenth is an error unless it is 0); the range is +-292
/// years.
Result<std::int64_t> parse_seconds_as_ns(std::string_view text);
/// The same for another unit, rounded down to whole nanoseconds.
Result<std::int64_t> parse_time_as_ns(std::string_view text, const TimeUnit& unit);

/// The shortest decimal form of a whole number of nanoseconds in seconds: 1,500,000,000 is `1.5`.
void append_ns_as_seconds(std::string& out, std::int64_t nanoseconds);

/// `1234567` as `1,234,567`.
std::string with_thousands(std::int64_t number);

}  // namespace vtrain
