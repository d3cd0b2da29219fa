#include "core/text/calendar.hpp"

#include <date/tz.h>

#include <algorithm>
#include <charconv>
#include <exception>

#include "core/base/numbers.hpp"
#include "core/base/strings.hpp"

namespace vtrain {
namespace {

using std::chrono::local_days;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using std::chrono::year_month_day;

/// Reads a text from left to right. A failed read returns false and does not advance.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  /// Reads a number of 1 to `most_digits` digits in [low, high].
  bool number(int& to, std::size_t most_digits, int low, int high) {
    int value = 0;
    const char* const first = rest_.data();
    const auto [stop, code] = std::from_chars(first, first + std::min(most_digits, rest_.size()), value);
    const bool is_digit = !rest_.empty() && rest_.front() != '-';  // from_chars takes a sign
    if (code != std::errc() || !is_digit || value < low || value > high) return false;
    rest_.remove_prefix(static_cast<std::size_t>(stop - first));
    to = value;
    return true;
  }

  /// Reads one of these characters.
  bool one_of(std::string_view characters) {
    if (rest_.empty() || characters.find(rest_.front()) == std::string_view::npos) return false;
    rest_.remove_prefix(1);
    return true;
  }

  /// Reads the digits of a fraction of a second after its point, at least one.
  bool fraction(nanoseconds& to) {
    const std::size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    if (digits == 0) return false;
    std::int64_t place = 100'000'000;
    for (std::size_t i = 0; i < digits && place > 0; ++i, place /= 10)
      to += nanoseconds(place * (rest_[i] - '0'));
    rest_.remove_prefix(digits);
    return true;
  }

  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

bool scan_date(Scanner& in, year_month_day& to) {
  constexpr int kFirstYear = 1970;
  constexpr int kLastYear = 2200;
  int year = 0;
  int month = 0;
  int day = 0;
  if (!in.number(year, 4, kFirstYear, kLastYear) || !in.one_of("-/") || !in.number(month, 2, 1, 12) ||
      !in.one_of("-/") || !in.number(day, 2, 1, 31)) {
    return false;
  }
  to = year_month_day(std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                      std::chrono::day(static_cast<unsigned>(day)));
  return to.ok();
}

/// Reads seconds: `:09`, `:09.5` or nothing.
bool scan_seconds(Scanner& in, nanoseconds& to) {
  if (!in.one_of(":")) return true;
  int second = 0;
  if (!in.number(second, 2, 0, 59)) return false;
  to = seconds(second);
  return !in.one_of(".") || in.fraction(to);
}

/// Reads an offset: `Z`, `+08:00`, `-0700`, `+08` or nothing.
bool scan_offset(Scanner& in, std::optional<seconds>& offset) {
  if (in.at_end()) return true;
  if (in.one_of("Z")) {
    offset = seconds(0);
    return true;
  }
  const bool east = in.one_of("+");
  if (!east && !in.one_of("-")) return false;
  int hours = 0;
  int minutes = 0;
  if (!in.number(hours, 2, 0, 15)) return false;
  in.one_of(":");
  if (!in.at_end() && !in.number(minutes, 2, 0, 59)) return false;
  const seconds magnitude = std::chrono::hours(hours) + std::chrono::minutes(minutes);
  offset = east ? magnitude : -magnitude;
  return true;
}

Instant minus(LocalTime local, seconds offset) {
  return Instant(local.time_since_epoch() - offset);
}

}  // namespace

Result<TimeZone> TimeZone::find(const std::string& name) {
  using std::chrono::sys_days;
  constexpr sys_days kEnd = std::chrono::year(2201) / 1 / 1;
  TimeZone result{seconds(0)};
  try {
    const date::time_zone& zone = *date::locate_zone(name);
    date::sys_info info = zone.get_info(sys_days());
    while (info.end < kEnd) {
      const date::sys_info next = zone.get_info(info.end);
      // The greater offset: an hour that comes twice is read by the clocks before the change, as is one that
      // never was.
      const seconds until = info.end.time_since_epoch() + std::max(info.offset, next.offset);
      result.changes_.push_back({LocalTime(until), info.offset, next.offset});
      info = next;
    }
    result.offset_ = info.offset;
    return result;
  } catch (const std::exception&) {
    return fail({.kind = ErrorKind::NotFound,
                 .message = "the system has no time zone " + name +
                            ": install the time zone database (the package tzdata)"});
  }
}

std::vector<TimeZone::Change>::const_iterator TimeZone::change_after(LocalTime local) const {
  return std::ranges::upper_bound(changes_, local, {}, &Change::until);
}

Instant CivilTime::utc(const TimeZone& zone) const {
  if (offset) return minus(local, *offset);
  const auto change = zone.change_after(local);
  return minus(local, change == zone.changes_.end() ? zone.offset_ : change->before);
}

Instant CivilTime::utc_not_before(Instant earliest, const TimeZone& zone) const {
  const Instant first = utc(zone);
  if (offset || first >= earliest) return first;
  const auto change = zone.change_after(local);
  if (change == zone.changes_.end()) return first;
  const Instant second = minus(local, change->after);
  const Instant changed = minus(change->until, change->before);
  return change->after < change->before && second >= changed ? second : first;
}

Result<CivilTime> parse_civil_time(std::string_view text) {
  Scanner in(trim(text));
  CivilTime time;
  year_month_day date;
  int hour = 0;
  int minute = 0;
  nanoseconds second{};
  if (!scan_date(in, date) || !in.one_of(" T") || !in.number(hour, 2, 0, 23) || !in.one_of(":") ||
      !in.number(minute, 2, 0, 59) || !scan_seconds(in, second) || !scan_offset(in, time.offset) ||
      !in.at_end()) {
    return fail({.message = expected_found("a date and time as 2017-10-07 01:12:09", text)});
  }
  time.local = local_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) + second;
  return time;
}

Result<year_month_day> parse_date(std::string_view text) {
  Scanner in(trim(text));
  year_month_day date;
  if (!scan_date(in, date) || !in.at_end()) {
    return fail({.message = expected_found("a date as 2020-04-01", text)});
  }
  return date;
}

std::int64_t seconds_since_1970(const CivilTime& time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.utc(kUtc).time_since_epoch()).count();
}

Result<std::int64_t> parse_seconds_since_1970(std::string_view text) {
  constexpr std::int64_t kMost = 253'402'300'799;  // the end of the year 9999
  if (const auto seconds = parse_integer(text, 1, kMost)) return *seconds;
  const auto time = parse_civil_time(text);
  if (!time)
    return fail({.message = expected_found("a time as 2026-11-25T09:16:18, or seconds since 1970", text)});
  return seconds_since_1970(*time);
}

}  // namespace vtrain
