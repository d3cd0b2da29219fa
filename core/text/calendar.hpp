/// Dates and times of day as logs write them, converted to one scale of seconds. Dates are `std::chrono`
/// types.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.hpp"

namespace vtrain {

/// An instant in nanoseconds, as some logs write fractions of seconds.
using Instant = std::chrono::sys_time<std::chrono::nanoseconds>;
/// Time shown by a clock of some time zone.
using LocalTime = std::chrono::local_time<std::chrono::nanoseconds>;

/// The rule for the difference of a place's clocks from UTC.
class TimeZone {
 public:
  /// Clocks that are always `offset` ahead of UTC.
  constexpr explicit TimeZone(std::chrono::seconds offset) : offset_(offset) {}
  /// The zone of this name, `America/New_York`, in the time zone database of the system. Error: no such zone.
  /// The database lists changes of clocks up to 2037; later years have none.
  static Result<TimeZone> find(const std::string& name);

 private:
  friend struct CivilTime;

  /// One change of the clocks.
  struct Change {
    LocalTime until;                     ///< end of local times that use the offset before the change
    std::chrono::seconds before, after;  ///< local time - UTC
  };
  /// The first change after a local time, or the end.
  std::vector<Change>::const_iterator change_after(LocalTime local) const;

  std::vector<Change> changes_;  ///< since 1970, in order
  std::chrono::seconds offset_;  ///< offset after the last change
};

/// Universal time.
inline constexpr TimeZone kUtc{std::chrono::seconds(0)};
/// China, which has had no daylight-saving time since 1992.
inline constexpr TimeZone kChina{std::chrono::hours(8)};

/// A date and time as written.
struct CivilTime {
  LocalTime local{};
  std::optional<std::chrono::seconds> offset{};  ///< local time - UTC, if the text gives it

  /// The instant, by the written offset or else by the rules of `zone`. If two instants have this local time
  /// (an hour in autumn occurs twice), the first is meant. A skipped local time (an hour in spring) is read
  /// as if clocks had not been set forward yet.
  Instant utc(const TimeZone& zone) const;
  /// The instant as in `utc`, but of two instants the first that is not before `earliest`. A job that starts
  /// at 1:50 and ends at 1:10 ran through the repeated hour.
  Instant utc_not_before(Instant earliest, const TimeZone& zone) const;
};

/// Reads `2017-10-07 01:12:09`, `2023-03-01 00:18:22+08:00`, `2020-04-01T08:00:00Z` or `2023/7/15 02:19`:
/// year, month and day separated by `-` or `/`, a blank or `T`, hours and minutes. Seconds (with a fraction,
/// as `09.5`, cut off below a nanosecond) and an offset are optional. Years are 1970 to 2200. The error
/// carries only the message.
Result<CivilTime> parse_civil_time(std::string_view text);

/// Whole seconds from 1970 to a time, which is universal where it has no offset.
std::int64_t seconds_since_1970(const CivilTime& time);
/// Reads such seconds, above 0, or a date and time as `parse_civil_time` does. The error carries only the
/// message.
Result<std::int64_t> parse_seconds_since_1970(std::string_view text);

/// Reads `2020-04-01` or `2020/4/1` in the same way.
Result<std::chrono::year_month_day> parse_date(std::string_view text);

}  // namespace vtrain
