/// Dates and times of day as logs write them, on one line of seconds. Dates are those of `std::chrono`.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "core/base/result.hpp"

namespace vtrain {

/// The rule by which clocks of a place differ from UTC.
struct TimeZone {
  std::chrono::seconds standard_offset{0};  ///< local time - UTC in winter
  /// Clocks are an hour ahead from the second Sunday of March, 2:00, to the first Sunday of November, 2:00
  /// (the rule of the United States since 2007: Energy Policy Act of 2005, section 110).
  bool us_daylight_saving = false;
};

/// Universal time.
inline constexpr TimeZone kUtc{};
/// The west coast of the United States.
inline constexpr TimeZone kUsPacific{.standard_offset = std::chrono::hours(-8), .us_daylight_saving = true};
/// China, which has no daylight-saving time.
inline constexpr TimeZone kChina{.standard_offset = std::chrono::hours(8), .us_daylight_saving = false};

/// An instant: to the nanosecond, which some logs have fractions of seconds for.
using Instant = std::chrono::sys_time<std::chrono::nanoseconds>;
/// What a clock of some time zone shows at it.
using LocalTime = std::chrono::local_time<std::chrono::nanoseconds>;

/// A date and time as written.
struct CivilTime {
  LocalTime local{};
  std::optional<std::chrono::seconds> offset{};  ///< local time - UTC, if the text says it

  /// The instant. By the offset as written; without one by the rules of `zone`, where of two instants with
  /// this local time (an hour of autumn comes twice) the first is meant, and a local time that never was (an
  /// hour of spring) is read as if clocks had not been set forward yet.
  Instant utc(const TimeZone& zone) const;
  /// The same, but of two instants the first that is not before `earliest`: a job that ends at 1:10 after it
  /// started at 1:50 ran over the hour that came twice.
  Instant utc_not_before(Instant earliest, const TimeZone& zone) const;
};

/// Reads `2017-10-07 01:12:09`, `2023-03-01 00:18:22+08:00`, `2020-04-01T08:00:00Z` or `2023/7/15 02:19`:
/// year, month and day separated by `-` or `/`, a blank or `T`, hours and minutes, seconds if given (with a
/// fraction, as `09.5`, of which what is below a nanosecond is cut off), and an offset if given. Years are
/// 1970 to 2200. The error carries only the message.
Result<CivilTime> parse_civil_time(std::string_view text);

/// Reads `2020-04-01` or `2020/4/1` in the same way.
Result<std::chrono::year_month_day> parse_date(std::string_view text);

}  // namespace vtrain
