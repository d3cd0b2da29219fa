#include "traces/time_span.hpp"

#include <doctest/doctest.h>

#include "traces/job_fields.hpp"

using vtrain::describe_time_span;
using vtrain::parse_time_span;
using vtrain::SimDuration;

TEST_CASE("time_span: seconds without a unit, else the unit") {
  CHECK(parse_time_span("90").value() == std::chrono::seconds(90));
  CHECK(parse_time_span("90s").value() == std::chrono::seconds(90));
  CHECK(parse_time_span("15m").value() == std::chrono::minutes(15));
  CHECK(parse_time_span("1.5h").value() == std::chrono::minutes(90));
  CHECK(parse_time_span(" 7 d ").value() == std::chrono::hours(7 * 24));
  CHECK(parse_time_span("2w").value() == std::chrono::hours(14 * 24));
  CHECK(parse_time_span("0.000000001").value() == SimDuration(1));
  CHECK(parse_time_span("36500d").value() == vtrain::kMaxTraceTime);
}

TEST_CASE("time_span: anything else is refused") {
  for (const char* text : {"", "d", "-1h", "1y", "h1", "1.h2", "nan", "36501d", "99999999999999w", "1 2"}) {
    CAPTURE(text);
    const auto parsed = parse_time_span(text);
    REQUIRE_FALSE(parsed.has_value());
    CHECK(parsed.error().message.starts_with("expected a time such as 90, 15m, 1.5h or 7d"));
  }
}

TEST_CASE("time_span: people read days, hours, minutes and seconds, exactly") {
  CHECK(describe_time_span(std::chrono::hours(48)) == "2 d");
  CHECK(describe_time_span(std::chrono::hours(36)) == "1 d 12 h");
  CHECK(describe_time_span(std::chrono::minutes(90)) == "1 h 30 m");
  CHECK(describe_time_span(std::chrono::milliseconds(1500)) == "1.5 s");
  CHECK(describe_time_span(std::chrono::hours(24 * 1500) + std::chrono::milliseconds(1)) ==
        "1,500 d 0.001 s");
  CHECK(describe_time_span(SimDuration(0)) == "0 s");
}
