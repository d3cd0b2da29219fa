#include "core/text/quantities.hpp"

#include <doctest/doctest.h>

using vtrain::describe_time_span;
using vtrain::parse_quantity;
using vtrain::parse_time_span;
using vtrain::SimDuration;

TEST_CASE("quantities: a number with its unit, exact") {
  CHECK(parse_time_span("90s").value() == std::chrono::seconds(90));
  CHECK(parse_time_span("15m").value() == std::chrono::minutes(15));
  CHECK(parse_time_span("1.5h").value() == std::chrono::minutes(90));
  CHECK(parse_time_span(" 7 d ").value() == std::chrono::hours(7 * 24));
  CHECK(parse_time_span("2w").value() == std::chrono::hours(14 * 24));
  CHECK(parse_time_span("0.000000001s").value() == SimDuration(1));
  CHECK(parse_time_span("36500d").value() == vtrain::kHundredYears);
  CHECK(parse_time_span("0s").value() == SimDuration(0));
  CHECK(parse_time_span("0.041666666666666664d").value() == std::chrono::hours(1));
  CHECK(parse_time_span("1e3h").value() == std::chrono::hours(1000));
}

TEST_CASE("quantities: without a unit only 0 says what it means") {
  CHECK(parse_time_span("0").value() == SimDuration(0));
  CHECK_FALSE(parse_time_span("90").has_value());
}

TEST_CASE("quantities: anything else is refused") {
  for (const char* text : {"", "d", "-1h", "1y", "h1", "1.h2", "nan", "36501d", "99999999999999w", "1 2",
                           "5sd", "30 days", "1d12h", "1e9d"}) {
    CAPTURE(text);
    const auto with_unit = parse_time_span(text);
    REQUIRE_FALSE(with_unit.has_value());
    CHECK(with_unit.error().message.starts_with("expected a duration up to 100 years such as 90s, 45m"));
  }
}

TEST_CASE("quantities: people read days, hours, minutes and seconds, exactly") {
  CHECK(describe_time_span(std::chrono::hours(48)) == "2 d");
  CHECK(describe_time_span(std::chrono::hours(36)) == "1 d 12 h");
  CHECK(describe_time_span(std::chrono::minutes(90)) == "1 h 30 m");
  CHECK(describe_time_span(std::chrono::milliseconds(1500)) == "1.5 s");
  CHECK(describe_time_span(std::chrono::hours(24 * 1500) + std::chrono::milliseconds(1)) ==
        "1,500 d 0.001 s");
  CHECK(describe_time_span(SimDuration(0)) == "0 s");
}

TEST_CASE("quantities: numbers with prefixes and units, or alone in the unit that is wanted") {
  CHECK(parse_quantity("10GB/s", "B/s") == 10e9);
  CHECK(parse_quantity("80Gbit/s", "B/s") == 10e9);
  CHECK(parse_quantity(" 1.5 TB/s ", "B/s") == 1.5e12);
  CHECK(parse_quantity("5e10", "B/s") == 5e10);
  CHECK(parse_quantity("80GB", "B") == 80e9);
  CHECK(parse_quantity("5us", "ns").value() == doctest::Approx(5000));
  CHECK(parse_quantity("900TFLOP/s", "FLOP/s") == 900e12);
  CHECK(parse_quantity("2k/s", "1/s") == 2000);
}

TEST_CASE("quantities: other units, prefixes and texts are none") {
  for (const char* text :
       {"", "GB/s", "10GB", "10XB/s", "10MGB/s", "10gb/s", "1,5GB/s", "nan", "10 GB/s fast"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_quantity(text, "B/s"));
  }
}
