#include "core/text/calendar.hpp"

#include <doctest/doctest.h>

#include <ctime>
#include <string>

using std::chrono::seconds;
using std::chrono::sys_seconds;
using vtrain::CivilTime;
using vtrain::kChina;
using vtrain::kUtc;
using vtrain::parse_civil_time;
using vtrain::TimeZone;

namespace {

const TimeZone& pacific() {
  static const TimeZone zone = TimeZone::find("America/Los_Angeles").value();
  return zone;
}

std::int64_t utc(const std::string& text, const vtrain::TimeZone& zone) {
  const auto time = parse_civil_time(text);
  REQUIRE_MESSAGE(time.has_value(), text);
  return std::chrono::floor<std::chrono::seconds>(time->utc(zone)).time_since_epoch().count();
}

/// Sets the time zone of the C library for the object's life.
class CLibraryZone {
 public:
  explicit CLibraryZone(const char* zone) {
    setenv("TZ", zone, 1);
    tzset();
  }
  ~CLibraryZone() {
    unsetenv("TZ");
    tzset();
  }
  CLibraryZone(const CLibraryZone&) = delete;
  CLibraryZone& operator=(const CLibraryZone&) = delete;
};

}  // namespace

TEST_CASE("calendar: known instants") {
  CHECK(utc("1970-01-01 00:00:00", kUtc) == 0);
  CHECK(utc("2017-10-07 01:12:09", kUtc) == 1507338729);  // date -u -d ... +%s
  CHECK(utc("2017-10-07 01:12:09", pacific()) == 1507338729 + 7 * 3600);
  CHECK(utc("2017-12-07 01:12:09", pacific()) == utc("2017-12-07 01:12:09", kUtc) + 8 * 3600);
  CHECK(utc("2020-06-09 18:41:01", kChina) == utc("2020-06-09 10:41:01", kUtc));
}

TEST_CASE("calendar: the forms in which logs write times") {
  CHECK(utc("2023-03-01 00:18:22+08:00", pacific()) == utc("2023-02-28 16:18:22", kUtc));
  CHECK(utc("2023-03-01T00:18:22-0700", kChina) == utc("2023-03-01 07:18:22", kUtc));
  CHECK(utc("2023-03-01T00:18:22Z", kChina) == utc("2023-03-01 00:18:22", kUtc));
  CHECK(utc("2023-03-01T00:18:22.000+05", kChina) == utc("2023-02-28 19:18:22", kUtc));
  CHECK(utc("2023/7/15 02:19", kUtc) == utc("2023-07-15 02:19:00", kUtc));
  CHECK(utc(" 2024-02-29 23:59:59 ", kUtc) == utc("2024-03-01 00:00:00", kUtc) - 1);
}

TEST_CASE("calendar: fractions of seconds are kept to the nanosecond") {
  const auto nanoseconds = [](const char* text) {
    return parse_civil_time(text).value().utc(kUtc).time_since_epoch().count();
  };
  constexpr std::int64_t kWhole = 1507338729'000'000'000;
  CHECK(nanoseconds("2017-10-07 01:12:09.5") == kWhole + 500'000'000);
  CHECK(nanoseconds("2017-10-07 01:12:09.000001+00:00") == kWhole + 1000);
  CHECK(nanoseconds("2017-10-07 01:12:09.1234567899Z") == kWhole + 123'456'789);
}

TEST_CASE("calendar: what is no time is refused") {
  for (const char* text :
       {"", "None", "2017-10-07", "2017-10-07 1", "2017-13-07 01:12:09", "2017-02-29 01:12:09",
        "2017-10-07 24:00:00", "2017-10-07 01:60:00", "2017-10-07 01:12:60", "2017-10-07 01:12:09 PDT",
        "17-10-07 01:12:09", "1969-12-31 00:00:00", "99999-01-01 00:00:00", "2017-10-07 01:12:09+",
        "2017-10-07 01:12:09+16", "2017-10-07 01:12:09.", "2017--1-07 01:12:09", "2017-10-07 -1:12:09",
        "1507338729"}) {
    CAPTURE(text);
    const auto time = parse_civil_time(text);
    REQUIRE_FALSE(time.has_value());
    CHECK(time.error().message.starts_with("expected a date and time as 2017-10-07 01:12:09, found '"));
  }
  CHECK(vtrain::parse_date("2020/4/1").has_value());
  CHECK_FALSE(vtrain::parse_date("2020-04-31").has_value());
  CHECK_FALSE(vtrain::parse_date("2020-04-01 00:00").has_value());
}

