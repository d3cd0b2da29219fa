/// Reading numbers from text and helping with misspelt names.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.hpp"

namespace vtrain {

/// `text` without blanks at both ends.
std::string_view trim(std::string_view text);
/// The letters A to Z in lower case, whatever the locale; every other character as it is.
constexpr char lower_case(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}
/// The same for each character of `text`.
std::string lower_case(std::string_view text);
/// `text` with the letters a to z in upper case.
std::string upper_case(std::string_view text);
/// Whether two texts are the same but for the case of the letters A to Z.
bool equal_in_any_case(std::string_view a, std::string_view b);

/// Whether `text` is well-formed UTF-8 without control characters (U+0000 to U+001F, U+007F to U+009F).
bool is_printable(std::string_view text);
/// `text` with every other byte as `\xNN`, so that a terminal or a JSON document can show it.
std::string printable(std::string_view text);

/// The beginning of `text`, `most` bytes or a little less: no character of UTF-8 is cut.
std::string_view first_bytes(std::string_view text, std::size_t most);

/// The parts of `text` between separators, without blanks at their ends; at least one.
std::vector<std::string_view> split(std::string_view text, char separator);
/// What stands before the first separator, and what stands behind it; nothing where there is none. Without
/// blanks at the ends.
std::pair<std::string_view, std::optional<std::string_view>> split_once(std::string_view text,
                                                                        char separator);

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

/// A count above zero, up to 10^18, that may end in K, M, B or T for 10^3, 10^6, 10^9 or 10^12: `300B`,
/// `1.4T`, `3e11`.
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

/// The name in `known` that is nearest to `word` by edit distance, whatever the case of letters, or empty
/// when none is close.
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> known);

/// `a`, `a and b`, `a, b and c`; empty for none.
std::string join_with_and(std::span<const std::string> words);
/// `'edf', 'fifo' and 'las'`-style list for messages.
std::string list_names(std::span<const std::string_view> names);

/// The value of an enumeration by the name at its place in `names`; the error, of this field, lists them.
template <class Value>
Result<Value> parse_name(std::string_view field, std::span<const std::string_view> names,
                         std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<Value>(i);
  }
  return fail({.field = std::string(field), .message = expected_found("one of " + list_names(names), name)});
}

/// `did you mean 'edf'?` of the nearest name; of the few names that begin with `word` (three letters or more,
/// in any case) if it is none of these; or else of the few that have `word` within them: `did you mean one of
/// 'llama3-8b' and 'llama3-70b'?`. Empty when there are none, or many.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);
/// A complaint about `word`, with `; ` and `did_you_mean` behind it where there is something to say.
std::string with_guess(std::string complaint, std::string_view word, std::span<const std::string_view> known);

/// What to say of a name that is not known: `did_you_mean`, or, when nothing resembles it, `known are 'edf',
/// 'fifo' and 'las'`.
std::string suggest_name(std::string_view word, std::span<const std::string_view> known);

}  // namespace vtrain