TEST_CASE("calendar: the hours of the year's two clock changes") {
  // Spring of 2017 in the United States: 12 March, 2:00 becomes 3:00.
  CHECK(utc("2017-03-12 03:00:00", pacific()) - utc("2017-03-12 01:59:59", pacific()) == 1);
  // 2:30 never was; clocks that had not been set forward showed it when others showed 3:30.
  CHECK(utc("2017-03-12 02:30:00", pacific()) == utc("2017-03-12 03:30:00", pacific()));
  // Autumn: 5 November, 1:00 to 2:00 comes twice.
  CHECK(utc("2017-11-05 02:00:00", pacific()) - utc("2017-11-05 01:59:59", pacific()) == 3601);
  const auto start = parse_civil_time("2017-11-05 01:50:00")->utc(pacific());
  const auto end = *parse_civil_time("2017-11-05 01:10:00");
  CHECK(end.utc(pacific()) == start - std::chrono::minutes(40));
  CHECK(end.utc_not_before(start, pacific()) == start + std::chrono::minutes(20));
  // An hour that comes once stays what it is, also when it is before.
  CHECK(parse_civil_time("2017-11-05 00:59:59")->utc_not_before(start, pacific()) < start);
  CHECK(parse_civil_time("2017-11-05 01:10:00-07:00")->utc_not_before(start, pacific()) < start);
}

TEST_CASE("calendar: clocks change on the days that held in their year and place") {
  const TimeZone new_york = TimeZone::find("America/New_York").value();
  // Hours behind UTC at noon of the days around the changes: the United States before and since 2007.
  const auto behind = [&](const std::string& day) {
    return (utc(day + " 12:00", new_york) - utc(day + " 12:00", kUtc)) / 3600;
  };
  CHECK(behind("1990-03-31") == 5);
  CHECK(behind("1990-04-01") == 4);
  CHECK(behind("2006-04-01") == 5);
  CHECK(behind("2006-04-02") == 4);
  CHECK(behind("2006-10-28") == 4);
  CHECK(behind("2006-10-29") == 5);
  CHECK(behind("2007-03-10") == 5);
  CHECK(behind("2007-03-11") == 4);
  CHECK(behind("2007-11-03") == 4);
  CHECK(behind("2007-11-04") == 5);
  // South of the equator, by half an hour, and not at all.
  const TimeZone lord_howe = TimeZone::find("Australia/Lord_Howe").value();
  CHECK(utc("2023-01-15 12:00", lord_howe) == utc("2023-01-15 01:00", kUtc));
  CHECK(utc("2023-07-15 12:00", lord_howe) == utc("2023-07-15 01:30", kUtc));
  const auto twice = *parse_civil_time("2023-04-02 01:45");  // 1:30 to 2:00 came twice
  const auto first = twice.utc(lord_howe);
  CHECK(twice.utc_not_before(first + seconds(1), lord_howe) == first + std::chrono::minutes(30));
  CHECK(utc("2023-10-01 02:15", lord_howe) == utc("2023-10-01 02:45", lord_howe));  // 2:00 to 2:30 never was
  const TimeZone kolkata = TimeZone::find("Asia/Kolkata").value();
  CHECK(utc("2023-07-15 12:00", kolkata) == utc("2023-07-15 06:30", kUtc));
}

TEST_CASE("calendar: a zone that is not in the database is an error") {
  const auto zone = TimeZone::find("America/Atlantis");
  REQUIRE_FALSE(zone.has_value());
  CHECK(zone.error().describe() ==
        "the system has no time zone America/Atlantis: install the time zone database (the package tzdata)");
}

TEST_CASE("calendar: agrees with the C library's own zone rules every half hour of four years") {
  const CLibraryZone zone("PST8PDT,M3.2.0/2,M11.1.0/2");
  const std::time_t first = 1483228800;  // 2017-01-01 00:00:00 UTC
  for (std::time_t instant = first; instant < first + 4 * 366 * 86400; instant += 1800) {
    std::tm local{};
    localtime_r(&instant, &local);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
    // The second of two instants with one local time is reached from itself.
    const auto time = parse_civil_time(text);
    REQUIRE(time.has_value());
    const auto found = time->utc_not_before(sys_seconds(std::chrono::seconds(instant)), pacific());
    CAPTURE(text);
    REQUIRE(found == sys_seconds(std::chrono::seconds(instant)));
  }
}
